// SPDX-License-Identifier: BSD-2-Clause
/* Shifts and sizes of kernels with pages of 4, 16 and 64 KiB, as their sources have them. */
#include "support.h"

#include "geometry.h"

#define KIB 1024ull
#define MIB (1024 * KIB)

struct row {
	const char *name;
	struct geometry_facts facts;
	bool known;
	uint32_t section, per_root, order, bits, nodes, zones;
};

static const struct row rows[] = {
	/* x86_64 of Debian: NODES_SHIFT 10, five zones, SECTION_SIZE_BITS 27, struct mem_section with page_ext. */
	{ "x86_64, 6.1", { 12, 5, 5121, 1, 32, 2 * MIB, 11, 4, -1 }, true, 15, 128, 9, 4, 10, 3 },
	{ "x86_64, 7.3", { 12, 5, 5121, 1, 32, 2 * MIB, 11, -1, 5 }, true, 15, 128, 9, 8, 10, 3 },
	/* Without transparent huge pages: what a PMD maps follows from the size of a table. */
	{ "x86_64 without THP", { 12, 5, 5121, 1, 32, 0, 11, 4, -1 }, true, 15, 128, 9, 4, 10, 3 },
	/* One node and four zones, no page_ext. */
	{ "no NUMA", { 12, 4, 5, 1, 16, 2 * MIB, 11, 4, -1 }, true, 15, 256, 9, 4, 0, 2 },
	{ "two zones", { 12, 2, 3, 1, 16, 2 * MIB, 11, 4, -1 }, true, 15, 256, 9, 4, 0, 1 },
	/* arch/arm64: NODES_SHIFT 4; SECTION_SIZE_BITS 27 with 4 and 16 KiB, 29 with 64 KiB, 30 until v5.11. */
	{ "arm64, 4 KiB", { 12, 5, 81, 1, 32, 2 * MIB, 11, 4, -1 }, true, 15, 128, 9, 4, 4, 3 },
	{ "arm64, 4 KiB, 5.10", { 12, 5, 81, 8, 32, 2 * MIB, 11, 4, -1 }, true, 18, 128, 9, 4, 4, 3 },
	{ "arm64, 16 KiB", { 14, 5, 81, 1, 32, 32 * MIB, 12, 4, -1 }, true, 13, 512, 11, 4, 4, 3 },
	{ "arm64, 16 KiB, without THP", { 14, 5, 81, 1, 32, 0, 12, -1, 5 }, true, 13, 512, 11, 8, 4, 3 },
	/* A section is one pageblock there. */
	{ "arm64, 64 KiB", { 16, 5, 81, 4, 32, 512 * MIB, 14, 4, -1 }, true, 13, 2048, 13, 4, 4, 3 },
	{ "arm64, 64 KiB, without THP", { 16, 5, 81, 4, 16, 0, 14, -1, 5 }, true, 13, 4096, 13, 8, 4, 3 },
	/* The buddy allocator's largest block is smaller than a huge page. */
	{ "arm64, 64 KiB, lower MAX_PAGE_ORDER", { 16, 5, 81, 4, 32, 512 * MIB, 11, 4, -1 }, true, 13, 2048, 10, 4, 4, 3 },
	{ "no pageblock bits", { 12, 5, 5121, 1, 32, 2 * MIB, 11, -1, -1 }, false, 15, 128, 9, 0, 10, 3 },
	{ "no sections", { 12, 5, 5121, 0, 32, 2 * MIB, 11, 4, -1 }, false, 0, 128, 9, 4, 10, 3 },
	{ "no zones", { 12, -1, 5121, 1, 32, 2 * MIB, 11, 4, -1 }, false, 15, 128, 9, 4, 0, 0 },
	{ "no nodes", { 12, 5, 0, 1, 32, 2 * MIB, 11, 4, -1 }, false, 15, 128, 9, 4, 0, 3 },
};

static void kernels(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct row *r = &rows[i];
		struct wire_cfg cfg = { 0 };

		print_message("%s\n", r->name);
		assert_int_equal(geometry_fill(&r->facts, &cfg), r->known);
		assert_int_equal(cfg.page_shift, r->facts.page_shift);
		assert_int_equal(cfg.section_shift, r->section);
		assert_int_equal(cfg.sections_per_root, r->per_root);
		assert_int_equal(cfg.pageblock_order, r->order);
		assert_int_equal(cfg.pageblock_bits, r->bits);
		assert_int_equal(cfg.nodes_shift, r->nodes);
		assert_int_equal(cfg.zones_shift, r->zones);
	}
}

static void largest_orders(void **state)
{
	(void)state;
	assert_int_equal(geometry_max_order(12), 10);
	assert_int_equal(geometry_max_order(14), 11);
	assert_int_equal(geometry_max_order(16), 13);
}

static void logarithms(void **state)
{
	(void)state;
	assert_int_equal(geometry_log2(0), 0);
	assert_int_equal(geometry_log2(1), 0);
	assert_int_equal(geometry_log2(4095), 11);
	assert_int_equal(geometry_log2(65536), 16);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(kernels),
		cmocka_unit_test(largest_orders),
		cmocka_unit_test(logarithms),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
