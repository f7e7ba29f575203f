/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What is used of NVML, declared here after NVIDIA's documentation of nvmlDeviceGetBAR1MemoryInfo(): the
 * library is loaded at run time and need not be there.
 */
#ifndef PINWHY_ENRICH_NVML_H
#define PINWHY_ENRICH_NVML_H

#define NVML_SUCCESS 0

typedef struct nvmlDevice_st *nvml_device;

struct nvml_bar1 {
	unsigned long long total, free, used;	/* bytes */
};

typedef int (*nvml_init_fn)(void);
typedef int (*nvml_count_fn)(unsigned int *count);
typedef int (*nvml_handle_fn)(unsigned int index, nvml_device *device);
typedef int (*nvml_bar1_fn)(nvml_device device, struct nvml_bar1 *memory);

#endif
