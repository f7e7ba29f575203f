// SPDX-License-Identifier: BSD-2-Clause
/* rlimit_memlock_exceeded and its nearest neighbours. The limit is 300 pages, 100 are pinned, 256 are asked for. */
#include "support.h"

#include <errno.h>
#include <string.h>

#define ID "rlimit_memlock_exceeded"

static struct identity id;
static struct incident in;
static struct diagnosis d;

static int setup(void **state)
{
	(void)state;
	id = test_identity();
	prove_rlimit_memlock_exceeded(&in);
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

static void tells_the_arithmetic(void **state)
{
	(void)state;
	expect(ID, CONFIDENCE_proven);
	assert_true(evidence_says(&d.verdict, "256 pages of 4096 bytes = 1048576 bytes"));
	assert_true(evidence_says(&d.verdict, "256 + 100 = 356 pages is more"));
	assert_string_equal(incident_stage(&in, &id), "limits");
}

static void one_page_decides(void **state)
{
	(void)state;
	in.end.pinned_before_pages = in.end.pinned_after_pages = 45;
	expect(ID, CONFIDENCE_proven);
	in.end.pinned_before_pages = in.end.pinned_after_pages = 44;
	expect_ruled_out("256 pages asked + 44 pinned = 300, within the limit of 300 pages");
	assert_string_equal(incident_stage(&in, &id), "umem");
}

/* The kernel rounds the limit down to pages, and the range up. */
static void rounding(void **state)
{
	(void)state;
	in.end.pinned_before_pages = in.end.pinned_after_pages = 44;
	in.end.memlock_soft_bytes = 301 * PAGE - 1;
	expect_ruled_out("300 pages");
	in.end.memlock_soft_bytes = 300 * PAGE - 1;
	expect(ID, CONFIDENCE_proven);
	in.end.memlock_soft_bytes = 300 * PAGE;
	in.end.address += 1;
	expect(ID, CONFIDENCE_proven);
	assert_true(evidence_says(&d.verdict, "257 pages"));
	in.end.address -= 1;
	in.end.length = 256 * PAGE - 1;
	expect_ruled_out("256 pages asked");
}

static void details(void **state)
{
	(void)state;
	expect(ID, CONFIDENCE_proven);
	assert_int_equal(d.verdict.detail, DETAIL_sum_over_limit);
	in.end.pinned_before_pages = in.end.pinned_after_pages = 301;
	expect(ID, CONFIDENCE_proven);
	assert_int_equal(d.verdict.detail, DETAIL_pinned_already_over_limit);
	in.end.memlock_soft_bytes = 255 * PAGE;
	expect(ID, CONFIDENCE_proven);
	assert_int_equal(d.verdict.detail, DETAIL_one_request_over_limit);
}

static void capability_and_unlimited(void **state)
{
	(void)state;
	/* Over the limit all the same: a security module may have denied the capability. */
	in.end.ipc_lock = 1;
	expect("unknown", CONFIDENCE_unknown);
	assert_null(ruled_out(&d, ID));
	in.end.chain[0].fn = WIRE_FN_DRIVER_RXE;
	expect_ruled_out("CAP_IPC_LOCK is effective");
	in.end.chain[0].fn = WIRE_FN_UMEM;
	in.end.ipc_lock = 0;
	in.end.memlock_soft_bytes = UINT64_MAX;
	expect_ruled_out("unlimited");
	in.end.memlock_soft_bytes = 300 * PAGE;
	expect(ID, CONFIDENCE_proven);
}

/* Zero is refused before, with EPERM: an ENOMEM then has another reason, or the limit has changed. */
static void limit_of_zero(void **state)
{
	(void)state;
	in.end.memlock_soft_bytes = 0;
	expect("unknown", CONFIDENCE_unknown);
	assert_null(ruled_out(&d, ID));
	in.end.memlock_soft_bytes = 100;
	expect(ID, CONFIDENCE_proven);
}

static void one_reading_over(void **state)
{
	(void)state;
	in.end.pinned_after_pages = 10;
	expect(ID, CONFIDENCE_likely);
	assert_true(evidence_says(&d.verdict, "changed between the two readings (100 and 10)"));
	in.end.pinned_after_pages = 100;
	in.end.pinned_before_pages = 10;
	expect(ID, CONFIDENCE_likely);
	in.end.pinned_after_pages = 10;
	expect_ruled_out("within the limit");
}

static void a_later_stage_was_reached(void **state)
{
	(void)state;
	in.end.gup_calls = 1;
	expect_ruled_out("the pin was reached");
	in.end.gup_calls = 0;
	in.end.stage = WIRE_STAGE_PIN;
	expect_ruled_out("stage 2");
	in.end.stage = WIRE_STAGE_UMEM;
	in.end.pin_fast_pages = 3;
	expect_ruled_out("3 pages had been pinned");
	in.end.pin_fast_pages = 0;
	expect(ID, CONFIDENCE_proven);
}

static void errnos(void **state)
{
	uint32_t i;

	(void)state;
	for (i = 0; i < in.end.nchain; i++)
		in.end.chain[i].result = -EINVAL;
	in.end.result = -EINVAL;
	expect_ruled_out("EINVAL");
	setup(state);
	/* The driver turned it into another one. */
	in.end.result = -EIO;
	expect(ID, CONFIDENCE_likely);
}

static void the_driver_failed_by_itself(void **state)
{
	(void)state;
	in.end.nchain = 0;
	add_chain(&in, WIRE_FN_DRIVER_RXE, -ENOMEM);
	add_chain(&in, WIRE_FN_UVERBS, -ENOMEM);
	expect("unknown", CONFIDENCE_unknown);
	assert_null(ruled_out(&d, ID));
}

static void unread_numbers(void **state)
{
	static const uint32_t bits[] = { WIRE_HAVE_UMEM, WIRE_HAVE_PINNED_VM, WIRE_HAVE_MEMLOCK };
	size_t i;

	(void)state;
	for (i = 0; i < 3; i++) {
		in.end.have &= ~bits[i];
		expect("unknown", CONFIDENCE_unknown);
		assert_null(ruled_out(&d, ID));
		in.end.have |= bits[i];
	}
}

static void unwatched_functions(void **state)
{
	(void)state;
	id.fn_watched[WIRE_FN_GUP_LONGTERM] = false;
	expect(ID, CONFIDENCE_likely);
	assert_true(missing_says(&d.verdict, "failure of the pin"));
	id.fn_watched[WIRE_FN_GUP_LONGTERM] = true;
	id.fn_watched[WIRE_FN_UMEM] = false;
	expect(ID, CONFIDENCE_likely);
}

/* Numbers that wrap must neither prove nor exclude anything by accident. */
static void hostile_numbers(void **state)
{
	(void)state;
	in.end.pinned_before_pages = in.end.pinned_after_pages = UINT64_MAX;
	expect(ID, CONFIDENCE_proven);
	in.end.length = UINT64_MAX - 5;
	expect("unknown", CONFIDENCE_unknown);
	in.end.address = UINT64_MAX - 100;
	in.end.length = 50;
	expect("unknown", CONFIDENCE_unknown);
}

#define TEST(name) cmocka_unit_test_setup(name, setup)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(tells_the_arithmetic), TEST(one_page_decides), TEST(rounding), TEST(details),
		TEST(capability_and_unlimited), TEST(limit_of_zero), TEST(one_reading_over),
		TEST(a_later_stage_was_reached), TEST(errnos), TEST(the_driver_failed_by_itself),
		TEST(unread_numbers), TEST(unwatched_functions), TEST(hostile_numbers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
