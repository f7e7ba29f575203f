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
	assert_int_equal(s.folios.joined, joined);
	assert_int_equal(s.folios.superseded, superseded);
	assert_int_equal(s.folios.excess, excess);
	assert_int_equal(s.folios.orphaned, orphaned);
	assert_int_equal(s.folios.held, held);
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

static void send_holder(uint64_t span, uint64_t pin, uint64_t pfn)
{
	struct wire_holder h = {
		.hdr.span_id = span, .pfn = pfn, .gup_call = 1, .nstack = 1, .pin = { .id = pin, .pages = 1 },
	};

	join_holder(join, &h);
}

/* Of more pins than are kept of one registration it is told that there were more; of a third pin of one folio not. */
static void pins_beyond_those_kept(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < WIRE_HOLDERS_MAX + 3; i++)
		send_holder(1, 100 + i, i);
	send_holder(1, 101, 0);
	send_holder(1, 102, 0);
	finish_span(1, 1);
	assert_int_equal(out.holders.npins, WIRE_HOLDERS_MAX);
	assert_int_equal(out.holders.nholdings, WIRE_HOLDERS_MAX + 1);
	assert_int_equal(out.holders.put_aside, 3);
}

/* A call that pinned two folios may be one of several for the one and the only one for the other. */
static void calls_are_of_a_folio(void **state)
{
	struct wire_holder h = { .hdr.span_id = 1, .pfn = 1, .gup_call = 1, .pin = { .id = 100, .pages = 2, .calls = 1 } };

	(void)state;
	join_holder(join, &h);
	h.pfn = 2;
	h.pin.calls = 3;
	join_holder(join, &h);
	finish_span(1, 1);
	assert_int_equal(out.holders.npins, 1);
	assert_int_equal(out.holders.holdings[0].calls, 1);
	assert_int_equal(out.holders.holdings[1].calls, 3);
}

/* Many registrations with many folios at once: none of them is left without any, and what is put aside is counted. */
static void room_is_shared(void **state)
{
	uint64_t folios = 0, holders = 0, aside = 0;
	struct join_stats s;
	uint64_t span;

	(void)state;
	for (span = 1; span <= SPANS; span++) {
		for (uint32_t i = 0; i < WIRE_FOLIOS_MAX; i++) {
			send_folio(span, 1, i);
			send_holder(span, span * 100 + i % WIRE_HOLDERS_MAX, i);
		}
	}
	join_stats(join, &s);
	assert_int_equal(s.folios.held + s.folios.excess, SPANS * WIRE_FOLIOS_MAX);
	assert_int_equal(s.holders.held + s.holders.excess, SPANS * WIRE_FOLIOS_MAX);
	for (span = 1; span <= SPANS; span++) {
		finish_span(span, 1);
		/* The first has all. */
		assert_in_range(out.nfolios, span == 1 ? WIRE_FOLIOS_MAX : 1, WIRE_FOLIOS_MAX);
		assert_in_range(out.holders.npins, span == 1 ? WIRE_HOLDERS_MAX : 1, WIRE_HOLDERS_MAX);
		assert_int_equal(out.holders.nholdings + out.holders.put_aside, WIRE_FOLIOS_MAX);
		for (uint32_t i = 0; i < out.holders.nholdings; i++)
			assert_int_equal(out.holders.pins[out.holders.holdings[i].pin].pin.id,
					 span * 100 + out.holders.holdings[i].pfn % WIRE_HOLDERS_MAX);
		folios += out.nfolios;
		holders += out.holders.nholdings;
		aside += out.holders.put_aside;
	}
	assert_int_equal(folios, s.folios.held);
	assert_int_equal(holders, s.holders.held);
	assert_int_equal(aside, s.holders.excess);
	assert_true(s.folios.excess > 0 && aside > 0);
	/* And then there is room again. */
	for (uint32_t i = 0; i < WIRE_FOLIOS_MAX; i++)
		send_folio(9, 1, i);
	finish_span(9, 1);
	assert_int_equal(out.nfolios, WIRE_FOLIOS_MAX);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(two_registrations_interleaved), TEST(no_folios), TEST(the_oldest_gives_way),
		TEST(a_repeated_attempt_replaces_the_first), TEST(folios_of_an_earlier_attempt_are_dropped),
		TEST(more_than_can_be_described), TEST(pins_beyond_those_kept), TEST(calls_are_of_a_folio), TEST(room_is_shared),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
