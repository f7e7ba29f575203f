/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * /dev/nvidiactl of the stand-in: what a test asks it to do. A lock belongs to the descriptor it was made through,
 * and goes with it at the latest.
 */
#ifndef NVIDIA_STANDIN_H
#define NVIDIA_STANDIN_H

#include <linux/ioctl.h>
#include <linux/types.h>

#define NVIDIA_STANDIN_DEVICE "/dev/nvidiactl"
#define NVIDIA_STANDIN_LOCKS 256	/* ENOSPC beyond */

struct nvidia_standin_lock {
	__u64 address;
	__u64 pages;
	__u32 write;
	__u32 status;	/* out: NV_STATUS, 0 = pinned */
	__u64 id;	/* out */
};

#define NVIDIA_STANDIN_LOCK _IOWR('F', 0xe0, struct nvidia_standin_lock)
#define NVIDIA_STANDIN_UNLOCK _IOW('F', 0xe1, __u64)	/* ENOENT: no such lock of this descriptor */

/* A dma-buf, of host memory in place of the GPU's. */
struct nvidia_standin_export {
	__u64 bytes;
	__s32 fd;	/* out */
	__u32 status;	/* out: NV_STATUS */
};
#define NVIDIA_STANDIN_EXPORT _IOWR('F', 0xe2, struct nvidia_standin_export)

#endif
