// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Registrations that are not verbs: io_uring's registered buffers, AF_XDP's umem, VFIO's DMA maps.
 * They take the same long-term pins and fail for the same reasons. And, on demand, what libibverbs
 * does to a buffer before it registers it: madvise for fork protection.
 */
#include "end.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

REGISTRATION_FAILED

/* --- io_uring ------------------------------------------------------------------- */

/*
 * slot uring_enter/_exit: io_sqe_buffers_register(ctx, arg, nr_args, tags) (io_uring/rsrc.c).
 * Why: the whole call, with the checks that come before a buffer is looked at. Context: process,
 * ring locked. Rate: one per IORING_REGISTER_BUFFERS.
 * Misses: IORING_REGISTER_BUFFERS_UPDATE, which ends without telling more than a count.
 */
SEC("?kprobe/io_sqe_buffers_register")
int uring_enter__kprobe(struct pt_regs *ctx)
{
	struct wire_span *s = span_open(WIRE_API_IO_URING);
	struct mm_struct *mm;

	if (!s)
		return 0;
	s->attrs = PT_REGS_PARM2(ctx);
	s->args = (struct wire_args){ .fd = -1, .count = PT_REGS_PARM3(ctx) };
	s->have |= WIRE_HAVE_ARGS;
	mm = FIELD(current_task(), mm);
	if (mm) {
		s->pinned_before_pages = FIELD(mm, pinned_vm.counter);
		s->have |= WIRE_HAVE_PINNED_VM;
	}
	return 0;
}

/* No buffer failed, so the one that was to be next was refused unseen: it is read again. */
static __always_inline void uring_next_buffer(struct wire_span *s)
{
	struct iovec iov;

	if (bpf_probe_read_user(&iov, sizeof(iov), (void *)(s->attrs + (__u64)s->args.index * sizeof(iov))))
		return;
	s->address = user_address(iov.iov_base);
	s->length = iov.iov_len;
}

SEC("?kretprobe/io_sqe_buffers_register")
int uring_exit__kretprobe(struct pt_regs *ctx)
{
	struct wire_span *s = span_find();
	int result = PT_REGS_RC(ctx);

	if (s && s->api == WIRE_API_IO_URING && result < 0 && !s->nchain)
		uring_next_buffer(s);
	return entry_exit(ctx, WIRE_API_IO_URING, WIRE_FN_URING, result, true, WIRE_ENDS_SUBSYSTEMS);
}

/* What the buffer would charge to the ring's user; the charge itself is inlined in 7.3. A huge page counts whole. */
static __always_inline void uring_account(struct wire_span *s, struct io_ring_ctx *ring)
{
	struct user_struct *user = BPF_CORE_READ(ring, user);
	__u64 mask = (1ULL << cfg.page_shift) - 1;

	if (!user)
		return; /* made with CAP_IPC_LOCK: nothing is charged */
	s->account.asked_pages = ((s->address + s->length + mask) >> cfg.page_shift) - (s->address >> cfg.page_shift);
	s->account.user_locked_pages = BPF_CORE_READ(user, locked_vm.counter);
	s->have |= WIRE_HAVE_ACCOUNT;
}

/*
 * slot uring_buffer_enter/_exit: io_sqe_buffer_register(ctx, iov, ...) (io_uring/rsrc.c).
 * Why: which of the buffers failed, and its range. Rate: one per buffer.
 */
SEC("?kprobe/io_sqe_buffer_register")
int uring_buffer_enter__kprobe(struct pt_regs *ctx)
{
	struct wire_span *s = span_find();
	struct iovec iov;

	if (!s || s->api != WIRE_API_IO_URING)
		return 0;
	bpf_probe_read_kernel(&iov, sizeof(iov), (void *)PT_REGS_PARM2(ctx));
	s->address = user_address(iov.iov_base);
	s->length = iov.iov_len;
	/* Those of the buffer before, which was moved. */
	s->nvmas = 0;
	s->have &= ~(WIRE_HAVE_VMAS | WIRE_HAVE_VMAS_ALL | WIRE_HAVE_VMAS_CUT);
	s->args.index++;
	uring_account(s, (void *)PT_REGS_PARM1(ctx));
	step_range(s);
	return 0;
}

SEC("?kretprobe/io_sqe_buffer_register")
int uring_buffer_exit__kretprobe(struct pt_regs *ctx)
{
	struct wire_span *s = span_find();
	__s64 result = error_of_pointer(PT_REGS_RC(ctx));
	__s32 number = PT_REGS_RC(ctx);

	/* An int to 6.12; a pointer to the new node in 7.3, which is never a small negative number. */
	if (!result && number < 0 && number >= -4095)
		result = number;
	if (!s || s->api != WIRE_API_IO_URING || !result)
		return 0;
	s->args.index--; /* this one, not the next */
	chain_push(s, WIRE_FN_URING_BUFFER, result);
	return 0;
}

