/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Which processes are armed: see armed.bpf.c for what is watched of them. */
#ifndef PINWHY_ARMED_BPF_H
#define PINWHY_ARMED_BPF_H

#include "probe.bpf.h"

static __always_inline struct wire_armed *armed_state(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&armed, &zero);
}

static __always_inline struct wire_armed_process *armed_find(struct wire_armed *a, __u32 tgid)
{
#pragma unroll
	for (int i = 0; i < WIRE_ARMED_PROBES; i++) {
		struct wire_armed_process *p = &a->processes[(tgid + i) & (WIRE_ARMED_MAX - 1)];

		if (p->tgid == tgid)
			return p;
	}
	return NULL;
}

static __always_inline __u64 current_start(void)
{
	return BPF_CORE_READ(current_task(), group_leader, start_boottime);
}

/* For a trace its own processes are, as long as it runs. */
static __always_inline bool armed_current(struct wire_armed *a)
{
	__u32 tgid = bpf_get_current_pid_tgid() >> 32;
	struct wire_armed_process *p;

	if (cfg.trace)
		return tgid_traced(tgid);
	p = armed_find(a, tgid);
	return p && bpf_ktime_get_ns() < p->until_ns && p->task_start_ns == current_start();
}

/* Once for each process: what fails again and again is not watched for ever. */
static __always_inline void arm_current(void)
{
	__u32 tgid = bpf_get_current_pid_tgid() >> 32;
	struct wire_armed_process *p = NULL;
	__u64 now = bpf_ktime_get_ns();
	struct wire_armed *a;

	if (!cfg.arm_ns)
		return;
	a = armed_state();
	if (!a)
		return;
	p = armed_find(a, tgid);
	if (p && p->task_start_ns == current_start())
		return;
#pragma unroll
	for (int i = 0; i < WIRE_ARMED_PROBES; i++) {
		struct wire_armed_process *q = &a->processes[(tgid + i) & (WIRE_ARMED_MAX - 1)];
		__u32 was = q->tgid;

		if (was && was != tgid && now < q->until_ns)
			continue;
		if (__sync_val_compare_and_swap(&q->tgid, was, tgid) != was)
			continue;
		q->task_start_ns = current_start();
		q->until_ns = now + cfg.arm_ns;
		COUNT(armed_processes);
		return;
	}
	COUNT(armed_refused);
}

/* The call of this id; NULL: a later one has its place. */
static __always_inline struct take *take_of(__u64 id)
{
	__u32 key = id & (TAKES_MAX - 1);
	struct take *t = bpf_map_lookup_elem(&takes, &key);

	return t && t->pin.id == id ? t : NULL;
}

#endif
