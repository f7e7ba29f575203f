/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Part of the contract of wire.h: the steps of pinwhy trace. */
#ifndef PINWHY_WIRE_STEP_H
#define PINWHY_WIRE_STEP_H

#include "wire.h"

#define WIRE_STEP_PAGES 64	/* pages that are told one by one, per registration */

/* What a step tells. */
enum wire_step_kind {
	WIRE_STEP_NONE = 0,
#define STEP(id, name, word) WIRE_STEP_##name = id,
#include "steps.def"
#undef STEP
	WIRE_STEP_MAX
};

/* Where a folio lies. */
struct wire_place {
	__u64 pfn;		/* of the head page */
	__u32 zone, node;
	__u32 migratetype;	/* of the running kernel */
	__u32 flags;		/* enum wire_folio_flags: the places alone */
};

/*
 * One step of a traced process, sent only while it is traced. span_id 0: outside a registration. Of the
 * registration so far: api, address, length, access, device. What the others mean differs by kind: steps.def.
 */
struct wire_step {
	struct wire_hdr hdr;
	__u64 start_ns;		/* of the registration */
	__u64 address, length;	/* bytes */
	__u64 at;		/* address */
	__u64 pages;
	__s64 result;
	__u64 untold;
	__u32 step;		/* enum wire_step_kind */
	__u32 tgid, tid;
	__u32 fn;		/* enum wire_fn */
	__u32 gup_flags;
	__u32 access;		/* IB_ACCESS_* */
	__u32 have;		/* enum wire_have: of the registration, and of the folio */
	__u32 order;
	__u32 rounds;
	__u16 api;		/* enum wire_api */
	__u8 pad[2];
	struct wire_place from, to;
	char comm[WIRE_COMM_LEN];
	char device[WIRE_DEVICE_LEN];
	char area[WIRE_AREA_LEN];	/* CMA area it left */
};

WIRE_ASSERT_SIZE(wire_place, 24);
WIRE_ASSERT_SIZE(wire_step, 280);

#endif
