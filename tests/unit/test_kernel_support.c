// SPDX-License-Identifier: BSD-2-Clause
/* What follows from what a kernel has, and that nothing is blamed on a place where no page ever has to move. */
#include "kernel_support.h"
#include "verdicts.h"

static const struct support *row(const struct kernel_facts *f, const char *name)
{
	static struct support rows[SUPPORTS];

	kernel_support(f, rows);
	for (size_t i = 0; i < SUPPORTS; i++)
		if (strcmp(rows[i].id, name) == 0)
			return &rows[i];
	fail_msg("no row %s", name);
	return NULL;
}

static void pins_stay_only_when_nothing_moves_them(void **state)
{
	static const enum answer answers[] = { ANSWER_NO, ANSWER_YES, ANSWER_UNKNOWN };

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		for (size_t k = 0; k < 3; k++) {
			struct kernel_facts f = { ANSWER_YES, ANSWER_YES, answers[i], answers[k] };
			bool either = f.cma == ANSWER_YES || f.movable_rule == ANSWER_YES, stay = i == 0 && k == 0;

			assert_int_equal(kernel_pins_stay(&f), stay);
			assert_string_equal(answer_name(row(&f, "pins_move")->answer), either ? "yes" : stay ? "no" : "unknown");
			assert_int_equal(row(&f, "pins_move")->consequence[0] != '\0', stay);
		}
	}
}

static void each_row_answers_its_own_question(void **state)
{
	const struct kernel_facts none = { ANSWER_NO, ANSWER_NO, ANSWER_NO, ANSWER_NO };
	const struct kernel_facts all = { ANSWER_YES, ANSWER_YES, ANSWER_YES, ANSWER_YES };
	struct kernel_facts f;

	(void)state;
	assert_non_null(strstr(row(&none, "bpf_loop")->consequence, "pinwhy trace"));
	assert_non_null(strstr(row(&none, "module_btf")->consequence, "unknown"));
	for (size_t i = 0; i < SUPPORTS; i++) {
		struct support rows[SUPPORTS];

		kernel_support(&all, rows);
		assert_int_equal(rows[i].answer, ANSWER_YES);
		assert_string_equal(rows[i].consequence, "");
		assert_true(rows[i].question[0] && rows[i].how[0]);
	}
	f = all;
	f.loops = ANSWER_NO;
	assert_int_equal(row(&f, "bpf_loop")->answer, ANSWER_NO);
	assert_int_equal(row(&f, "module_btf")->answer, ANSWER_YES);
	f = all;
	f.module_btf = ANSWER_UNKNOWN;
	assert_int_equal(row(&f, "module_btf")->answer, ANSWER_UNKNOWN);
	f = none;
	f.movable_rule = ANSWER_YES;
	assert_int_equal(row(&f, "cma")->answer, ANSWER_NO);
	assert_int_equal(row(&f, "movable_rule")->answer, ANSWER_YES);
}

/* A pin that failed with nothing seen of a migration, since none is hooked. */
static void pin_alone(int err)
{
	build_failure(&in, err);
	fail_pin(&in, err);
	fail_upwards(&in, err);
	id.fn_watched[WIRE_FN_MIGRATE] = id.fn_watched[WIRE_FN_MIGRATE_TARGET] = false;
	id.putback_watched = id.target_watched = false;
}

static void place_is_ruled_out(void **state)
{
	static const char *const of_placement[] = {
		"longterm_migrate_blocked_by_ref", "longterm_migrate_blocked_by_batch_ref", "longterm_pin_race_two_pinners",
		"hugetlb_in_cma_no_target", "longterm_migrate_no_target",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(of_placement) / sizeof(of_placement[0]); i++) {
		pin_alone(ENOMEM);
		id.pins_stay = false;
		diagnose(&in, &id, &d);
		assert_null(ruled_out(&d, of_placement[i]));
		id.pins_stay = true;
		diagnose(&in, &id, &d);
		expect_ruled_out(of_placement[i], "moves 0 pages for a long-term pin");
	}
	expect_ruled_out("hugetlb_place_refused", "moves 0 pages");
	pin_alone(EBUSY);
	id.pins_stay = false;
	likely("device_coherent_unmigratable", DETAIL_device_coherent);
	id.pins_stay = true;
	unknown("device_coherent_unmigratable", "moves 0 pages");
}

static void rounds_are_ruled_out(void **state)
{
	(void)state;
	prove_longterm_isolate_livelock(&in);
	in.end.collects = 0;
	in.sighting = (struct sighting){ .verified = SIGHTING_SPINS };
	id.fn_watched[WIRE_FN_COLLECT] = false;
	likely("longterm_isolate_livelock", DETAIL_not_isolated);
	id.pins_stay = true;
	unknown("longterm_isolate_livelock", "moves 0 pages");
}

/* What was seen speaks against what the kernel was found to be. */
static void a_migration_that_was_seen_counts(void **state)
{
	(void)state;
	prove_longterm_migrate_blocked_by_ref(&in);
	id.pins_stay = true;
	expect("longterm_migrate_blocked_by_ref", CONFIDENCE_proven);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(pins_stay_only_when_nothing_moves_them), TEST(each_row_answers_its_own_question), TEST(place_is_ruled_out),
		TEST(rounds_are_ruled_out), TEST(a_migration_that_was_seen_counts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
