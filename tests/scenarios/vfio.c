// SPDX-License-Identifier: BSD-2-Clause
#include "vfio.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <linux/vfio.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "common.h"

/* /dev/vfio holds one file per group, named by its number, and the container's. */
static int group_open(void)
{
	glob_t found;
	int fd;

	if (glob("/dev/vfio/[0-9]*", 0, NULL, &found))
		die("no device is bound to vfio-pci");
	fd = open(found.gl_pathv[0], O_RDWR | O_CLOEXEC);
	if (fd < 0)
		die_errno("cannot open %s", found.gl_pathv[0]);
	globfree(&found);
	return fd;
}

int vfio_open(void)
{
	int container = open("/dev/vfio/vfio", O_RDWR | O_CLOEXEC);
	int group = group_open();

	if (container < 0)
		die_errno("cannot open /dev/vfio/vfio");
	if (ioctl(group, VFIO_GROUP_SET_CONTAINER, &container) || ioctl(container, VFIO_SET_IOMMU, VFIO_TYPE1v2_IOMMU))
		die_errno("no IOMMU behind the group");
	/* The group stays open: with it the container's IOMMU would go. */
	return container;
}

int vfio_map(int container, void *address, size_t length, uint64_t iova)
{
	struct vfio_iommu_type1_dma_map map = {
		.argsz = sizeof(map),
		.flags = VFIO_DMA_MAP_FLAG_READ | VFIO_DMA_MAP_FLAG_WRITE,
		.vaddr = (uintptr_t)address,
		.iova = iova,
		.size = length,
	};

	return ioctl(container, VFIO_IOMMU_MAP_DMA, &map) ? errno : 0;
}
