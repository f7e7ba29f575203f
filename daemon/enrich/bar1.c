// SPDX-License-Identifier: BSD-2-Clause
/*
 * How much of a GPU's BAR1, through which other devices reach its memory, is in use. Only NVML tells, and
 * a call of NVML may hang in the driver where no signal reaches it, or bring the process down: the child
 * that waiting.c starts makes it, as the last it does.
 */
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <unistd.h>

#include "enrich/enrich.h"
#include "enrich/nvml.h"

#define GPUS_MAX 64

/* The GPU with the least left: which one a registration meant is not known. */
static int ask_nvml(const char *library, struct nvml_bar1 *ret)
{
	void *lib = dlopen(library, RTLD_NOW | RTLD_LOCAL);
	nvml_init_fn init = lib ? (nvml_init_fn)dlsym(lib, "nvmlInit_v2") : NULL;
	nvml_count_fn count = lib ? (nvml_count_fn)dlsym(lib, "nvmlDeviceGetCount_v2") : NULL;
	nvml_handle_fn handle = lib ? (nvml_handle_fn)dlsym(lib, "nvmlDeviceGetHandleByIndex_v2") : NULL;
	nvml_bar1_fn bar1 = lib ? (nvml_bar1_fn)dlsym(lib, "nvmlDeviceGetBAR1MemoryInfo") : NULL;
	unsigned int n = 0, known = 0;
	struct nvml_bar1 one;
	nvml_device device;

	if (!lib)
		return -ENOENT;
	if (!init || !count || !handle || !bar1)
		return -ENOSYS;
	if (init() != NVML_SUCCESS || count(&n) != NVML_SUCCESS)
		return -EIO;
	for (unsigned int i = 0; i < n && i < GPUS_MAX; i++) {
		if (handle(i, &device) != NVML_SUCCESS || bar1(device, &one) != NVML_SUCCESS)
			continue;
		if (!known++ || one.free < ret->free)
			*ret = one;
	}
	return known ? 0 : FACT_NONE;
}

/* Is there a driver to ask? */
static bool has_driver(const struct enrich *e)
{
	char path[PATH_MAX];

	return snprintf(path, sizeof(path), "%s/proc/driver/nvidia/version", e->root) < (int)sizeof(path) &&
	       access(path, F_OK) == 0;
}

void enrich_bar1(const struct enrich *e, const struct facts_request *req, struct facts *f)
{
	struct nvml_bar1 bar1 = { 0 };
	int err;

	(void)req;
	if (!e->nvml)
		err = FACT_NOT_ASKED;
	else if (!has_driver(e))
		err = FACT_NONE;
	else
		err = ask_nvml(e->nvml, &bar1);
	f->bar1_total_bytes = bar1.total;
	f->bar1_used_bytes = bar1.used;
	f->bar1_free_bytes = bar1.free;
	ENRICH_FAIL(f, bar1_total_bytes, err);
	ENRICH_FAIL(f, bar1_used_bytes, err);
	ENRICH_FAIL(f, bar1_free_bytes, err);
}
