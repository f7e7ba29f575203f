// SPDX-License-Identifier: BSD-2-Clause
/* The name of a device, as it was read in the kernel, counts only when there is a device of that name. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "loader_state.h"
#include "wire_step.h"

static bool is_there(const char *name)
{
	char path[sizeof("/sys/class/infiniband/") + WIRE_DEVICE_LEN];

	snprintf(path, sizeof(path), "/sys/class/infiniband/%.*s", WIRE_DEVICE_LEN, name);
	return *name && *name != '.' && !memchr(name, '/', strnlen(name, WIRE_DEVICE_LEN)) && access(path, F_OK) == 0;
}

/* What was read of something that is no device of ours. */
static void forget(struct wire_reg_end *end)
{
	end->have &= ~(WIRE_HAVE_DEVICE | WIRE_HAVE_CAPS);
	memset(end->device, 0, sizeof(end->device));
	memset(end->driver, 0, sizeof(end->driver));
	memset(&end->caps, 0, sizeof(end->caps));
	end->device_index = 0;
}

const void *loader_judge_device(const void *data, size_t size, union judged *copy)
{
	const struct wire_hdr *hdr = data;
	const struct wire_reg_end *end = data;
	const struct wire_step *step = data;
	bool is_end = (size == sizeof(copy->end) && hdr->kind == WIRE_REG_END) || (size == sizeof(copy->stale) && hdr->kind == WIRE_STALE);
	bool is_step = size == sizeof(copy->step) && hdr->kind == WIRE_STEP;

	if (is_end && (end->have & (WIRE_HAVE_DEVICE | WIRE_HAVE_CAPS)) && !is_there(end->device)) {
		memcpy(copy, data, size);
		forget(&copy->end); /* which a stale one begins with */
		return copy;
	}
	if (is_step && step->device[0] && !is_there(step->device)) {
		memcpy(copy, data, size);
		memset(copy->step.device, 0, sizeof(copy->step.device));
		return copy;
	}
	return data;
}
