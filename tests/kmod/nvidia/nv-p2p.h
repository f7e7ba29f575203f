/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What nvidia.ko offers to other modules, as far as the stand-in has it: names, arguments and the table's layout are
 * those of kernel-open/nvidia/nv-p2p.h (525 to 595).
 */
#ifndef NV_P2P_H
#define NV_P2P_H

#include <linux/build_bug.h>
#include <linux/stddef.h>
#include <linux/types.h>

#define NVIDIA_P2P_PAGE_SIZE 0x10000

struct nvidia_p2p_page {
	u64 physical_address;
};

struct nvidia_p2p_page_table {
	u32 version;
	u32 page_size;
	struct nvidia_p2p_page **pages;
	u32 entries;
	u8 *gpu_uuid;
	u32 flags;
};
static_assert(offsetof(struct nvidia_p2p_page_table, pages) == 8 && offsetof(struct nvidia_p2p_page_table, entries) == 16);
static_assert(offsetof(struct nvidia_p2p_page_table, gpu_uuid) == 24 && offsetof(struct nvidia_p2p_page_table, flags) == 32);

int nvidia_p2p_get_pages(u64 p2p_token, u32 va_space, u64 virtual_address, u64 length, struct nvidia_p2p_page_table **page_table,
			 void (*free_callback)(void *data), void *data);
int nvidia_p2p_get_pages_persistent(u64 virtual_address, u64 length, struct nvidia_p2p_page_table **page_table, u32 flags);
int nvidia_p2p_put_pages(u64 p2p_token, u32 va_space, u64 virtual_address, struct nvidia_p2p_page_table *page_table);
int nvidia_p2p_put_pages_persistent(u64 virtual_address, struct nvidia_p2p_page_table *page_table, u32 flags);

#endif
