/* SPDX-License-Identifier: BSD-2-Clause */
/* A VFIO container over the first PCI device that is bound to vfio-pci, and maps of memory in it. */
#ifndef SCENARIO_VFIO_H
#define SCENARIO_VFIO_H

#include <stddef.h>
#include <stdint.h>

int vfio_open(void);	/* a container with a type 1 IOMMU; dies when it cannot */
int vfio_map(int container, void *address, size_t length, uint64_t iova);	/* 0 or the errno */

#endif
