// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Processes that end while they are armed. Not with the hooks of armed.bpf.c: what fails mostly ends before those are there. */
#include "armed.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/*
 * slot armed_exit: tracepoint sched:sched_process_exit.
 * Why: a process that is gone needs no watching; what it pinned may stay, and so do the entries. Context: the thread that
 * ends. Rate: one per thread; the loads of one cache line.
 */
SEC("?raw_tp/sched_process_exit")
int armed_exit__raw_tp(void *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct wire_armed *a = armed_state();
	struct wire_armed_process *p;

	if (cfg.trace || !a)
		return 0;
	p = armed_find(a, bpf_get_current_pid_tgid() >> 32);
	if (p && !BPF_CORE_READ(task, signal, live.counter))
		p->tgid = 0;
	return 0;
}
