// SPDX-License-Identifier: BSD-2-Clause
/*
 * A stand-in for NVIDIA's libnvidia-ml.so.1, with the few functions that pinwhy calls. It shows how
 * pinwhy takes what comes from them, and nothing of what NVML does. NVML_STAND_IN says how it behaves.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "enrich/nvml.h"

int nvmlInit_v2(void);
int nvmlDeviceGetCount_v2(unsigned int *count);
int nvmlDeviceGetHandleByIndex_v2(unsigned int index, nvml_device *device);
int nvmlDeviceGetBAR1MemoryInfo(nvml_device device, struct nvml_bar1 *memory);

static int behaves(const char *how)
{
	const char *set = getenv("NVML_STAND_IN");

	return set && strcmp(set, how) == 0;
}

int nvmlInit_v2(void)
{
	while (behaves("hang"))
		pause();
	if (behaves("crash"))
		abort();
	if (behaves("exit"))
		_exit(0);
	return behaves("fail") ? 9 : NVML_SUCCESS;
}

int nvmlDeviceGetCount_v2(unsigned int *count)
{
	*count = behaves("many") ? 1000000 : behaves("none") ? 0 : 3;
	return NVML_SUCCESS;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned int index, nvml_device *device)
{
	static char places[3];

	*device = (nvml_device)(void *)&places[index % 3];
	return index == 2 ? 3 : NVML_SUCCESS;
}

int nvmlDeviceGetBAR1MemoryInfo(nvml_device device, struct nvml_bar1 *memory)
{
	static nvml_device first;

	first = first ? first : device;
	*memory = device == first ? (struct nvml_bar1){ 268435456, 200000000, 68435456 } :
		  (struct nvml_bar1){ 268435456, 1048576, 267386880 };
	return NVML_SUCCESS;
}
