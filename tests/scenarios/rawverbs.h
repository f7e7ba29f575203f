/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Calls to uverbs that libibverbs of Debian 12 does not make, or refuses to make: straight to the
 * file descriptor. Numbers that its headers lack come from the kernel's rdma/ib_user_ioctl_cmds.h.
 */
#ifndef SCENARIO_RAWVERBS_H
#define SCENARIO_RAWVERBS_H

#include <stddef.h>
#include <stdint.h>

#include "verbs.h"

struct raw_mr {
	void *address;
	size_t length;
	uint64_t iova;
	unsigned int access;
};

/* Each returns 0 or the errno. */
int raw_reg_mr(const struct rdma *rdma, const struct raw_mr *mr);	/* UVERBS_METHOD_REG_MR, Linux 6.18 */
int raw_reg_dmabuf_mr(const struct rdma *rdma, int fd, const struct raw_mr *mr);
int raw_dm_alloc(const struct rdma *rdma, size_t length);
int raw_dm_reg(const struct rdma *rdma, const struct raw_mr *mr);
/* IB_USER_VERBS_CMD_REREG_MR of `handle`; flags IBV_REREG_MR_CHANGE_... */
int raw_rereg(const struct rdma *rdma, uint32_t handle, unsigned int flags, const struct raw_mr *mr);

#endif
