// SPDX-License-Identifier: BSD-2-Clause
#include "geometry.h"

/* include/linux/mmzone.h, the same for every size of page. */
#define SUBSECTION_SHIFT 21

uint32_t geometry_log2(uint64_t v)
{
	return v ? 63 - (uint32_t)__builtin_clzll(v) : 0;
}

static uint32_t log2_ceil(uint64_t v)
{
	return v <= 1 ? 0 : geometry_log2(v - 1) + 1;
}

/* PTRS_PER_PTE as a power of two: a table of 64-bit entries fills one page. */
static uint32_t table_shift(uint32_t page_shift)
{
	return page_shift - 3;
}

uint32_t geometry_max_order(uint32_t page_shift)
{
	/* arch/arm64/Kconfig, ARCH_FORCE_MAX_ORDER: 10, 11 and 13 for 4, 16 and 64 KiB; include/linux/mmzone.h: 10. */
	return table_shift(page_shift) > 10 ? table_shift(page_shift) : 10;
}

/*
 * include/linux/pageblock-flags.h: min(HUGETLB_PAGE_ORDER, MAX_PAGE_ORDER), and both the default huge page and the transparent
 * one are what a PMD maps. A kernel built with a lower CONFIG_PAGE_BLOCK_MAX_ORDER (v6.17) says so in
 * /proc/pagetypeinfo alone, which walks every free list under the zone lock.
 */
static uint32_t pageblock_order(const struct geometry_facts *f)
{
	uint32_t order = f->pmd_bytes ? geometry_log2(f->pmd_bytes) - f->page_shift : table_shift(f->page_shift);

	return f->orders && order > f->orders - 1 ? f->orders - 1 : order;
}

bool geometry_fill(const struct geometry_facts *f, struct wire_cfg *cfg)
{
	cfg->page_shift = f->page_shift;
	/* Widths of the fields in page->flags: include/linux/page-flags-layout.h. */
	cfg->zones_shift = f->zones > 0 ? log2_ceil((uint64_t)f->zones) : 0;
	cfg->nodes_shift = f->zones > 0 && f->zonerefs ? log2_ceil((f->zonerefs - 1) / (uint32_t)f->zones) : 0;
	/* A section has one bit for each of its subsections. */
	cfg->section_shift = f->subsection_words ? SUBSECTION_SHIFT + geometry_log2(f->subsection_words * 64ULL) - f->page_shift : 0;
	cfg->sections_per_root = f->section_bytes > 0 ? (1U << f->page_shift) / (uint32_t)f->section_bytes : 1;
	cfg->pageblock_order = pageblock_order(f);
	cfg->pageblock_bits = 0;
	if (f->block_bits > 0)
		cfg->pageblock_bits = (uint32_t)f->block_bits;
	else if (f->block_bits_used > 0)
		cfg->pageblock_bits = 1U << log2_ceil((uint64_t)f->block_bits_used);
	return f->zones > 0 && f->zonerefs && cfg->section_shift && cfg->pageblock_bits;
}
