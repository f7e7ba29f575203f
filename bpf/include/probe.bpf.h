/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What every program is made of: settings, counters, the span of the current thread,
 * the errno chain, and EMIT(), the only way into the ring.
 */
#ifndef PINWHY_PROBE_BPF_H
#define PINWHY_PROBE_BPF_H

#include "maps.bpf.h"
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>

/* Set by the loader before load: the verifier removes what a setting switches off. */
const volatile struct wire_cfg cfg SEC(".rodata.cfg");

/*
 * A thread's span is in one of this many slots from its tid on. Tids of threads that
 * register at once are mostly neighbours, so the first slot nearly always is it.
 */
#define SPAN_PROBES 8

static __always_inline struct wire_counters *counters_of_cpu(void)
{
	__u32 cpu = bpf_get_smp_processor_id();

	return bpf_map_lookup_elem(&counters, &cpu);
}

/* Programs may be preempted by others on the same CPU, hence the atomic add. */
#define COUNT(field)                                                     \
	do {                                                             \
		struct wire_counters *c_ = counters_of_cpu();            \
		if (c_)                                                  \
			__sync_fetch_and_add(&c_->field, 1);             \
	} while (0)

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

static __always_inline __u32 tid_of_current(void)
{
	return (__u32)bpf_get_current_pid_tgid();
}

/* The calling thread's open span, or NULL. */
static __always_inline struct wire_span *span_find(void)
{
	__u32 tid = tid_of_current();

#pragma unroll
	for (int i = 0; i < SPAN_PROBES; i++) {
		__u32 key = (tid + i) & (WIRE_SPANS - 1);
		struct wire_span *s = bpf_map_lookup_elem(&spans, &key);

		if (s && s->tid == tid)
			return s;
	}
	return NULL;
}

/* Resets what one registration leaves behind; evidence arrays are bounded by their counts. */
static __always_inline void span_reset(struct wire_span *s, __u32 key, __u64 pid_tgid, __u16 api)
{
	struct pt_regs___user *user = (void *)bpf_task_pt_regs(bpf_get_current_task_btf());
	__u64 now = bpf_ktime_get_ns();

	s->seq++;
	s->tgid = pid_tgid >> 32;
	s->start_ns = now;
	s->last_ns = now;
	s->user_sp = user->sp;
	s->user_pc = user->ip;
	s->user_args[0] = user->di;
	s->user_args[1] = user->si;
	s->user_args[2] = user->dx;
	s->attrs = 0;
	s->device = 0;
	s->address = 0;
	s->length = 0;
	s->gup_flags = 0;
	s->gup_result = 0;
	s->pin_fast_pages = 0;
	s->migrate_moved = 0;
	s->migrate_failed = 0;
	s->pin_fast_flags = 0;
	s->access = 0;
	s->have = 0;
	s->api = api;
	s->stage = WIRE_STAGE_UVERBS;
	s->passes = 0;
	s->no_target = 0;
	s->gup_calls = 0;
	s->in_longterm = 0;
	s->migrate_left = 0;
	s->folios_seen = 0;
	s->folios_sent = 0;
	s->folios_dropped = 0;
	s->fault_vma_state = WIRE_FAULT_VMA_UNKNOWN;
	s->nvmas = 0;
	s->nchain = 0;
	s->collects = 0;
	s->cgroup_resource = 0;
	/* Last: the daemon's scan takes a span whose id it reads twice alike. */
	s->id = s->seq * WIRE_SPANS + key;
}

/*
 * Opens a span for this thread. NULL when no slot is free or hooks are being changed: the registration is
 * then counted but not followed. A span still open from before means that its end was
 * missed (a return probe without a free instance): counted, and taken over.
 */
static __always_inline struct wire_span *span_open(__u16 api)
{
	__u64 pid_tgid = bpf_get_current_pid_tgid();
	__u32 tid = (__u32)pid_tgid;
	struct wire_span *s = span_find();
	__u32 zero = 0, *closed = bpf_map_lookup_elem(&gate, &zero);

	if (!closed || *closed)
		return NULL;
	if (s) {
		__u32 key = s->id & (WIRE_SPANS - 1);

		COUNT(spans_missed_end);
		span_reset(s, key, pid_tgid, api);
		return s;
	}
#pragma unroll
	for (int i = 0; i < SPAN_PROBES; i++) {
		__u32 key = (tid + i) & (WIRE_SPANS - 1), was;

		s = bpf_map_lookup_elem(&spans, &key);
		if (!s)
			continue;
		was = s->tid;
		if (was && s->abandoned_id != s->id)
			continue;
		if (__sync_val_compare_and_swap(&s->tid, was, tid) == was) {
			span_reset(s, key, pid_tgid, api);
			return s;
		}
	}
	COUNT(spans_overflow);
	return NULL;
}

static __always_inline void span_close(struct wire_span *s)
{
	s->id = 0;
	s->tid = 0;
}

/* The next failing function of this thread's registration, first failing first. */
static __always_inline void chain_push(struct wire_span *s, __u32 fn, __s64 result)
{
	__u32 n = s->nchain;

	if (n >= WIRE_CHAIN_MAX) {
		COUNT(chain_overflow);
		return;
	}
	s->chain[n].fn = fn;
	s->chain[n].result = result;
	s->nchain = n + 1;
}

/* PTR_ERR of a value that may be an error pointer or a negative int; 0 = success. */
static __always_inline __s64 error_of_pointer(__u64 value)
{
	return value >= (__u64)-4095 ? (__s64)value : 0;
}

/* The whole of most return probes: a failure inside a registration joins its chain. */
static __always_inline int exit_push(__u32 fn, __s64 result)
{
	struct wire_span *s;

	if (result >= 0)
		return 0;
	s = span_find();
	if (s)
		chain_push(s, fn, result);
	return 0;
}

#endif
