// SPDX-License-Identifier: BSD-2-Clause
/* Cases of badreg: memory mapped for a device that user space drives. */
#include <errno.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "bad.h"
#include "common.h"
#include "vfio.h"

#define IOVA 0x10000000ul
#define ENTRY_LIMIT "/sys/module/vfio_iommu_type1/parameters/dma_entry_limit"

static void map(struct play *play, int container, char *memory, size_t length, uint64_t iova)
{
	bad_call(play, "vfio", memory, length, 0);
	play->truth->iova = iova;
	bad_outcome(play, vfio_map(container, memory, length, iova));
}

static void run_unmapped(struct play *play)
{
	char *memory = bad_memory(play->length);
	char *hole = memory + play->length - 2 * page_bytes();

	if (!play->control && munmap(hole, 2 * page_bytes()))
		die_errno("munmap");
	truth_num(play->truth, "hole_index", play->length / page_bytes() - 2);
	truth_hex(play->truth, "hole_address", (uintptr_t)hole);
	map(play, vfio_open(), memory, play->length, IOVA);
}

/* Opened before the user changes: the limit is what is looked for, not the rights to the device. */
static void run_limit(struct play *play)
{
	int container = vfio_open();
	char *memory = bad_memory(16 * MIB);

	bad_become_nobody(play);
	map(play, container, memory, 16 * MIB, IOVA);
}

static void entries_end(struct play *play)
{
	(void)play;
	bad_write(ENTRY_LIMIT, "65535");
}

/* Every map takes an entry, however small it is. The limit counts from the opening of the container. */
static void run_entries(struct play *play)
{
	const unsigned int entries = 16;
	char *memory = bad_memory(page_bytes()), text[16];
	int container;

	snprintf(text, sizeof(text), "%u", play->control ? 65535 : entries);
	bad_write(ENTRY_LIMIT, text);
	container = vfio_open();
	truth_num(play->truth, "entry_limit", entries);
	for (unsigned int n = 0; n <= entries && !play->truth->outcome.failed; n++)
		map(play, container, memory, page_bytes(), IOVA + n * page_bytes());
	play->end = entries_end;
}

static const struct bad bads[] = {
	BAD("vfio_unmapped", "memory with a hole, for VFIO", run_unmapped, .no_device = true),
	BAD("vfio_limit", "more than the memlock limit, for VFIO", run_limit, LIMITS(8 * MIB, 32 * MIB), .no_device = true),
	BAD("vfio_entries", "more maps than VFIO has entries for", run_entries, .no_device = true),
};
const struct bad_family bad_vfio = { bads, ARRAY_SIZE(bads) };