/* --- AF_XDP ---------------------------------------------------------------------- */

/*
 * slot xdp_umem_enter/_exit: xdp_umem_create(mr) (net/xdp/xdp_umem.c).
 * Why: arguments, charge and errno of a umem. Rate: one per setsockopt XDP_UMEM_REG.
 */
SEC("?kprobe/xdp_umem_create")
int xdp_umem_enter__kprobe(struct pt_regs *ctx)
{
	struct wire_span *s = span_open(WIRE_API_XDP_UMEM);
	struct task_struct *task = current_task();
	struct xdp_umem_reg_v1 mr;

	if (!s)
		return 0;
	bpf_probe_read_kernel(&mr, sizeof(mr), (void *)PT_REGS_PARM1(ctx));
	s->address = user_address(mr.addr);
	s->length = mr.len;
	s->args = (struct wire_args){
		.fd = -1, .chunk_bytes = mr.chunk_size, .headroom_bytes = mr.headroom, .flags = mr.flags,
	};
	s->account.asked_pages = (mr.len >> cfg.page_shift) + !!(mr.len & ((1ULL << cfg.page_shift) - 1));
	s->account.user_locked_pages = BPF_CORE_READ(task, cred, user, locked_vm.counter);
	s->have |= WIRE_HAVE_ARGS | WIRE_HAVE_ACCOUNT;
	step_range(s);
	return 0;
}

SEC("?kretprobe/xdp_umem_create")
int xdp_umem_exit__kretprobe(struct pt_regs *ctx)
{
	return entry_exit(ctx, WIRE_API_XDP_UMEM, WIRE_FN_XDP_UMEM, error_of_pointer(PT_REGS_RC(ctx)), true, WIRE_ENDS_SUBSYSTEMS);
}

/* --- VFIO ------------------------------------------------------------------------ */

/*
 * slot vfio_map_enter/_exit: vfio_iommu_type1_ioctl(iommu_data, cmd, arg) (drivers/vfio/
 * vfio_iommu_type1.c); the function that maps is inlined into it.
 * Why: range and errno of a DMA map. Rate: one per ioctl on a type 1 container.
 */
SEC("?kprobe/vfio_iommu_type1_ioctl")
int vfio_map_enter__kprobe(struct pt_regs *ctx)
{
	struct vfio_iommu_type1_dma_map map;
	struct wire_span *s;

	if ((__u32)PT_REGS_PARM2(ctx) != VFIO_IOMMU_MAP_DMA)
		return 0;
	s = span_open(WIRE_API_VFIO_MAP);
	if (!s || bpf_probe_read_user(&map, sizeof(map), (void *)PT_REGS_PARM3(ctx)))
		return 0;
	s->address = user_address(map.vaddr);
	s->length = map.size;
	s->args = (struct wire_args){ .fd = -1, .flags = map.flags, .offset = map.iova };
	s->have |= WIRE_HAVE_ARGS;
	step_range(s);
	return 0;
}

SEC("?kretprobe/vfio_iommu_type1_ioctl")
int vfio_map_exit__kretprobe(struct pt_regs *ctx)
{
	/* Without a span it is another ioctl, or a map that could not be followed: nothing tells which. */
	return entry_exit(ctx, WIRE_API_VFIO_MAP, WIRE_FN_VFIO_MAP, PT_REGS_RC(ctx), false, WIRE_ENDS_SUBSYSTEMS);
}

/* --- fork protection --------------------------------------------------------------- */

/*
 * slot fork_madvise_enter/_exit: do_madvise(mm, start, len, behavior) (mm/madvise.c).
 * Why: with fork protection on, libibverbs calls madvise(MADV_DONTFORK) before it registers, and
 * gives up when that fails: the kernel never sees a registration.
 * Rate: every madvise of every task, hence on demand only.
 */
SEC("?kprobe/do_madvise")
int fork_madvise_enter__kprobe(struct pt_regs *ctx)
{
	__u32 advice = PT_REGS_PARM4(ctx);
	struct wire_span *s;

	if (advice != MADV_DONTFORK && advice != MADV_DOFORK)
		return 0;
	s = span_open(WIRE_API_FORK_MADVISE);
	if (!s)
		return 0;
	s->address = user_address(PT_REGS_PARM2(ctx));
	s->length = PT_REGS_PARM3(ctx);
	s->args = (struct wire_args){ .fd = -1, .flags = advice };
	s->have |= WIRE_HAVE_ARGS;
	return 0;
}

SEC("?kretprobe/do_madvise")
int fork_madvise_exit__kretprobe(struct pt_regs *ctx)
{
	return entry_exit(ctx, WIRE_API_FORK_MADVISE, WIRE_FN_MADVISE, (int)PT_REGS_RC(ctx), false, WIRE_ENDS_SUBSYSTEMS);
}
