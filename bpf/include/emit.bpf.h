/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Settings, counters, and EMIT(), the only way into the ring. */
#ifndef PINWHY_EMIT_BPF_H
#define PINWHY_EMIT_BPF_H

#include "basic.bpf.h"
#include "maps.bpf.h"
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>

/* Set by the loader before load: the verifier removes what a setting switches off. */
const volatile struct wire_cfg cfg SEC(".rodata.cfg");

static __always_inline struct wire_counters *counters_of_cpu(void)
{
	__u32 cpu = bpf_get_smp_processor_id();

	return bpf_map_lookup_elem(&counters, &cpu);
}

/* Programs may be preempted by others on the same CPU, hence the atomic add. */
#define COUNT_BY(field, n)                                               \
	do {                                                             \
		struct wire_counters *c_ = counters_of_cpu();            \
		if (c_)                                                  \
			__sync_fetch_and_add(&c_->field, n);             \
	} while (0)
#define COUNT(field) COUNT_BY(field, 1)

/* Ring memory is not zeroed; clang for BPF turns down a memset this long. */
static __always_inline void zero_words(__u64 *words, __u32 bytes)
{
	for (__u32 i = 0; i < bytes / 8; i++) {
		words[i] = 0;
		barrier_var(words);
	}
}

/*
 * Reserve, let `fill` write into `rec`, submit. `rec` is declared by the macro as a
 * pointer to `type`, which begins with a header, zero but for that. A full ring is counted by kind.
 * `sent` (an lvalue) becomes 1 or 0.
 */
#define EMIT(type, KIND, id, rec, sent, fill)                            \
	do {                                                             \
		struct type *rec = bpf_ringbuf_reserve(&events, sizeof(*rec), 0); \
		struct wire_hdr *hdr_ = (struct wire_hdr *)rec;          \
		(sent) = rec != NULL;                                    \
		if (!rec) {                                              \
			COUNT(dropped[WIRE_##KIND]);                     \
			break;                                           \
		}                                                        \
		zero_words((__u64 *)rec, sizeof(*rec));                  \
		hdr_->kind = WIRE_##KIND;                                \
		hdr_->version = WIRE_VERSION;                            \
		hdr_->size = sizeof(*rec);                               \
		hdr_->time_ns = bpf_ktime_get_ns();                      \
		hdr_->span_id = (id);                                    \
		fill                                                     \
		COUNT(emitted[WIRE_##KIND]);                             \
		bpf_ringbuf_submit(rec, 0);                              \
	} while (0)

#endif
