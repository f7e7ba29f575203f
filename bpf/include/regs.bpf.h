/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What depends on the architecture: registers that libbpf 1.1 has no name for, those of the thread in user space, and
 * which bits of a user address are its place. The sources are the same for all; each is compiled once for each.
 */
#ifndef PINWHY_REGS_BPF_H
#define PINWHY_REGS_BPF_H

#include "kernel.h"
#include "wire.h"
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

/* What a system call was entered with, as /proc/PID/syscall shows it; `ret_args` takes the first three. */
static __always_inline void user_regs(__u64 *ret_sp, __u64 *ret_pc, __u64 *ret_args)
{
#ifdef PINWHY_BASIC /* no bpf_task_pt_regs() (5.15) */
	*ret_sp = *ret_pc = 0;
	ret_args[0] = ret_args[1] = ret_args[2] = 0;
#else
	struct pt_regs___user *user = (void *)bpf_task_pt_regs(bpf_get_current_task_btf());

	*ret_sp = user->sp;
#ifdef __TARGET_ARCH_arm64
	*ret_pc = user->pc;
	/* regs[0] becomes the result (arch/arm64/include/asm/syscall.h). */
	ret_args[0] = user->orig_x0;
	ret_args[1] = user->regs[1];
	ret_args[2] = user->regs[2];
#else
	*ret_pc = user->ip;
	ret_args[0] = user->di;
	ret_args[1] = user->si;
	ret_args[2] = user->dx;
#endif
#endif
}

/*
 * A user address as mappings have it. arm64 ignores the top byte, and a process may keep a tag there
 * (Documentation/arm64/tagged-address-abi.rst): the kernel takes it out only where it looks the address up
 * (untagged_addr() of arch/arm64/include/asm/memory.h), which is behind most hooks.
 */
static __always_inline __u64 user_address(__u64 address)
{
#ifdef __TARGET_ARCH_arm64
	address &= (__u64)((__s64)(address << 8) >> 8);
#endif
	return address;
}

/*
 * bpf_get_stack() of the kernel's stack, `bytes` a multiple of 8 above 8. `at_entry`: of a kprobe at a function's first
 * instruction. There arm64's unwinder starts from the frame record of the caller, and leaves the caller itself out, who is in the
 * link register still (arch/arm64/kernel/stacktrace.c: unwind_init_from_regs() of v6.1, kunwind_init_from_regs() of v6.12).
 * A return probe of the same function that ran before has its trampoline there, and then a frame says so.
 */
static __always_inline long kernel_stack(void *ctx, __u64 *ret_ips, __u32 bytes, bool at_entry)
{
#ifdef __TARGET_ARCH_arm64
	if (at_entry) {
		long got = bpf_get_stack(ctx, ret_ips + 1, bytes - 8, 0);

		if (got <= 0)
			return got;
		ret_ips[0] = ret_ips[1];
		ret_ips[1] = PT_REGS_RET((struct pt_regs *)ctx);
		return got + 8;
	}
#endif
	return bpf_get_stack(ctx, ret_ips, bytes, 0);
}

#ifdef __TARGET_ARCH_arm64
#define PARM6(ctx) (((const struct user_pt_regs *)(ctx))->regs[5])
#else
#define PARM6(ctx) ((ctx)->r9)
#endif

#endif
