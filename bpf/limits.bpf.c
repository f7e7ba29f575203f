// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Limits that end a registration from outside the pin itself: the rdma cgroup, the memory a user may
 * lock, the OOM killer; and page faults that find no page: the hugetlb pool, userfaultfd.
 */
#include "flavors.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/*
 * slot rdmacg_exit: rdmacg_try_charge (kernel/cgroup/rdma.c).
 * Why: -EAGAIN there has one meaning. Rate: one per verbs object.
 * Which resource: what a registration creates is an object (uobjects are charged as such in
 * drivers/infiniband/core/rdma_core.c); the other, a handle, is charged when a device is opened.
 */
SEC("?kretprobe/rdmacg_try_charge")
int rdmacg_exit__kretprobe(struct pt_regs *ctx)
{
	__s64 result = (int)PT_REGS_RC(ctx);
	struct wire_span *s;

	if (result >= 0)
		return 0;
	s = span_find();
	if (!s)
		return 0;
	s->cgroup_resource = RDMACG_RESOURCE_HCA_OBJECT;
	chain_push(s, WIRE_FN_RDMACG, result);
	return 0;
}

/*
 * slot user_account_enter/_exit: __io_account_mem(user, nr_pages) (io_uring/rsrc.c).
 * Why: io_uring charges the user, not the process; the numbers of the check. Rate: one per
 * registered buffer of an unprivileged ring.
 */
SEC("?kprobe/__io_account_mem")
int user_account_enter__kprobe(struct pt_regs *ctx)
{
	struct user_struct *user = (void *)PT_REGS_PARM1(ctx);
	struct wire_span *s = span_find();

	if (!s)
		return 0;
	s->account.asked_pages = PT_REGS_PARM2(ctx);
	s->account.user_locked_pages = BPF_CORE_READ(user, locked_vm.counter);
	s->have |= WIRE_HAVE_ACCOUNT;
	return 0;
}

SEC("?kretprobe/__io_account_mem")
int user_account_exit__kretprobe(struct pt_regs *ctx)
{
	return exit_push(WIRE_FN_URING_ACCOUNT, (int)PT_REGS_RC(ctx));
}

/*
 * slot hugetlb_alloc_exit: alloc_huge_page (6.1), alloc_hugetlb_folio (6.12, 7.3) (mm/hugetlb.c).
 * Why: a hugetlb fault that finds no page ends in SIGBUS, and the pin in EFAULT, like many others.
 * Rate: one per hugetlb page faulted in.
 */
static __always_inline int hugetlb_alloc_exit(__u64 folio)
{
	__s64 result = error_of_pointer(folio);
	struct wire_span *s;

	if (result != -ENOSPC)
		return 0;
	s = span_find();
	if (s && s->in_longterm)
		chain_push(s, WIRE_FN_HUGETLB_ALLOC, result);
	return 0;
}

SEC("?kretprobe/alloc_hugetlb_folio")
int hugetlb_alloc_exit__kretprobe(struct pt_regs *ctx)
{
	return hugetlb_alloc_exit(PT_REGS_RC(ctx));
}

SEC("?kretprobe/alloc_huge_page")
int hugetlb_alloc_exit__kretprobe_page(struct pt_regs *ctx)
{
	return hugetlb_alloc_exit(PT_REGS_RC(ctx));
}

/*
 * slot userfault_exit: handle_userfault (fs/userfaultfd.c).
 * Why: a pin that may not wait for a handler gets SIGBUS here, and EFAULT further up, like many others.
 * Pushed as -EFAULT, which is what becomes of it; waiting shows in the thread's wchan.
 * Rate: one per fault that a userfaultfd handles.
 */
SEC("?kretprobe/handle_userfault")
int userfault_exit__kretprobe(struct pt_regs *ctx)
{
	return exit_push(WIRE_FN_USERFAULT, PT_REGS_RC(ctx) & VM_FAULT_SIGBUS ? -EFAULT : 0);
}

/*
 * slot oom_kill: oom_kill_process(oc, message) (mm/oom_kill.c).
 * Why: a pin ends in EINTR when its process is killed; whether that was the OOM killer, and for
 * which limit, only this call knows. Context: the task that asked for memory, not the victim.
 * Rate: one per OOM kill. Misses: further processes killed with the victim (memory.oom.group).
 */
SEC("?kprobe/oom_kill_process")
int oom_kill__kprobe(struct pt_regs *ctx)
{
	struct oom_control *oc = (void *)PT_REGS_PARM1(ctx);
	__u32 tgid = BPF_CORE_READ(oc, chosen, tgid);
	struct wire_oom oom = {
		.time_ns = bpf_ktime_get_ns(),
		.constraint = oom_constraint_of(oc),
		.order = BPF_CORE_READ(oc, order),
		.gfp = BPF_CORE_READ(oc, gfp_mask),
		.by_tid = tid_of_current(),
	};

	bpf_map_update_elem(&oom_kills, &tgid, &oom, BPF_ANY);
	return 0;
}
