// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A registration from its command to its end: opens and closes the span, notes which
 * stage failed, and on failure reads what only this task's context can tell. All
 * hooks sit in modules, so they are kprobes: an fentry program there would keep the
 * module from unloading.
 */
#include "flavors.bpf.h"
#include "vma.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

#define CGROUP_DEPTH 16
#define CGROUP_NAME_MAX 256	/* NAME_MAX and its end */

/* --- on failure only ----------------------------------------------------------- */

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
	struct task_struct *task = bpf_get_current_task_btf();
	struct task_struct *leader = task->group_leader;
	const struct cred *cred = task->cred;
	struct pid *pid = BPF_CORE_READ(leader, thread_pid); /* as a number: arithmetic follows */
	unsigned int level = BPF_CORE_READ(pid, level);
	__u64 pid_tgid = bpf_get_current_pid_tgid();

	e->tgid = pid_tgid >> 32;
	e->tid = (__u32)pid_tgid;
	e->task_start_ns = leader->start_boottime;
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
	e->have |= WIRE_HAVE_MEMLOCK;
}

/* The command as user space wrote it. attrs stays valid until the handler has returned. */
static __always_inline void read_command(struct wire_reg_end *e, const struct wire_span *s)
{
	struct uverbs_attr_bundle *attrs = (void *)s->attrs;
	struct ib_uverbs_reg_mr cmd;
	const void *inbuf;

	if (!attrs || !bpf_core_type_exists(struct uverbs_attr_bundle))
		return;
	inbuf = BPF_CORE_READ(attrs, ucore.inbuf);
	if (bpf_probe_read_user(&cmd, sizeof(cmd), inbuf))
		return;
	e->iova = cmd.hca_va;
	e->pd_handle = cmd.pd_handle;
	e->have |= WIRE_HAVE_COMMAND;
	if (e->have & WIRE_HAVE_UMEM)
		return; /* what the kernel worked with wins over what may have been rewritten since */
	e->address = cmd.start;
	e->length = cmd.length;
	e->access = cmd.access_flags;
}

static __always_inline void read_device(struct wire_reg_end *e, const struct wire_span *s)
{
	struct uverbs_attr_bundle *attrs = (void *)s->attrs;
	struct ib_device *dev = (void *)s->device;

	if (!dev && attrs && bpf_core_type_exists(struct uverbs_attr_bundle))
		dev = BPF_CORE_READ(attrs, ufile, device, ib_dev);
	if (!dev)
		return;
	BPF_CORE_READ_STR_INTO(&e->device, dev, name);
	BPF_CORE_READ_STR_INTO(&e->driver, dev, ops.owner, name);
	e->device_index = BPF_CORE_READ(dev, index);
	e->have |= WIRE_HAVE_DEVICE;
}

static __always_inline void read_span(struct wire_reg_end *e, const struct wire_span *s)
{
	e->start_ns = s->start_ns;
	e->address = s->address;
	e->length = s->length;
	e->access = s->access;
	e->have = s->have;
	e->pinned_before_pages = s->pinned_before_pages;
	e->gup_start = s->gup_start;
	e->gup_pages = s->gup_pages;
	e->gup_result = s->gup_result;
	e->gup_flags = s->gup_flags;
	e->pin_fast_pages = s->pin_fast_pages;
	e->pin_fast_flags = s->pin_fast_flags;
	e->migrate_moved = s->migrate_moved;
	e->migrate_failed = s->migrate_failed;
	e->migrate_mode = s->migrate_mode;
	e->migrate_reason = s->migrate_reason;
	e->passes = s->passes;
	e->no_target = s->no_target;
	e->gup_calls = s->gup_calls;
	e->folios_seen = s->folios_seen;
	e->folios_sent = s->folios_sent;
	e->folios_dropped = s->folios_dropped;
	e->fault_vma_state = s->fault_vma_state;
	e->fault_vma = s->fault_vma;
	e->nvmas = s->nvmas;
	e->nchain = s->nchain;
	e->api = s->api;
	e->stage = s->stage;
	e->was_reported = s->reported_id == s->id;
	e->collects = s->collects;
	e->cgroup_resource = s->cgroup_resource;
	e->args = s->args;
	e->account = s->account;
	e->fw = s->fw;
	__builtin_memcpy(e->vmas, s->vmas, sizeof(e->vmas));
	__builtin_memcpy(e->chain, s->chain, sizeof(e->chain));
}

