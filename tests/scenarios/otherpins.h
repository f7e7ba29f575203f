/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Long-term pins that are not RDMA's, taken with plain system calls: buffers registered with io_uring,
 * and the memory of an AF_XDP socket.
 */
#ifndef SCENARIO_OTHERPINS_H
#define SCENARIO_OTHERPINS_H

#include <stddef.h>
#include <stdint.h>

int uring_new(void);						/* a ring's descriptor; dies when it cannot */
int uring_register(int ring, void *address, size_t length);	/* one buffer; 0 or the errno */
void uring_unregister(int ring);

struct xdp_shape {
	uint32_t chunk, headroom;
};

int xdp_new(void);	/* an AF_XDP socket; needs CAP_NET_RAW */
int xdp_register(int fd, void *address, size_t length, const struct xdp_shape *shape);	/* 0 or the errno */

#endif
