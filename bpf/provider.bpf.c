// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The device's side of a registration: mlx5's MKey and the firmware command behind it. kprobes, not
 * the tracepoint mlx5:mlx5_cmd: an attached tracepoint of a module keeps it from unloading.
 */
#include "flavors.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/* The first eight bytes of every command's answer (mlx5_ifc.h, mbox_out). */
struct mlx5_answer {
	__u8 status;
	__u8 reserved[3];
	__be32 syndrome;
};

#define EIO 5
#define EAGAIN 11
#define EINVAL 22
#define EREMOTEIO 121

/* What the driver makes of a status: cmd_status_to_err() of the same file. */
static __always_inline __s32 status_errno(__u8 status)
{
	switch (status) {
	case 0x2: case 0x3: case 0x5: case 0x9: case 0xa: case 0x10: case 0x30: case 0x40:
		return -EINVAL;
	case 0x6:
		return -EBUSY;
	case 0x8:
		return -ENOMEM;
	case 0xf:
		return -EAGAIN;
	default:
		return -EIO;
	}
}

/* Here the firmware's refusal has no errno yet: it is in the answer alone. */
static __always_inline int command_ended(__s32 err, __u32 opcode, __u32 op_mod, const void *out)
{
	struct wire_span *s = span_find();
	struct mlx5_answer answer = {};

	if (!s)
		return 0;
	bpf_probe_read_kernel(&answer, sizeof(answer), out);
	if (answer.status && (!err || err == -EREMOTEIO))
		err = status_errno(answer.status);
	if (!err)
		return 0;
	if (!(s->have & WIRE_HAVE_FW))
		s->fw.commands = 0;
	if (!s->fw.commands++) {
		s->fw.opcode = opcode;
		s->fw.op_mod = op_mod;
		s->fw.status = answer.status;
		s->fw.syndrome = __builtin_bswap32(answer.syndrome);
		s->fw.err = err;
	}
	s->have |= WIRE_HAVE_FW;
	chain_push(s, WIRE_FN_FW_COMMAND, err);
	return 0;
}

/*
 * slot fw_command: cmd_status_err(dev, err, opcode, op_mod, out) (drivers/net/ethernet/mellanox/
 * mlx5/core/cmd.c, 6.1 and newer), which turns the answer of a command into an errno.
 * Why: opcode, status and syndrome of a command that failed, where the tracepoint is fired too.
 * Context: process. Rate: one per firmware command of a registration in flight; others leave at the span.
 */
SEC("?kprobe/cmd_status_err")
int fw_command__kprobe(struct pt_regs *ctx)
{
	return command_ended(PT_REGS_PARM2(ctx), (__u16)PT_REGS_PARM3(ctx), (__u16)PT_REGS_PARM4(ctx),
			     (void *)PT_REGS_PARM5(ctx));
}

/*
 * slot mkey_exit: mlx5_core_create_mkey (drivers/net/ethernet/mellanox/mlx5/core/mr.c).
 * Why: the errno the driver made of a refused MKey. Rate: one per MKey that the cache lacks.
 */
SEC("?kretprobe/mlx5_core_create_mkey")
int mkey_exit__kretprobe(struct pt_regs *ctx)
{
	return exit_push(WIRE_FN_MKEY, (int)PT_REGS_RC(ctx));
}
