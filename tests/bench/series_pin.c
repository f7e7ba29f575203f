// SPDX-License-Identifier: BSD-2-Clause
/* First pins as NVIDIA's driver takes them, by its stand-in: the module nvidia and pinhold have to be loaded. */
#include <fcntl.h>
#include <sys/ioctl.h>

#include "../kmod/nvidia/nvidia_standin.h"
#include "common.h"
#include "../scenarios/memory.h"
#include "../scenarios/oracle.h"
#include "series.h"

static enum area area = AREA_NONE;
static struct region region;
static int nvidia;

void pin_area(const char *name)
{
	area = area_parse(name);
}

static void pin_setup(size_t buffer_bytes)
{
	struct shape shape = { .length = buffer_bytes };
	struct positions all;

	oracle_open();
	nvidia = open(NVIDIA_STANDIN_DEVICE, O_RDWR | O_CLOEXEC);
	if (nvidia < 0)
		die_errno("cannot open " NVIDIA_STANDIN_DEVICE);
	if (!region_find(&region, &shape, "all", area, &all))
		die("no %zu bytes of memory in area '%s'", buffer_bytes, area_name(area));
}

static void pin_times(size_t size, unsigned int times)
{
	for (unsigned int i = 0; i < times; i++) {
		struct nvidia_standin_lock lock = { .address = region.first_page, .pages = size / page_bytes(), .write = 1 };

		if (ioctl(nvidia, NVIDIA_STANDIN_LOCK, &lock) || lock.status)
			die_errno("the stand-in locked nothing (status 0x%x)", lock.status);
		if (ioctl(nvidia, NVIDIA_STANDIN_UNLOCK, &lock.id))
			die_errno("the stand-in unlocked nothing");
	}
}

const struct operation op_pin = { "pin", pin_setup, pin_times };
