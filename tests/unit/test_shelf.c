// SPDX-License-Identifier: BSD-2-Clause
#include "support.h"

#include <stdio.h>
#include <string.h>

#include "shelf.h"

#define WAITING 4
#define LARGEST 2	/* so many of the largest have room */

static struct shelf *shelf;
static struct pending in, out;

static int setup(void **state)
{
	(void)state;
	memset(&in, 0, sizeof(in));
	memset(&out, 0xa5, sizeof(out));
	return shelf_new(&shelf, WAITING, LARGEST * SHELF_INCIDENT_MAX);
}

static int teardown(void **state)
{
	(void)state;
	shelf_free(shelf);
	return 0;
}

/* An incident all of whose bytes tell which one it is. */
static struct waiting *put(uint64_t id, uint32_t folios, uint32_t pins)
{
	memset(&in.in, (int)id, sizeof(in.in));
	in.in.end.nvmas = 0;
	in.in.nfolios = folios;
	in.in.holders.npins = pins;
	in.in.holders.nholdings = 0;
	in.in.hazard = in.in.stuck = in.in.stale = false;
	for (uint32_t i = 0; i < HOLDINGS_MAX && pins; i++)
		in.in.holders.holdings[in.in.holders.nholdings++] = (struct holding){ .pfn = id, .page = i, .pin = i % pins };
	memset(&in.in.facts, 0, sizeof(in.in.facts));
	memset(&in.in.folios[folios], 0, (WIRE_FOLIOS_MAX - folios) * sizeof(in.in.folios[0]));
	memset(&in.in.holders.pins[pins], 0, (WIRE_HOLDERS_MAX - pins) * sizeof(in.in.holders.pins[0]));
	memset(&in.in.holders.holdings[in.in.holders.nholdings], 0,
	       (HOLDINGS_MAX - in.in.holders.nholdings) * sizeof(in.in.holders.holdings[0]));
	snprintf(in.label.report_id, sizeof(in.label.report_id), "report %lu", (unsigned long)id);
	return shelf_put(shelf, &in, id);
}

static void take(uint64_t id, uint32_t folios, uint32_t pins)
{
	struct waiting *w = shelf_find(shelf, id);

	assert_non_null(w);
	shelf_take(shelf, w, &out);
	assert_null(shelf_find(shelf, id));
	/* What it was, made once more on another shelf. */
	struct shelf *ours = shelf;

	assert_int_equal(shelf_new(&shelf, 1, SHELF_INCIDENT_MAX), 0);
	put(id, folios, pins);
	shelf_free(shelf);
	shelf = ours;
	assert_memory_equal(&out.in, &in.in, sizeof(in.in));
	assert_string_equal(out.label.report_id, in.label.report_id);
}

static void each_comes_back_as_it_was(void **state)
{
	(void)state;
	assert_non_null(put(1, 0, 0));
	assert_non_null(put(2, WIRE_FOLIOS_MAX, 1));
	assert_non_null(put(3, 3, WIRE_HOLDERS_MAX));
	assert_non_null(put(4, 1, 0));
	take(2, WIRE_FOLIOS_MAX, 1);
	take(1, 0, 0);
	assert_non_null(put(5, 7, 7));
	take(4, 1, 0);
	take(5, 7, 7);
	take(3, 3, WIRE_HOLDERS_MAX);
}

static void full_of_the_largest(void **state)
{
	(void)state;
	for (uint64_t id = 1; id <= LARGEST; id++)
		assert_non_null(put(id, WIRE_FOLIOS_MAX, WIRE_HOLDERS_MAX));
	assert_null(put(LARGEST + 1, 0, 0));
	take(1, WIRE_FOLIOS_MAX, WIRE_HOLDERS_MAX);
	assert_non_null(put(LARGEST + 1, WIRE_FOLIOS_MAX, WIRE_HOLDERS_MAX));
	for (uint64_t id = 2; id <= LARGEST + 1; id++)
		take(id, WIRE_FOLIOS_MAX, WIRE_HOLDERS_MAX);
}

static void full_of_the_smallest(void **state)
{
	(void)state;
	for (uint64_t id = 1; id <= WAITING; id++)
		assert_non_null(put(id, 0, 0));
	assert_null(put(WAITING + 1, 0, 0));
}

static void whose_turn_it_is(void **state)
{
	struct waiting *first, *second;

	(void)state;
	assert_null(shelf_oldest(shelf));
	assert_null(shelf_in_turn(shelf));
	assert_true(shelf_deadline(shelf) == UINT64_MAX);
	first = put(1, 0, 0);
	second = put(2, 0, 0);
	assert_ptr_equal(shelf_in_turn(shelf), first);
	assert_ptr_equal(shelf_oldest(shelf), first);
	assert_null(shelf_overdue(shelf, 1000));
	first->deadline_ns = 100;
	/* An answer is out: nothing else is asked for, and what is not asked for gives way. */
	assert_null(shelf_in_turn(shelf));
	assert_ptr_equal(shelf_oldest(shelf), second);
	assert_int_equal(shelf_deadline(shelf), 100);
	assert_null(shelf_overdue(shelf, 99));
	assert_ptr_equal(shelf_overdue(shelf, 100), first);
	second->deadline_ns = 50;
	assert_ptr_equal(shelf_oldest(shelf), first);
	assert_int_equal(shelf_deadline(shelf), 50);
	/* At the end, all are. */
	assert_ptr_equal(shelf_overdue(shelf, UINT64_MAX), first);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(each_comes_back_as_it_was), TEST(full_of_the_largest), TEST(full_of_the_smallest), TEST(whose_turn_it_is),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
