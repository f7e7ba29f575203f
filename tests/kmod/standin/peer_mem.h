/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A client of peer memory and where it registers itself, named as in the vendor's RDMA stack (MLNX_OFED, rdma/peer_mem.h), which
 * no upstream kernel has. What only its DMA takes is left out, so that the layout is not the vendor's.
 */
#ifndef PEER_MEM_H
#define PEER_MEM_H

#include <linux/scatterlist.h>
#include <linux/types.h>

struct peer_memory_client {
	char name[64];
	/* 1 = mine, 0 = not mine */
	int (*acquire)(unsigned long addr, size_t size, void *peer_mem_private_data, char *peer_mem_name, void **client_context);
	int (*get_pages)(unsigned long addr, size_t size, int write, int force, struct sg_table *sg_head, void *client_context, u64 core_context);
	void (*put_pages)(struct sg_table *sg_head, void *client_context);
	void (*release)(void *client_context);
};

/* NULL: there are as many as it takes. */
void *ib_register_peer_memory_client(const struct peer_memory_client *client, void *invalidate_callback);
void ib_unregister_peer_memory_client(void *registered);

#endif
