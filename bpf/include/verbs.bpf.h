/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What a uverbs command was asked and of which device. Its structs are only in the BTF of ib_uverbs:
 * in an object loaded without, all of this is dead code.
 */
#ifndef PINWHY_VERBS_BPF_H
#define PINWHY_VERBS_BPF_H

#include "flavors.bpf.h"

/* The command of either kind, as far as they agree. */
struct command {
	__u64 start, length, hca_va;
	__u32 pd_handle, access_flags, flags;
};

static __always_inline long read_reg_mr(struct command *ret, const void *inbuf)
{
	struct ib_uverbs_reg_mr cmd;
	long err = bpf_probe_read_user(&cmd, sizeof(cmd), inbuf);

	*ret = (struct command){ cmd.start, cmd.length, cmd.hca_va, cmd.pd_handle, cmd.access_flags, 0 };
	return err;
}

static __always_inline long read_rereg_mr(struct command *ret, const void *inbuf)
{
	struct ib_uverbs_rereg_mr cmd;
	long err = bpf_probe_read_user(&cmd, sizeof(cmd), inbuf);

	*ret = (struct command){ cmd.start, cmd.length, cmd.hca_va, cmd.pd_handle, cmd.access_flags, cmd.flags };
	return err;
}

/* The command as user space wrote it. attrs stays valid until the handler has returned. */
static __always_inline void read_command(struct wire_reg_end *e, const struct wire_span *s)
{
	struct uverbs_attr_bundle *attrs = (void *)s->attrs;
	struct command cmd;
	const void *inbuf;
	long err;

	if (!attrs || !bpf_core_type_exists(struct uverbs_attr_bundle))
		return;
	if (s->api != WIRE_API_REG_MR && s->api != WIRE_API_REREG_MR)
		return; /* the attributes of ioctl methods are not laid out like a command */
	inbuf = BPF_CORE_READ(attrs, ucore.inbuf);
	err = s->api == WIRE_API_REG_MR ? read_reg_mr(&cmd, inbuf) : read_rereg_mr(&cmd, inbuf);
	if (err)
		return;
	e->iova = cmd.hca_va;
	e->pd_handle = cmd.pd_handle;
	e->have |= WIRE_HAVE_COMMAND;
	if (s->api == WIRE_API_REREG_MR) {
		e->args.flags = cmd.flags;
		e->have |= WIRE_HAVE_ARGS;
	}
	if (e->have & WIRE_HAVE_UMEM)
		return; /* what the kernel worked with wins over what may have been rewritten since */
	e->address = user_address(cmd.start);
	e->length = cmd.length;
	e->access = cmd.access_flags;
}

static __always_inline void read_caps(struct wire_reg_end *e, const struct ib_device *dev)
{
	e->caps.kernel_caps = BPF_CORE_READ(dev, attrs.kernel_cap_flags);
	e->caps.odp_caps = BPF_CORE_READ(dev, attrs.odp_caps.general_caps);
	e->caps.max_mr_size = BPF_CORE_READ(dev, attrs.max_mr_size);
	e->caps.page_size_cap = BPF_CORE_READ(dev, attrs.page_size_cap);
	e->caps.max_mr = BPF_CORE_READ(dev, attrs.max_mr);
	e->caps.fw_ver = BPF_CORE_READ(dev, attrs.fw_ver);
	e->caps.has_dmabuf = BPF_CORE_READ(dev, ops.reg_user_mr_dmabuf) != NULL;
	e->caps.cc_dma_bounce = device_bounces_dma(dev);
	e->have |= WIRE_HAVE_CAPS;
}

static __always_inline void read_ib_device(struct wire_reg_end *e, const struct ib_device *dev)
{
	BPF_CORE_READ_STR_INTO(&e->device, dev, name);
	BPF_CORE_READ_STR_INTO(&e->driver, dev, ops.owner, name);
	e->device_index = BPF_CORE_READ(dev, index);
	e->have |= WIRE_HAVE_DEVICE;
}

static __always_inline void read_device(struct wire_reg_end *e, const struct wire_span *s)
{
	struct uverbs_attr_bundle *attrs = (void *)s->attrs;
	struct ib_device *dev = (void *)s->device;

	if (!dev && attrs && bpf_core_type_exists(struct uverbs_attr_bundle))
		dev = BPF_CORE_READ(attrs, ufile, device, ib_dev);
	if (!dev)
		return;
	read_ib_device(e, dev);
	read_caps(e, dev);
}

#endif
