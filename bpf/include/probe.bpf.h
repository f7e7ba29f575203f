/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What every program is made of: the span of the current thread, the errno chain, and what emit.bpf.h
 * and step.bpf.h bring.
 */
#ifndef PINWHY_PROBE_BPF_H
#define PINWHY_PROBE_BPF_H

#include "regs.bpf.h"
#include "step.bpf.h"

/*
 * A thread's span is in one of this many slots from its tid on. Tids of threads that
 * register at once are mostly neighbours, so the first slot nearly always is it.
 */
#define SPAN_PROBES 8

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
	__u64 now = bpf_ktime_get_ns();

	s->seq++;
	s->tgid = pid_tgid >> 32;
	s->start_ns = now;
	s->last_ns = now;
	user_regs(&s->user_sp, &s->user_pc, s->user_args);
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

	if (!closed || *closed || !task_wanted())
		return NULL;
	if (s) {
		__u32 key = s->id & (WIRE_SPANS - 1);

		COUNT(spans_missed_end);
		span_reset(s, key, pid_tgid, api);
		step_begin(s);
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
		if (claim(&s->tid, was, tid, &s->wanted)) {
			span_reset(s, key, pid_tgid, api);
			step_begin(s);
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

	if (result >= 0 && !task_traced())
		return 0;
	s = span_find();
	if (s)
		step_return(s, fn, result);
	if (s && result < 0)
		chain_push(s, fn, result);
	return 0;
}

#endif
