// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A registration of a verbs device from its command to its end: opens and closes the span and
 * notes which stage failed. All hooks sit in modules, so they are kprobes: an fentry program there
 * would keep the module from unloading.
 */
#include "end.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

REGISTRATION_FAILED

/*
 * slots reg_mr, rereg_mr (ib_uverbs_reg_mr(attrs), ib_uverbs_rereg_mr: drivers/infiniband/core/
 * uverbs_cmd.c), reg_mr_ioctl, reg_dmabuf, dm_mr (handlers of uverbs_std_types_mr.c and _dm.c),
 * devx_umem (mlx5_ib, devx.c): _enter and _exit.
 * Why: where a registration begins and ends, and the errno user space gets. Every ibv_reg_mr of
 * today's libibverbs is the first, by write() or through the INVOKE_WRITE ioctl.
 * Context: process. Rate: one per registration.
 * Misses: commands with a handler of their own; their umem is still seen (api umem).
 */
static __always_inline int command_enter(__u16 api, void *attrs)
{
	struct wire_span *s = span_open(api);

	if (s)
		s->attrs = (__u64)attrs;
	return 0;
}

#define COMMAND(slot, api, fn, function)                                                            \
	SEC("?kprobe/" #function)                                                                   \
	int slot##_enter__kprobe(struct pt_regs *ctx)                                               \
	{                                                                                           \
		return command_enter(WIRE_API_##api, (void *)PT_REGS_PARM1(ctx));                   \
	}                                                                                           \
	SEC("?kretprobe/" #function)                                                                \
	int slot##_exit__kretprobe(struct pt_regs *ctx)                                             \
	{                                                                                           \
		return entry_exit(ctx, WIRE_API_##api, WIRE_FN_##fn, (int)PT_REGS_RC(ctx), true, \
				  WIRE_ENDS_REGISTRATION);   \
	}

COMMAND(reg_mr, REG_MR, UVERBS, ib_uverbs_reg_mr)
COMMAND(rereg_mr, REREG_MR, REREG_MR, ib_uverbs_rereg_mr)
COMMAND(reg_mr_ioctl, REG_MR_IOCTL, REG_MR_IOCTL, ib_uverbs_handler_UVERBS_METHOD_REG_MR)
COMMAND(reg_dmabuf, REG_DMABUF_MR, REG_DMABUF_MR, ib_uverbs_handler_UVERBS_METHOD_REG_DMABUF_MR)
COMMAND(dm_mr, DM_MR, DM_MR, ib_uverbs_handler_UVERBS_METHOD_DM_MR_REG)
COMMAND(devx_umem, DEVX_UMEM, DEVX_UMEM, mlx5_ib_handler_MLX5_IB_METHOD_DEVX_UMEM_REG)

/*
 * slot umem_enter/_exit: ib_umem_get (ib_uverbs, to 6.12), __ib_umem_get_va (ib_core,
 * 7.3): same four arguments, same return. In a vendor's stack (MLNX_OFED 5, DOCA) __ib_umem_get(device, address, length,
 * access, peer_mem_flags): static, and both ways in lead through it, ib_umem_get() and ib_umem_get_peer(); hence the first.
 * Why: address, length and access as the kernel uses them, for every driver; the memlock
 * check is inside. Context: process. Rate: one per registration or queue buffer.
 */
static __always_inline int umem_enter(__u64 device, __u64 address, __u64 length, __u32 access)
{
	struct wire_span *s = span_find();
	struct mm_struct *mm;

	if (!s)
		s = span_open(WIRE_API_UMEM);
	if (!s)
		return 0;
	s->device = device;
	s->address = user_address(address);
	s->length = length;
	s->access = access;
	s->stage = WIRE_STAGE_UMEM;
	s->have |= WIRE_HAVE_UMEM;
	mm = FIELD(current_task(), mm);
	if (mm) {
		s->pinned_before_pages = FIELD(mm, pinned_vm.counter);
		s->have |= WIRE_HAVE_PINNED_VM;
	}
	step_range(s);
	return 0;
}

static __always_inline int umem_exit(void *ctx, __u64 umem)
{
	__s64 result = error_of_pointer(umem);
	struct wire_span *s = span_find();

	if (!s)
		return 0; /* the command's end tells, if it is one */
	step_return(s, WIRE_FN_UMEM, result);
	if (result)
		chain_push(s, WIRE_FN_UMEM, result);
	else
		s->stage = WIRE_STAGE_PINNED;
	if (s->api == WIRE_API_UMEM)
		registration_end(ctx, s, result, WIRE_ENDS_REGISTRATION);
	return 0;
}

SEC("?kprobe/__ib_umem_get")
int umem_enter__kprobe_inner(struct pt_regs *ctx)
{
	return umem_enter(PT_REGS_PARM1(ctx), PT_REGS_PARM2(ctx), PT_REGS_PARM3(ctx), PT_REGS_PARM4(ctx));
}

SEC("?kprobe/ib_umem_get")
int umem_enter__kprobe(struct pt_regs *ctx)
{
	return umem_enter(PT_REGS_PARM1(ctx), PT_REGS_PARM2(ctx), PT_REGS_PARM3(ctx), PT_REGS_PARM4(ctx));
}

SEC("?kprobe/__ib_umem_get_va")
int umem_enter__kprobe_va(struct pt_regs *ctx)
{
	return umem_enter(PT_REGS_PARM1(ctx), PT_REGS_PARM2(ctx), PT_REGS_PARM3(ctx), PT_REGS_PARM4(ctx));
}

SEC("?kretprobe/__ib_umem_get")
int umem_exit__kretprobe_inner(struct pt_regs *ctx)
{
	return umem_exit(ctx, PT_REGS_RC(ctx));
}

SEC("?kretprobe/ib_umem_get")
int umem_exit__kretprobe(struct pt_regs *ctx)
{
	return umem_exit(ctx, PT_REGS_RC(ctx));
}

SEC("?kretprobe/__ib_umem_get_va")
int umem_exit__kretprobe_va(struct pt_regs *ctx)
{
	return umem_exit(ctx, PT_REGS_RC(ctx));
}

/*
 * slot umem_peer_enter/_exit: ib_umem_get_peer(device, address, length, access, peer_mem_flags) of a vendor's stack
 * (drivers/infiniband/core/umem.c of MLNX_OFED 5; its mlx5_ib, erdma and others call it where the kernel's own call ib_umem_get()).
 * Why: where the compiler has left no __ib_umem_get(), it is seen here or nowhere. Inside it the pin that failed is followed by
 * questions to peer memory clients: see peer.bpf.c. Context: process. Rate: one per registration.
 * Misses: a stack for kernels before 5.5, whose first argument is a struct ib_udata: the name is then not that of a device.
 */
SEC("?kprobe/ib_umem_get_peer")
int umem_peer_enter__kprobe(struct pt_regs *ctx)
{
	return umem_enter(PT_REGS_PARM1(ctx), PT_REGS_PARM2(ctx), PT_REGS_PARM3(ctx), PT_REGS_PARM4(ctx));
}

SEC("?kretprobe/ib_umem_get_peer")
int umem_peer_exit__kretprobe(struct pt_regs *ctx)
{
	struct wire_span *s = span_find();
	__u32 last = s ? s->nchain - 1 : WIRE_CHAIN_MAX;

	/* What it called has said so already. */
	if (last < WIRE_CHAIN_MAX && s->chain[last].fn == WIRE_FN_UMEM)
		return 0;
	return umem_exit(ctx, PT_REGS_RC(ctx));
}

/*
 * slot umem_odp_exit: ib_umem_odp_get (drivers/infiniband/core/umem_odp.c).
 * Why: on-demand paging pins nothing, so that a failure there is no failure of a pin.
 */
SEC("?kretprobe/ib_umem_odp_get")
int umem_odp_exit__kretprobe(struct pt_regs *ctx)
{
	return exit_push(WIRE_FN_UMEM_ODP, error_of_pointer(PT_REGS_RC(ctx)));
}

/*
 * slot umem_dmabuf_enter/_exit: ib_umem_dmabuf_get(device, offset, size, fd, access, ops)
 * (drivers/infiniband/core/umem_dmabuf.c).
 * Why: the range of the dma-buf that was asked for, and whether the umem failed.
 * Misses: 7.3 code that calls ib_umem_dmabuf_get_with_dma_device() directly.
 */
SEC("?kprobe/ib_umem_dmabuf_get")
int umem_dmabuf_enter__kprobe(struct pt_regs *ctx)
{
	struct wire_span *s = span_find();

	if (!s)
		return 0;
	s->device = PT_REGS_PARM1(ctx);
	s->length = PT_REGS_PARM3(ctx);
	s->access = PT_REGS_PARM5(ctx);
	s->args = (struct wire_args){ .offset = PT_REGS_PARM2(ctx), .fd = PT_REGS_PARM4(ctx) };
	s->have |= WIRE_HAVE_ARGS;
	step_range(s);
	return 0;
}

SEC("?kretprobe/ib_umem_dmabuf_get")
int umem_dmabuf_exit__kretprobe(struct pt_regs *ctx)
{
	return exit_push(WIRE_FN_UMEM_DMABUF, error_of_pointer(PT_REGS_RC(ctx)));
}

/*
 * slots <module>_reg_mr_exit: the driver's reg_user_mr operation, one row of functions.def each, and
 * driver_reg_mr_exit, whose function is a setting.
 * Why: its errno in the chain tells a failure of the umem from one of the provider.
 * Only the return is hooked: its arguments are known from the command and the umem.
 */
#define FN(...)
#define DRIVER(id, name, module, function)                                                          \
	SEC("?kretprobe/" #function)                                                                \
	int module##_reg_mr_exit__kretprobe(struct pt_regs *ctx)                                    \
	{                                                                                           \
		return exit_push(WIRE_FN_DRIVER_##name, error_of_pointer(PT_REGS_RC(ctx)));         \
	}
#include "functions.def"
#undef FN
#undef DRIVER
