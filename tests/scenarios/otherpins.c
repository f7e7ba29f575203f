// SPDX-License-Identifier: BSD-2-Clause
#include "otherpins.h"

#include <errno.h>
#include <linux/if_xdp.h>
#include <linux/io_uring.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "common.h"

int uring_new(void)
{
	struct io_uring_params params = { 0 };
	int ring = (int)syscall(SYS_io_uring_setup, 1, &params);

	if (ring < 0)
		die_errno("io_uring_setup");
	return ring;
}

int uring_register(int ring, void *address, size_t length)
{
	struct iovec buffer = { address, length };

	return syscall(SYS_io_uring_register, ring, IORING_REGISTER_BUFFERS, &buffer, 1) ? errno : 0;
}

void uring_unregister(int ring)
{
	if (syscall(SYS_io_uring_register, ring, IORING_UNREGISTER_BUFFERS, NULL, 0))
		die_errno("cannot unregister buffers");
}

int xdp_new(void)
{
	int fd = socket(AF_XDP, SOCK_RAW | SOCK_CLOEXEC, 0);

	if (fd < 0)
		die_errno("an AF_XDP socket");
	return fd;
}

int xdp_register(int fd, void *address, size_t length, const struct xdp_shape *shape)
{
	struct xdp_umem_reg reg = {
		.addr = (uintptr_t)address,
		.len = length,
		.chunk_size = shape->chunk,
		.headroom = shape->headroom,
	};

	return setsockopt(fd, SOL_XDP, XDP_UMEM_REG, &reg, sizeof(reg)) ? errno : 0;
}
