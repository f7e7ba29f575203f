/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Reads fields of the RDMA core's structs, where the loaded modules have them. One whose place is not known is not read: a guess
 * would name another device.
 */
#ifndef PINWHY_LAYOUT_BPF_H
#define PINWHY_LAYOUT_BPF_H

#include "maps.bpf.h"

static __always_inline const struct wire_layout *layout_get(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&layout, &zero);
}

/* Its first byte, and in *ret_bit the bit in there; NULL = not known. `base` is a kernel pointer as a number. */
static __always_inline const void *field_at(const struct wire_layout *l, __u64 base, enum wire_field field, __u32 *ret_bit)
{
	__u32 at = l->at[field];

	if (!at || !base)
		return NULL;
	*ret_bit = (at - 1) & 7;
	return (const void *)(base + (at - 1) / 8);
}

/* Fills *dst, of the size that layout.def says. False: it stays as it is. */
static __always_inline bool field_read(const struct wire_layout *l, void *dst, __u32 size, __u64 base, enum wire_field field)
{
	__u32 bit;
	const void *at = field_at(l, base, field, &bit);

	return at && !bpf_probe_read_kernel(dst, size, at);
}

/* 0 when not known. */
static __always_inline __u64 field_u64(const struct wire_layout *l, __u64 base, enum wire_field field)
{
	__u64 value = 0;

	field_read(l, &value, sizeof(value), base, field);
	return value;
}

/* 0 when not known. */
static __always_inline __u32 field_u32(const struct wire_layout *l, __u64 base, enum wire_field field)
{
	__u32 value = 0;

	field_read(l, &value, sizeof(value), base, field);
	return value;
}

static __always_inline bool field_known(const struct wire_layout *l, enum wire_field field)
{
	return l->at[field];
}

static __always_inline bool field_bit(const struct wire_layout *l, __u64 base, enum wire_field field)
{
	__u32 bit = 0;
	const void *at = field_at(l, base, field, &bit);
	__u8 byte = 0;

	if (at)
		bpf_probe_read_kernel(&byte, sizeof(byte), at);
	return byte >> bit & 1;
}

static __always_inline bool field_string(const struct wire_layout *l, char *dst, __u32 size, __u64 base, enum wire_field field)
{
	__u32 bit;
	const void *at = field_at(l, base, field, &bit);

	return at && bpf_probe_read_kernel_str(dst, size, at) > 0;
}

#endif
