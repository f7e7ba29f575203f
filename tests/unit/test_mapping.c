// SPDX-License-Identifier: BSD-2-Clause
/* address_not_mapped and its nearest neighbours. */
#include "support.h"

#include <errno.h>
#include <string.h>

#define ID "address_not_mapped"

static struct identity id;
static struct incident in;
static struct diagnosis d;

static int setup(void **state)
{
	(void)state;
	id = test_identity();
	prove_address_not_mapped(&in);
	return 0;
}

static void expect(const char *cause, enum confidence confidence)
{
	diagnose(&in, &id, &d);
	assert_string_equal(verdict_cause(&d), cause);
	assert_int_equal(d.confidence, confidence);
}

static void expect_ruled_out(const char *number)
{
	expect("unknown", CONFIDENCE_unknown);
	assert_non_null(ruled_out(&d, ID));
	if (!strstr(ruled_out(&d, ID), number))
		fail_msg("no \"%s\" in \"%s\"", number, ruled_out(&d, ID));
}

static void names_the_address(void **state)
{
	(void)state;
	expect(ID, CONFIDENCE_proven);
	assert_int_equal(d.verdict.detail, DETAIL_hole_inside);
	assert_non_null(strstr(d.verdict.summary, "0x7f0000026000, page 37 of 256"));
	assert_true(evidence_says(&d.verdict, "below: 0x7f0000000000-0x7f0000026000 rw-p"));
	in.end.gup_start = RANGE;
	in.end.vmas[0].end = RANGE;
	expect(ID, CONFIDENCE_proven);
	assert_int_equal(d.verdict.detail, DETAIL_hole_at_start);
}

/* The mmap lock was busy at the failure; a hole that is there later may have come in between. */
static void a_hole_seen_later_is_no_proof(void **state)
{
	(void)state;
	in.end.fault_vma_state = WIRE_FAULT_VMA_HOLE_LATER;
	in.end.have &= ~WIRE_HAVE_FAULT_VMA;
	expect(ID, CONFIDENCE_likely);
	in.end.fault_vma_state = WIRE_FAULT_VMA_UNKNOWN;
	expect("unknown", CONFIDENCE_unknown);
}

static void neighbour_above(void **state)
{
	(void)state;
	in.end.vmas[1] = (struct wire_vma){ .start = RANGE + 100 * PAGE, .end = RANGE + 256 * PAGE, .flags = 0x9 };
	in.end.nvmas = 2;
	expect(ID, CONFIDENCE_proven);
	assert_true(evidence_says(&d.verdict, "above: 0x7f0000065000-0x7f0000101000 r--s"));
}

static void a_mapping_excludes_it(void **state)
{
	(void)state;
	in.end.fault_vma_state = WIRE_FAULT_VMA_COVERED;
	in.end.fault_vma = (struct wire_vma){ .start = RANGE, .end = RANGE + 256 * PAGE, .flags = 0x9b };
	expect_ruled_out("0x7f0000001000-0x7f0000101000 rw-s");
	/* A mapping of some other place excludes nothing, and proves nothing. */
	in.end.fault_vma.end = RANGE + 37 * PAGE;
	expect("unknown", CONFIDENCE_unknown);
	assert_null(ruled_out(&d, ID));
}

static void no_answer_is_no_hole(void **state)
{
	(void)state;
	in.end.fault_vma_state = WIRE_FAULT_VMA_UNKNOWN;
	expect("unknown", CONFIDENCE_unknown);
	assert_true(missing_says(&d.verdict, "mapping at the failing address"));
	in.end.fault_vma_state = WIRE_FAULT_VMA_HOLE;
	in.end.have &= ~WIRE_HAVE_FAULT_VMA;
	expect("unknown", CONFIDENCE_unknown);
}

static void a_vma_of_the_range_contradicts(void **state)
{
	(void)state;
	in.end.vmas[0].end = RANGE + 38 * PAGE;
	expect("unknown", CONFIDENCE_unknown);
	in.end.vmas[0].end = RANGE + 37 * PAGE;
	expect(ID, CONFIDENCE_proven);
}

static void outside_of_the_range(void **state)
{
	(void)state;
	in.end.vmas[0].end = RANGE;
	in.end.gup_start = RANGE + 256 * PAGE;
	expect("unknown", CONFIDENCE_unknown);
	in.end.gup_start = RANGE + 255 * PAGE;
	expect(ID, CONFIDENCE_proven);
	in.end.gup_start = RANGE - PAGE;
	in.end.vmas[0].start = RANGE;
	expect("unknown", CONFIDENCE_unknown);
}

static void errnos(void **state)
{
	(void)state;
	in.end.chain[0].result = in.end.gup_result = -ENOMEM;
	expect_ruled_out("ENOMEM");
	setup(state);
	in.end.chain[0].result = in.end.gup_result = -EOPNOTSUPP;
	expect_ruled_out("EOPNOTSUPP");
	setup(state);
	in.end.gup_result = 5;
	expect("unknown", CONFIDENCE_unknown);
	setup(state);
	in.end.result = -EINVAL;
	expect(ID, CONFIDENCE_likely);
}

/* EFAULT of the driver, after the memory was pinned. */
static void pinned_in_the_end(void **state)
{
	(void)state;
	in.end.stage = WIRE_STAGE_PINNED;
	expect_ruled_out("driver or its firmware");
}

static void efault_without_a_pin(void **state)
{
	(void)state;
	build_failure(&in, EFAULT);
	add_chain(&in, WIRE_FN_UMEM, -EFAULT);
	expect("unknown", CONFIDENCE_unknown);
	assert_null(ruled_out(&d, ID));
}

#define TEST(name) cmocka_unit_test_setup(name, setup)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(names_the_address), TEST(a_hole_seen_later_is_no_proof), TEST(neighbour_above), TEST(a_mapping_excludes_it),
		TEST(no_answer_is_no_hole), TEST(a_vma_of_the_range_contradicts), TEST(outside_of_the_range),
		TEST(errnos), TEST(pinned_in_the_end), TEST(efault_without_a_pin),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
