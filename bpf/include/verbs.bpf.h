/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What a uverbs command was asked and of which device, as far as it is known where the fields lie: see layout.def.
 */
#ifndef PINWHY_VERBS_BPF_H
#define PINWHY_VERBS_BPF_H

#include "flavors.bpf.h"
#include "layout.bpf.h"

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
	const struct wire_layout *l = layout_get();
	struct command cmd;
	const void *inbuf;
	long err;

	if (!l)
		return;
	if (s->api != WIRE_API_REG_MR && s->api != WIRE_API_REREG_MR)
		return; /* the attributes of ioctl methods are not laid out like a command */
	inbuf = (const void *)field_u64(l, s->attrs, WIRE_FIELD_ATTRS_INBUF);
	if (!inbuf)
		return;
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

#define IB_DEVICE_ON_DEMAND_PAGING (1ULL << 31)
#define IBK_ON_DEMAND_PAGING (1 << 2)

/* The core's own capabilities; of a kernel where they are among those of the device (5.10), the one that is asked for. */
static __always_inline __u64 device_kernel_caps(const struct wire_layout *l, __u64 dev)
{
	if (field_known(l, WIRE_FIELD_DEVICE_KERNEL_CAPS))
		return field_u64(l, dev, WIRE_FIELD_DEVICE_KERNEL_CAPS);
	return field_u64(l, dev, WIRE_FIELD_DEVICE_CAPS) & IB_DEVICE_ON_DEMAND_PAGING ? IBK_ON_DEMAND_PAGING : 0;
}

/* All or nothing: a capability that is not known must not look like one that is lacking. */
static __always_inline void read_caps(struct wire_reg_end *e, const struct wire_layout *l, __u64 dev)
{
	if (!field_known(l, WIRE_FIELD_DEVICE_MAX_MR_SIZE) || !field_known(l, WIRE_FIELD_DEVICE_MAX_MR) ||
	    !field_known(l, WIRE_FIELD_DEVICE_ODP_CAPS) || !field_known(l, WIRE_FIELD_DEVICE_PAGE_SIZES) ||
	    !(field_known(l, WIRE_FIELD_DEVICE_KERNEL_CAPS) || field_known(l, WIRE_FIELD_DEVICE_CAPS)))
		return;
	e->caps.kernel_caps = device_kernel_caps(l, dev);
	e->caps.odp_caps = field_u64(l, dev, WIRE_FIELD_DEVICE_ODP_CAPS);
	e->caps.max_mr_size = field_u64(l, dev, WIRE_FIELD_DEVICE_MAX_MR_SIZE);
	e->caps.page_size_cap = field_u64(l, dev, WIRE_FIELD_DEVICE_PAGE_SIZES);
	e->caps.max_mr = field_u32(l, dev, WIRE_FIELD_DEVICE_MAX_MR);
	e->caps.fw_ver = field_u64(l, dev, WIRE_FIELD_DEVICE_FW_VER);
	e->caps.has_dmabuf = field_u64(l, dev, WIRE_FIELD_DEVICE_REG_DMABUF) != 0;
	e->caps.cc_dma_bounce = field_bit(l, dev, WIRE_FIELD_DEVICE_BOUNCE);
	e->have |= WIRE_HAVE_CAPS;
}

static __always_inline void read_ib_device(struct wire_reg_end *e, const struct wire_layout *l, __u64 dev)
{
	struct module *owner = (void *)field_u64(l, dev, WIRE_FIELD_DEVICE_OWNER);

	if (!field_string(l, e->device, sizeof(e->device), dev, WIRE_FIELD_DEVICE_NAME))
		return;
	if (owner)
		BPF_CORE_READ_STR_INTO(&e->driver, owner, name);
	e->device_index = field_u32(l, dev, WIRE_FIELD_DEVICE_INDEX);
	e->have |= WIRE_HAVE_DEVICE;
}

static __always_inline void read_device(struct wire_reg_end *e, const struct wire_span *s)
{
	const struct wire_layout *l = layout_get();
	__u64 dev = s->device, file;

	if (!l)
		return;
	if (!dev) {
		file = field_u64(l, s->attrs, WIRE_FIELD_ATTRS_FILE);
		dev = field_u64(l, field_u64(l, file, WIRE_FIELD_FILE_DEVICE), WIRE_FIELD_UVERBS_IB_DEVICE);
	}
	if (!dev)
		return;
	read_ib_device(e, l, dev);
	read_caps(e, l, dev);
}

#endif
