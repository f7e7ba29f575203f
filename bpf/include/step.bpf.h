/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * pinwhy trace: is this process traced, and the steps of one that is. The daemon loads the same programs with
 * cfg.trace 0, and the verifier removes all of this from them.
 */
#ifndef PINWHY_STEP_BPF_H
#define PINWHY_STEP_BPF_H

#include "emit.bpf.h"
#include "layout.bpf.h"
#include "wire_step.h"

static __always_inline __u32 *traced_hint(__u32 tgid)
{
	__u32 zero = 0;
	struct wire_traced *t = bpf_map_lookup_elem(&traced_hints, &zero);

	return t ? &t->hints[tgid & (WIRE_TRACED_HINTS - 1)] : NULL;
}

static __always_inline bool tgid_traced(__u32 tgid)
{
	__u32 *hint = traced_hint(tgid);

	return hint && *hint && bpf_map_lookup_elem(&traced, &tgid);
}

static __always_inline bool task_traced(void)
{
	return cfg.trace && tgid_traced(bpf_get_current_pid_tgid() >> 32);
}

/* Is anything of this process wanted? For the daemon, of all. */
static __always_inline bool task_wanted(void)
{
	return !cfg.trace || tgid_traced(bpf_get_current_pid_tgid() >> 32);
}

/* What all steps tell. `s` NULL: outside a registration. */
static __always_inline void step_fill(struct wire_step *e, __u32 step, const struct wire_span *s)
{
	const struct wire_layout *l = layout_get();
	__u64 pid_tgid = bpf_get_current_pid_tgid();

	e->step = step;
	e->tgid = pid_tgid >> 32;
	e->tid = (__u32)pid_tgid;
	bpf_get_current_comm(e->comm, sizeof(e->comm));
	if (!s)
		return;
	e->start_ns = s->start_ns;
	e->api = s->api;
	e->address = s->address;
	e->length = s->length;
	e->access = s->access;
	e->have = s->have;
	if (l)
		field_string(l, e->device, sizeof(e->device), s->device, WIRE_FIELD_DEVICE_NAME);
}

#define STEP_EMIT(KIND, s, e, fill)                                             \
	do {                                                                    \
		bool sent_;                                                     \
		EMIT(wire_step, STEP, (s) ? (s)->id : 0, e, sent_, {            \
			step_fill(e, WIRE_STEP_##KIND, s);                      \
			fill                                                    \
		});                                                             \
		(void)sent_;                                                    \
	} while (0)

static __always_inline void step_begin(const struct wire_span *s)
{
	if (cfg.trace)
		STEP_EMIT(BEGIN, s, e, {});
}

static __always_inline void step_range(const struct wire_span *s)
{
	if (cfg.trace)
		STEP_EMIT(RANGE, s, e, {});
}

static __always_inline void step_return(const struct wire_span *s, __u32 fn, __s64 result)
{
	if (cfg.trace)
		STEP_EMIT(RETURN, s, e, {
			e->fn = fn;
			e->result = result;
		});
}

static __always_inline void step_end(const struct wire_span *s, __s64 result)
{
	if (cfg.trace)
		STEP_EMIT(END, s, e, { e->result = result; });
}

#endif
