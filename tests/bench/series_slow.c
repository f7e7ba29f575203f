// SPDX-License-Identifier: BSD-2-Clause
/* Pins without FOLL_LONGTERM on GUP's slow path: by a module (pinhold), and by the kernel's own code, for direct I/O. */
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common.h"
#include "../scenarios/oracle.h"
#include "series.h"

static char *memory;
static int device;

static void slow_setup(size_t buffer_bytes)
{
	oracle_open();
	device = open("/dev/nullb0", O_RDONLY | O_DIRECT | O_CLOEXEC);
	if (device < 0)
		die_errno("cannot open /dev/nullb0");
	memory = mmap(NULL, buffer_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (memory == MAP_FAILED || !keep_small(memory, buffer_bytes))
		die_errno("cannot map a buffer of %zu bytes", buffer_bytes);
}

static void module_times(size_t size, unsigned int times)
{
	for (unsigned int i = 0; i < times; i++)
		hold_give(hold_take((uintptr_t)memory, size, PINHOLD_WRITE | PINHOLD_SLOW));
}

/* Into memory that is not there any more. */
static void direct_times(size_t size, unsigned int times)
{
	for (unsigned int i = 0; i < times; i++) {
		if (madvise(memory, size, MADV_DONTNEED))
			die_errno("MADV_DONTNEED");
		if (pread(device, memory, size, 0) != (ssize_t)size)
			die_errno("cannot read %zu bytes", size);
	}
}

const struct operation op_module = { "module", slow_setup, module_times };
const struct operation op_direct = { "direct", slow_setup, direct_times };