/* --- begin and end ------------------------------------------------------------- */

static __always_inline void count_result(__u32 api, __s64 result)
{
	struct wire_counters *c = counters_of_cpu();

	if (c && api < WIRE_API_MAX)
		__sync_fetch_and_add(result ? &c->reg_failed[api] : &c->reg_ok[api], 1);
}

static __always_inline void count_latency(__u64 ns)
{
	struct wire_counters *c = counters_of_cpu();
	__u32 bucket = 0;

	if (!c)
		return;
	/* log2 by halving: five tests instead of a loop */
	for (__u32 shift = 32; shift; shift >>= 1) {
		if (ns >> shift) {
			ns >>= shift;
			bucket += shift;
		}
	}
	if (bucket >= WIRE_LATENCY_BUCKETS)
		bucket = WIRE_LATENCY_BUCKETS - 1;
	__sync_fetch_and_add(&c->latency[bucket], 1);
}

/* The mmap lock was busy when the pin failed: a hole found now may have come since. */
static __always_inline void look_again(struct wire_span *s)
{
	struct wire_vma vma;

	if (!(s->have & WIRE_HAVE_GUP_RESULT) || s->gup_result >= 0 || s->have & WIRE_HAVE_FAULT_VMA)
		return;
	if (vma_lookup(s->gup_start, &vma) == -ENOENT)
		s->fault_vma_state = WIRE_FAULT_VMA_HOLE_LATER;
}

/* Marks ids of records that no span stands behind. */
#define UNFOLLOWED (1ULL << 63)

/* An end whose span was not there: counted all the same, and reported with the little that is known. */
static __always_inline void registration_unfollowed(__u16 api, __s64 result)
{
	bool sent;

	COUNT(ends_without_span);
	count_result(api, result);
	if (!result)
		return;
	EMIT(wire_reg_end, REG_END, bpf_ktime_get_ns() | UNFOLLOWED, e, sent, {
		e->result = result;
		e->api = api;
		e->chain[0].fn = WIRE_FN_UVERBS;
		e->chain[0].result = result;
		e->nchain = 1;
		read_task(e);
	});
}

/* Success leaves by the second test: counters only, no event. */
static __always_inline void registration_end(struct wire_span *s, __s64 result)
{
	bool sent;

	count_result(s->api, result);
	count_latency(bpf_ktime_get_ns() - s->start_ns);
	if (!result && s->reported_id != s->id) {
		span_close(s);
		return;
	}
	if (!s->nvmas && s->length && s->have & WIRE_HAVE_UMEM)
		span_vmas(s);
	look_again(s);
	EMIT(wire_reg_end, REG_END, s->id, e, sent, {
		read_span(e, s);
		e->result = result;
		read_task(e);
		read_command(e, s);
		read_device(e, s);
	});
	span_close(s);
}

/*
 * slot reg_mr_enter/_exit: ib_uverbs_reg_mr(attrs) (drivers/infiniband/core/uverbs_cmd.c).
 * Why: every ibv_reg_mr of today's libibverbs is this command, by write() or through
 * the INVOKE_WRITE ioctl. Context: process. Rate: one per registration.
 * Misses: commands with a handler of their own; their umem is still seen (api umem).
 */
static __always_inline int reg_mr_enter(void *attrs)
{
	struct wire_span *s = span_open(WIRE_API_REG_MR);

	if (s)
		s->attrs = (__u64)attrs;
	return 0;
}

static __always_inline int reg_mr_exit(__s64 result)
{
	struct wire_span *s = span_find();

	result = result < 0 ? result : 0;
	if (!s) {
		registration_unfollowed(WIRE_API_REG_MR, result);
		return 0;
	}
	if (result)
		chain_push(s, WIRE_FN_UVERBS, result);
	registration_end(s, result);
	return 0;
}

