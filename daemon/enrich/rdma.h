/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What RDMA netlink says about the memory regions of a device: <rdma/rdma_netlink.h>. The parsers take
 * one message each; whatever is in it, they stay inside. 0 or -errno, -EBADMSG for what is malformed.
 */
#ifndef PINWHY_ENRICH_RDMA_H
#define PINWHY_ENRICH_RDMA_H

#include <linux/netlink.h>
#include <stdbool.h>
#include <stdint.h>

struct rdma_mr {
	uint32_t pid;		/* thread that registered it; 0 = ended, or the kernel's own */
	uint64_t length_bytes;
};

typedef int (*rdma_mr_fn)(void *ctx, const struct rdma_mr *mr);

/* A message of the list of devices: -ENOENT when it is about another. */
int rdma_parse_device(const struct nlmsghdr *h, const char *device, uint32_t *ret_index);
/* The summary of a device: -ENOENT when it counts no memory regions. */
int rdma_parse_summary(const struct nlmsghdr *h, uint64_t *ret_mrs);
/* Calls `each` for every memory region, until it returns other than 0, which is returned then. */
int rdma_parse_mrs(const struct nlmsghdr *h, rdma_mr_fn each, void *ctx);

/* A socket to the kernel's RDMA netlink. */
int rdma_open(void);

#endif
