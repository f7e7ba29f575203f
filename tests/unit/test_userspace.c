// SPDX-License-Identifier: BSD-2-Clause
/* libibverbs' fork protection: madvise before any registration. */
#include "verdicts.h"

#define HUGE (2ULL << 20)

static void as_many_mappings_as_allowed(void **state)
{
	const char *cause = "max_map_count_madvise";

	(void)state;
	prove_max_map_count_madvise(&in);
	proven(cause, DETAIL_map_count_reached);
	assert_non_null(strstr(d.verdict.summary, "no registration reached the kernel"));
	in.end.map_count = 65531;
	proven(cause, DETAIL_map_count_reached);
	in.end.map_count = 65529;
	unknown(cause, "65529 mappings of 65530");
	in.end.map_count = 65530;
	in.facts.err[FACT_max_map_count] = -EACCES;
	unknown(cause, NULL);
	in.facts.err[FACT_max_map_count] = 0;
	in.end.map_count = 0;
	unknown(cause, NULL);
	in.end.map_count = 65530;
	in.end.args.flags = 4;
	unknown(cause, NULL);
}

/* Up to 5.10 the errno is ENOMEM, as it is for a hole in the range. */
static void a_hole_in_the_range(void **state)
{
	const char *cause = "max_map_count_madvise";

	(void)state;
	prove_max_map_count_madvise(&in);
	in.end.chain[0].result = in.end.result = -ENOMEM;
	proven(cause, DETAIL_map_count_reached);
	in.end.vmas[0].end = RANGE + 256 * PAGE;
	proven(cause, DETAIL_map_count_reached);
	in.end.vmas[0].end = RANGE + 255 * PAGE;
	likely(cause, DETAIL_map_count_reached);
	assert_true(missing_says(&d.verdict, "mappings of the range"));
	in.end.nvmas = 2;
	in.end.vmas[1] = (struct wire_vma){ .start = RANGE + 255 * PAGE, .end = RANGE + 300 * PAGE };
	proven(cause, DETAIL_map_count_reached);
	in.end.vmas[1].start += PAGE;
	likely(cause, DETAIL_map_count_reached);
	in.end.vmas[1].start -= PAGE;
	in.end.have &= ~(uint32_t)WIRE_HAVE_VMAS_ALL;
	likely(cause, DETAIL_map_count_reached);
	in.end.have |= WIRE_HAVE_VMAS_ALL;
	in.end.length = UINT64_MAX;
	likely(cause, DETAIL_map_count_reached);
	in.end.map_count = 1000;
	unknown(cause, "1000 mappings");
}

static void inside_a_huge_page(void **state)
{
	const char *cause = "fork_hugepage_madvise_einval";

	(void)state;
	prove_fork_hugepage_madvise_einval(&in);
	proven(cause, DETAIL_huge_page_split);
	/* The end is inside, the start is not. */
	in.end.address = 16 * HUGE;
	in.end.length = HUGE + PAGE;
	proven(cause, DETAIL_huge_page_split);
	in.end.length = HUGE;
	unknown(cause, "lies inside a huge page");
	/* Rounded up to pages by the kernel. */
	in.end.length = HUGE - 1;
	unknown(cause, "lies inside a huge page");
	in.end.length = HUGE + 1;
	proven(cause, DETAIL_huge_page_split);
	in.end.length = HUGE;
	in.end.have &= ~(uint32_t)WIRE_HAVE_VMAS_ALL;
	unknown(cause, NULL);
	prove_fork_hugepage_madvise_einval(&in);
	in.end.vmas[0].flags = 3;
	unknown(cause, "lies inside a huge page");
	prove_fork_hugepage_madvise_einval(&in);
	in.end.address += 8;
	unknown(cause, NULL);
	in.end.address = UINT64_MAX - PAGE + 1;
	in.end.length = UINT64_MAX;
	unknown(cause, NULL);
}

/* The same errnos of a registration are no matter of fork protection. */
static void a_registration_is_none(void **state)
{
	(void)state;
	prove_rlimit_memlock_exceeded(&in);
	in.end.map_count = 65530;
	in.facts.max_map_count = 65530;
	in.facts.err[FACT_max_map_count] = 0;
	expect("rlimit_memlock_exceeded", CONFIDENCE_proven);
	assert_non_null(ruled_out(&d, "max_map_count_madvise"));
	prove_iova_offset_mismatch(&in);
	expect("iova_offset_mismatch", CONFIDENCE_proven);
	assert_non_null(ruled_out(&d, "fork_hugepage_madvise_einval"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(as_many_mappings_as_allowed), TEST(a_hole_in_the_range), TEST(inside_a_huge_page),
		TEST(a_registration_is_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
