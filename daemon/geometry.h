/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Shifts and sizes of the running kernel's memory model, from what its BTF and sysfs say: none is the same with pages
 * of 4, 16 and 64 KiB. Pure.
 */
#ifndef PINWHY_GEOMETRY_H
#define PINWHY_GEOMETRY_H

#include <stdbool.h>
#include <stdint.h>

#include "wire.h"

/* What is not there is 0, or negative where 0 would be a value. */
struct geometry_facts {
	uint32_t page_shift;
	int64_t zones;		/* __MAX_NR_ZONES of enum zone_type */
	uint32_t zonerefs;	/* elements of zonelist._zonerefs: one per zone of each node, and one more (include/linux/mmzone.h) */
	uint32_t subsection_words;	/* of mem_section_usage.subsection_map, each of 64 bits */
	int64_t section_bytes;	/* sizeof(struct mem_section) */
	uint64_t pmd_bytes;	/* of the transparent huge page that one PMD maps */
	uint32_t orders;	/* elements of zone.free_area: MAX_ORDER until v6.3, then MAX_PAGE_ORDER + 1 */
	int64_t block_bits;	/* NR_PAGEBLOCK_BITS of enum pageblock_bits, a power of two */
	int64_t block_bits_used;	/* __NR_PAGEBLOCK_BITS, v6.18 and newer, rounded up there */
};

/*
 * Fills page_shift, section_shift, sections_per_root, pageblock_order, pageblock_bits, nodes_shift and zones_shift. False: the facts
 * do not tell where a page's pageblock and zone are; nothing may then be read by them.
 */
bool geometry_fill(const struct geometry_facts *f, struct wire_cfg *cfg);

uint32_t geometry_log2(uint64_t v);	/* floor; 0 for 0 */

/* The largest order that the buddy allocator gives, as kernels have it by default (MAX_PAGE_ORDER). */
uint32_t geometry_max_order(uint32_t page_shift);

#endif
