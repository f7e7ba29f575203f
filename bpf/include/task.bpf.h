/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Who the current task is: read when there is something to tell, since only its own context can say. */
#ifndef PINWHY_TASK_BPF_H
#define PINWHY_TASK_BPF_H

#include "flavors.bpf.h"

#define CGROUP_DEPTH 16
#define CGROUP_NAME_MAX 256	/* NAME_MAX and its end */

/* Path components, leaf first, each terminated; user space turns them round. */
static __always_inline void read_cgroup(struct wire_reg_end *e, struct task_struct *task)
{
	struct kernfs_node *kn = BPF_CORE_READ(task, cgroups, dfl_cgrp, kn);
	__u32 used = 0;

	for (int i = 0; i < CGROUP_DEPTH && kn; i++) {
		const char *name = BPF_CORE_READ(kn, name);
		long n;

		if (used > WIRE_CGROUP_LEN - CGROUP_NAME_MAX)
			return; /* too deep to tell whole: the id still names it */
		n = bpf_probe_read_kernel_str(&e->cgroup[used], CGROUP_NAME_MAX, name);
		if (n < 0 || n == CGROUP_NAME_MAX)
			return; /* a name cut short would be another group's */
		used += n;
		kn = kernfs_parent(kn);
	}
	if (!kn)
		e->have |= WIRE_HAVE_CGROUP;
}

static __always_inline void read_task(struct wire_reg_end *e)
{
	struct task_struct *task = current_task();
	struct task_struct *leader = FIELD(task, group_leader);
	const struct cred *cred = FIELD(task, cred);
	struct pid *pid = BPF_CORE_READ(leader, thread_pid); /* as a number: arithmetic follows */
	unsigned int level = BPF_CORE_READ(pid, level);
	__u64 pid_tgid = bpf_get_current_pid_tgid();

	e->tgid = pid_tgid >> 32;
	e->tid = (__u32)pid_tgid;
	e->task_start_ns = FIELD(leader, start_boottime);
	e->uid = bpf_get_current_uid_gid();
	bpf_probe_read_kernel(&e->ns_tgid, sizeof(e->ns_tgid),
			      (void *)pid + bpf_core_field_offset(struct pid, numbers) +
				      (level & 31) * bpf_core_type_size(struct upid));
	bpf_get_current_comm(e->comm, sizeof(e->comm));
	e->cgroup_id = bpf_get_current_cgroup_id();
	read_cgroup(e, task);

	/* capable() asks the initial user namespace: root of a child namespace has none of it. */
	e->init_user_ns = BPF_CORE_READ(cred, user_ns, level) == 0;
	e->ipc_lock = e->init_user_ns && cred_has_ipc_lock(cred);
	e->memlock_soft_bytes = BPF_CORE_READ(task, signal, rlim[RLIMIT_MEMLOCK].rlim_cur);
	e->memlock_hard_bytes = BPF_CORE_READ(task, signal, rlim[RLIMIT_MEMLOCK].rlim_max);
	e->pinned_after_pages = BPF_CORE_READ(task, mm, pinned_vm.counter);
	e->locked_vm_pages = BPF_CORE_READ(task, mm, locked_vm);
	e->user_locked_pages = BPF_CORE_READ(cred, user, locked_vm.counter);
	e->map_count = BPF_CORE_READ(task, mm, map_count);
	e->ipc_lock_effective = cred_has_ipc_lock(cred);
	e->ipc_lock_permitted = cred_permits_ipc_lock(cred);
	e->have |= WIRE_HAVE_MEMLOCK;
}

#endif
