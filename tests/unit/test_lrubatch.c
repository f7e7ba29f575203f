// SPDX-License-Identifier: BSD-2-Clause
#include "lrubatch.h"

#include <string.h>

#include "support.h"

static struct wire_look looks[4];

/* Pages 0x100 to 0x103, small, on their lists, in CMA and with nothing too much. */
static int setup(void **state)
{
	(void)state;
	memset(looks, 0, sizeof(looks));
	for (uint32_t i = 0; i < 4; i++)
		looks[i] = (struct wire_look){
			.pfn = 0x100 + i, .found = WIRE_LOOK_MEMORY, .flags = WIRE_LOOK_LRU, .same = i,
			.folio = { .pfn = 0x100 + i, .refcount = 1, .expected = 1, .flags = WIRE_FOLIO_CMA },
		};
	return 0;
}

static enum lrubatch_surplus weighed(uint32_t i, int64_t surplus)
{
	return lrubatch_weigh(&looks[i], &looks[i].folio, surplus);
}

static void listed(uint64_t *entries, uint32_t n)
{
	lrubatch_sort(entries, n);
	lrubatch_note(looks, 4, entries, n);
}

static void lists_matter_where_references_are_too_many(void **state)
{
	(void)state;
	assert_false(lrubatch_matters(looks, 4));
	looks[3].folio.refcount = 2;
	assert_true(lrubatch_matters(looks, 4));
	assert_false(lrubatch_matters(looks, 3));
	/* Not where it may stay, not of a large folio, not of another's description, not of a device. */
	looks[3].folio.flags = 0;
	assert_false(lrubatch_matters(looks, 4));
	looks[3].folio.flags = WIRE_FOLIO_MOVABLE_ZONE;
	assert_true(lrubatch_matters(looks, 4));
	looks[3].folio.order = 9;
	assert_false(lrubatch_matters(looks, 4));
	looks[3].folio.order = 0;
	looks[3].same = 2;
	assert_false(lrubatch_matters(looks, 4));
	looks[3].same = 3;
	looks[3].found = WIRE_LOOK_DEVICE;
	assert_false(lrubatch_matters(looks, 4));
}

static void entries_are_counted_by_folio(void **state)
{
	uint64_t entries[] = { 0x103 << 1, 0x500 << 1, 0x101 << 1 | 1, 0x103 << 1, 0, 0x102 << 1, 1 };

	(void)state;
	looks[2].same = 1;
	looks[2].folio.pfn = 0;
	listed(entries, 7);
	assert_int_equal(looks[0].batched, 0);
	assert_int_equal(looks[1].batched, 1);
	assert_int_equal(looks[2].batched, 1);
	assert_int_equal(looks[3].batched, 2);
	assert_int_equal(looks[0].flags, WIRE_LOOK_LRU | WIRE_LOOK_BATCHED_KNOWN);
	assert_true(looks[1].flags & WIRE_LOOK_BATCHED_NEW);
	assert_false(looks[3].flags & WIRE_LOOK_BATCHED_NEW);
}

static void the_more_of_two_lists_counts(void **state)
{
	uint64_t before[] = { 0x100 << 1, 0x101 << 1, 0x101 << 1 }, after[] = { 0x100 << 1, 0x102 << 1, 0x100 << 1 };

	(void)state;
	listed(before, 3);
	listed(after, 3);
	assert_int_equal(looks[0].batched, 2);
	assert_int_equal(looks[1].batched, 2);
	assert_int_equal(looks[2].batched, 1);
	listed(after, 0);
	assert_int_equal(looks[0].batched, 2);
}

static void a_surplus_on_the_list(void **state)
{
	uint64_t one[] = { 0x100 << 1 };

	(void)state;
	assert_int_equal(weighed(0, 0), LRUBATCH_NONE);
	assert_int_equal(weighed(0, -1), LRUBATCH_NONE);
	/* Unread, any number of references may be theirs, but none that are as many as pins. */
	assert_int_equal(weighed(0, 1), LRUBATCH_PERHAPS);
	assert_int_equal(weighed(0, 1023), LRUBATCH_PERHAPS);
	assert_int_equal(weighed(0, 1024), LRUBATCH_HELD);
	listed(one, 1);
	assert_int_equal(weighed(0, 1), LRUBATCH_EXPLAINED);
	assert_int_equal(weighed(0, 2), LRUBATCH_HELD);
	assert_int_equal(weighed(1, 1), LRUBATCH_HELD);
}

static void a_surplus_off_the_list(void **state)
{
	uint64_t entries[] = { 0x100 << 1 | 1, 0x101 << 1 };

	(void)state;
	looks[0].flags = looks[1].flags = looks[2].flags = 0;
	assert_int_equal(weighed(0, 1), LRUBATCH_EXPLAINED);
	assert_int_equal(weighed(0, 2), LRUBATCH_PERHAPS);
	listed(entries, 2);
	/* On its way to its first list: nobody can have taken it off one. */
	assert_int_equal(weighed(0, 1), LRUBATCH_EXPLAINED);
	assert_int_equal(weighed(0, 2), LRUBATCH_HELD);
	/* Taken off while a batch still refers to it. */
	assert_int_equal(weighed(1, 1), LRUBATCH_EXPLAINED);
	assert_int_equal(weighed(1, 2), LRUBATCH_TAKEN);
	assert_int_equal(weighed(1, 3), LRUBATCH_HELD);
	assert_int_equal(weighed(2, 1), LRUBATCH_TAKEN);
	assert_int_equal(weighed(2, 2), LRUBATCH_HELD);
}

static void large_folios_do_not_wait_in_batches(void **state)
{
	(void)state;
	looks[0].folio.order = 4;
	assert_int_equal(weighed(0, 1), LRUBATCH_HELD);
	looks[0].flags = 0;
	assert_int_equal(weighed(0, 1), LRUBATCH_TAKEN);
	assert_int_equal(weighed(0, 2), LRUBATCH_HELD);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(lists_matter_where_references_are_too_many, setup),
		cmocka_unit_test_setup(entries_are_counted_by_folio, setup),
		cmocka_unit_test_setup(the_more_of_two_lists_counts, setup),
		cmocka_unit_test_setup(a_surplus_on_the_list, setup),
		cmocka_unit_test_setup(a_surplus_off_the_list, setup),
		cmocka_unit_test_setup(large_folios_do_not_wait_in_batches, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
