// SPDX-License-Identifier: BSD-2-Clause
/* The kernel's sections as an array of exactly its size, so that the sanitizer sees what is read behind it. */
#include <stdlib.h>
#include <string.h>

#include "support.h"
#include "wire.h"

#ifndef __always_inline
#define __always_inline inline __attribute__((always_inline))
#endif
#define bpf_core_type_size(type) sizeof(type)

struct mem_section {
	unsigned long section_mem_map;
	void *usage;
};

static struct wire_cfg cfg;

static long bpf_probe_read_kernel(void *to, uint32_t size, const void *from)
{
	if (!from)
		return -1;
	memcpy(to, from, size);
	return 0;
}

#include "section.bpf.h"

#define PER_ROOT 4
#define ROOTS 2
#define SHIFT 15

static struct mem_section **roots, root[PER_ROOT];
static unsigned long last;

/* Two roots with places for eight sections; six are there. */
static int setup(void **state)
{
	(void)state;
	roots = calloc(ROOTS, sizeof(*roots));
	assert_non_null(roots);
	roots[1] = root;
	last = 5;
	cfg = (struct wire_cfg){
		.addr_mem_section = (uintptr_t)&roots, .addr_last_section = (uintptr_t)&last, .section_shift = SHIFT,
		.sections_per_root = PER_ROOT,
	};
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	free(roots);
	return 0;
}

static void a_section_is_found_by_its_number(void **state)
{
	(void)state;
	assert_ptr_equal(section_of_pfn(4ULL << SHIFT), &root[0]);
	assert_ptr_equal(section_of_pfn((6ULL << SHIFT) - 1), &root[1]);
	assert_null(section_of_pfn(0));
}

static void nothing_is_read_behind_the_last_one(void **state)
{
	(void)state;
	assert_null(section_of_pfn(6ULL << SHIFT));
	assert_null(section_of_pfn((ROOTS * PER_ROOT + 1ULL) << SHIFT));
	assert_null(section_of_pfn((1ULL << 40) - 1));
	assert_null(section_of_pfn(UINT64_MAX));
}

/* Where the end is not known nothing but the first section is looked for. */
static void without_an_end_there_are_none(void **state)
{
	(void)state;
	cfg.addr_last_section = 0;
	assert_null(section_of_pfn(4ULL << SHIFT));
}

/* What crash dumps are told: where the array is, and how many roots it has, whether or not they are there. */
static void the_array_itself_will_do(void **state)
{
	(void)state;
	cfg.addr_mem_section = cfg.addr_last_section = 0;
	assert_false(sections_known());
	cfg.section_roots = (uintptr_t)roots;
	cfg.last_section = ROOTS * PER_ROOT - 1;
	assert_true(sections_known());
	assert_ptr_equal(section_of_pfn(4ULL << SHIFT), &root[0]);
	assert_ptr_equal(section_of_pfn(7ULL << SHIFT), &root[3]);
	assert_null(section_of_pfn(0));
	assert_null(section_of_pfn((ROOTS * PER_ROOT + 0ULL) << SHIFT));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_section_is_found_by_its_number, setup, teardown),
		cmocka_unit_test_setup_teardown(nothing_is_read_behind_the_last_one, setup, teardown),
		cmocka_unit_test_setup_teardown(the_array_itself_will_do, setup, teardown),
		cmocka_unit_test_setup_teardown(without_an_end_there_are_none, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
