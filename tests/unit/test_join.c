// SPDX-License-Identifier: BSD-2-Clause
#include "support.h"

#include <errno.h>
#include <string.h>

#include "join.h"

#define SPANS 4

static struct join *join;
static struct incident in, out;

static int setup(void **state)
{
	(void)state;
	build_failure(&in, ENOMEM);
	add_chain(&in, WIRE_FN_MIGRATE, 1);
	return join_new(&join, SPANS);
}

static int teardown(void **state)
{
	(void)state;
	join_free(join);
	return 0;
}

static void send_folio(uint64_t span, uint32_t attempt, uint64_t index)
{
	struct wire_folio f = in.folios[0];

	f.hdr.span_id = span;
	f.gup_call = attempt;
	f.index_pages = index;
	f.pfn = 0x1000 + index;
	f.have = WIRE_HAVE_ADDRESS;
	join_folio(join, &f);
}

static void finish_span(uint64_t span, uint32_t attempts)
{
	in.end.hdr.span_id = span;
	in.end.gup_calls = attempts;
	join_end(join, &in.end, &out);
}

static void expect_stats(uint64_t joined, uint64_t superseded, uint64_t excess, uint64_t orphaned, uint64_t held)
{
	struct join_stats s;

	join_stats(join, &s);
	assert_int_equal(s.joined, joined);
	assert_int_equal(s.superseded, superseded);
	assert_int_equal(s.excess, excess);
	assert_int_equal(s.orphaned, orphaned);
	assert_int_equal(s.held, held);
}

static void two_registrations_interleaved(void **state)
{
	(void)state;
	send_folio(1, 1, 9);
	send_folio(2, 1, 3);
	send_folio(1, 1, 4);
	finish_span(1, 1);
	assert_int_equal(out.nfolios, 2);
	/* By their place in the range, not by arrival. */
	assert_int_equal(out.folios[0].index_pages, 4);
	assert_int_equal(out.folios[1].index_pages, 9);
	expect_stats(2, 0, 0, 0, 1);
	finish_span(2, 1);
	assert_int_equal(out.nfolios, 1);
	expect_stats(3, 0, 0, 0, 0);
}

static void no_folios(void **state)
{
	(void)state;
	finish_span(9, 0);
	assert_int_equal(out.nfolios, 0);
	assert_int_equal(out.end.tgid, 4242);
}

static void the_oldest_gives_way(void **state)
{
	uint64_t span;

	(void)state;
	for (span = 1; span <= SPANS + 1; span++) {
		send_folio(span, 1, 0);
		send_folio(span, 1, 1);
	}
	expect_stats(0, 0, 0, 2, 2 * SPANS);
	finish_span(1, 1);
	assert_int_equal(out.nfolios, 0);
	finish_span(2, 1);
	assert_int_equal(out.nfolios, 2);
	join_finish(join);
	expect_stats(2, 0, 0, 2 + 2 * (SPANS - 1), 0);
}

static void a_repeated_attempt_replaces_the_first(void **state)
{
	(void)state;
	send_folio(1, 1, 5);
	send_folio(1, 1, 6);
	send_folio(1, 2, 7);
	finish_span(1, 2);
	assert_int_equal(out.nfolios, 1);
	assert_int_equal(out.folios[0].index_pages, 7);
	expect_stats(1, 2, 0, 0, 0);
}

/* The second attempt failed without a folio that stayed: those of the first are not its evidence. */
static void folios_of_an_earlier_attempt_are_dropped(void **state)
{
	(void)state;
	send_folio(1, 1, 5);
	finish_span(1, 2);
	assert_int_equal(out.nfolios, 0);
	expect_stats(0, 1, 0, 0, 0);
}

static void more_than_can_be_described(void **state)
{
	uint32_t i;

	(void)state;
	for (i = 0; i < WIRE_FOLIOS_MAX + 10; i++)
		send_folio(1, 1, i);
	finish_span(1, 1);
	assert_int_equal(out.nfolios, WIRE_FOLIOS_MAX);
	expect_stats(WIRE_FOLIOS_MAX, 0, 10, 0, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(two_registrations_interleaved), TEST(no_folios), TEST(the_oldest_gives_way),
		TEST(a_repeated_attempt_replaces_the_first), TEST(folios_of_an_earlier_attempt_are_dropped),
		TEST(more_than_can_be_described),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