SEC("?kprobe/ib_uverbs_reg_mr")
int reg_mr_enter__kprobe(struct pt_regs *ctx)
{
	return reg_mr_enter((void *)PT_REGS_PARM1(ctx));
}

SEC("?kretprobe/ib_uverbs_reg_mr")
int reg_mr_exit__kretprobe(struct pt_regs *ctx)
{
	return reg_mr_exit((int)PT_REGS_RC(ctx));
}

/*
 * slot umem_enter/_exit: ib_umem_get (ib_uverbs, to 6.12), __ib_umem_get_va (ib_core,
 * 7.3): same four arguments, same return.
 * Why: address, length and access as the kernel uses them, for every driver; the memlock
 * check is inside. Context: process. Rate: one per registration or queue buffer.
 */
static __always_inline int umem_enter(struct ib_device *dev, __u64 address, __u64 length, __u32 access)
{
	struct wire_span *s = span_find();
	struct mm_struct *mm;

	if (!s)
		s = span_open(WIRE_API_UMEM);
	if (!s)
		return 0;
	s->device = (__u64)dev;
	s->address = address;
	s->length = length;
	s->access = access;
	s->stage = WIRE_STAGE_UMEM;
	s->have |= WIRE_HAVE_UMEM;
	mm = bpf_get_current_task_btf()->mm;
	if (mm) {
		s->pinned_before_pages = mm->pinned_vm.counter;
		s->have |= WIRE_HAVE_PINNED_VM;
	}
	return 0;
}

static __always_inline int umem_exit(__u64 umem)
{
	__s64 result = error_of_pointer(umem);
	struct wire_span *s = span_find();

	if (!s)
		return 0; /* the command's end tells, if it is one */
	if (result)
		chain_push(s, WIRE_FN_UMEM, result);
	else
		s->stage = WIRE_STAGE_PINNED;
	if (s->api == WIRE_API_UMEM)
		registration_end(s, result);
	return 0;
}

SEC("?kprobe/ib_umem_get")
int umem_enter__kprobe(struct pt_regs *ctx)
{
	return umem_enter((void *)PT_REGS_PARM1(ctx), PT_REGS_PARM2(ctx), PT_REGS_PARM3(ctx), PT_REGS_PARM4(ctx));
}

SEC("?kprobe/__ib_umem_get_va")
int umem_enter__kprobe_va(struct pt_regs *ctx)
{
	return umem_enter((void *)PT_REGS_PARM1(ctx), PT_REGS_PARM2(ctx), PT_REGS_PARM3(ctx), PT_REGS_PARM4(ctx));
}

SEC("?kretprobe/ib_umem_get")
int umem_exit__kretprobe(struct pt_regs *ctx)
{
	return umem_exit(PT_REGS_RC(ctx));
}

SEC("?kretprobe/__ib_umem_get_va")
int umem_exit__kretprobe_va(struct pt_regs *ctx)
{
	return umem_exit(PT_REGS_RC(ctx));
}

/*
 * slots rxe_reg_mr_exit, mlx5_reg_mr_exit: the driver's reg_user_mr operation.
 * Why: its errno in the chain tells a failure of the umem from one of the provider.
 * Only the return is hooked: its arguments are known from the command and the umem.
 */
static __always_inline int driver_exit(__u32 fn, __u64 mr)
{
	__s64 result = error_of_pointer(mr);
	struct wire_span *s;

	if (!result)
		return 0;
	s = span_find();
	if (s)
		chain_push(s, fn, result);
	return 0;
}

SEC("?kretprobe/rxe_reg_user_mr")
int rxe_reg_mr_exit__kretprobe(struct pt_regs *ctx)
{
	return driver_exit(WIRE_FN_DRIVER_RXE, PT_REGS_RC(ctx));
}

SEC("?kretprobe/mlx5_ib_reg_user_mr")
int mlx5_reg_mr_exit__kretprobe(struct pt_regs *ctx)
{
	return driver_exit(WIRE_FN_DRIVER_MLX5, PT_REGS_RC(ctx));
}
