/* SPDX-License-Identifier: BSD-2-Clause */
/* From the bytes of one ring record to a struct that the rest may trust. */
#ifndef PINWHY_DECODE_H
#define PINWHY_DECODE_H

#include <stddef.h>

#include "wire.h"
#include "wire_step.h"

struct event {
	enum wire_kind kind;
	union {
		struct wire_hdr hdr;
		struct wire_reg_end end;
		struct wire_folio folio;
		struct wire_holder holder;
		struct wire_hazard hazard;
		struct wire_cma_blocked blocked;
		struct wire_module module;
		struct wire_stale stale;
		struct wire_step step;
	};
};

/*
 * -EBADMSG: the size does not fit the kind, or a field contradicts the contract.
 * -EPROTO: another wire version. -ENOTSUP: a kind this build does not know.
 */
int decode_event(const void *data, size_t size, struct event *ret_event);
/*
 * A registration still in flight, as if it ended now without a result. The span is shared
 * memory that its thread keeps writing: the caller passes a copy. -EBADMSG as above.
 */
int decode_span(const struct wire_span *span, __u64 now_ns, struct wire_reg_end *ret_end);

#endif
