// SPDX-License-Identifier: BSD-2-Clause
#include "support.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static struct bench bench;
static struct incident in;

static int setup(void **state)
{
	struct pipeline_settings settings = test_settings();

	(void)state;
	settings.storm_signatures = 2;
	bench_open(&bench, &settings);
	prove_rlimit_memlock_exceeded(&in);
	return 0;
}

/* The same as the daemon's defaults, with tables that a test can fill. */
static void reopen(uint32_t signatures, uint32_t cgroup_reports, uint32_t cgroups)
{
	struct pipeline_settings settings = test_settings();

	settings.storm_burst = 1;
	settings.storm_signatures = signatures;
	settings.storm_cgroup_reports = cgroup_reports;
	settings.storm_cgroups = cgroups;
	bench_close(&bench);
	bench_open(&bench, &settings);
}

static int teardown(void **state)
{
	(void)state;
	bench_close(&bench);
	return 0;
}

/* One failure, now, answered at once. */
static void failure(uint32_t tgid)
{
	uint32_t asks = bench.nasks;

	in.end.tgid = tgid;
	in.end.hdr.span_id++;
	for (uint32_t i = 0; i < in.nfolios; i++)
		in.folios[i].hdr.span_id = in.end.hdr.span_id;
	in.end.hdr.time_ns = bench.mono_ns - 1000;
	bench_incident(&bench, &in);
	if (bench.nasks > asks)
		bench_facts(&bench);
}

static struct json_object *last(void)
{
	assert_true(bench.nreports > 0);
	return bench.reports[bench.nreports - 1];
}

static void repeats_are_folded(void **state)
{
	const char *first;
	int i;

	(void)state;
	for (i = 0; i < 10; i++) {
		failure(1);
		bench.mono_ns += NS_PER_S;
	}
	assert_int_equal(bench.nreports, 3);
	/* A storm does not reach the helper. */
	assert_int_equal(bench.nasks, 3);
	first = jstr(bench.reports[0], "report_id");
	bench.mono_ns = pipeline_next(bench.pipeline);
	pipeline_tick(bench.pipeline, test_clock(bench.mono_ns));
	assert_int_equal(bench.nreports, 4);
	assert_string_equal(jstr(last(), "kind"), "storm_summary");
	assert_string_equal(jstr(last(), "related.first_report_id"), first);
	assert_int_equal(jint(last(), "related.count"), 10);
	assert_int_equal(jint(last(), "related.suppressed"), 7);
	assert_string_equal(jstr(last(), "related.first"), jstr(bench.reports[0], "time"));
	assert_string_equal(jstr(last(), "related.last"), jstr(last(), "time"));
	assert_string_equal(jstr(last(), "verdict.cause"), "rlimit_memlock_exceeded");
	assert_int_equal(pipeline_next(bench.pipeline), 0);
}

static void a_window_without_repeats_says_nothing(void **state)
{
	(void)state;
	failure(1);
	bench.mono_ns += 61 * NS_PER_S;
	pipeline_tick(bench.pipeline, test_clock(bench.mono_ns));
	assert_int_equal(bench.nreports, 1);
	/* The next failure opens a window of its own and is told in full. */
	failure(1);
	assert_int_equal(bench.nreports, 2);
}

static void others_are_not_folded_into_it(void **state)
{
	int i;

	(void)state;
	for (i = 0; i < 5; i++)
		failure(1);
	assert_int_equal(bench.nreports, 3);
	failure(2);
	assert_int_equal(bench.nreports, 4);
	/* The same process and errno, another cause: the older window gives way to it. */
	in.end.memlock_soft_bytes = UINT64_MAX;
	failure(1);
	assert_int_equal(bench.nreports, 6);
	assert_string_equal(jstr(last(), "verdict.cause"), "kernel_metadata_alloc_failed");
	assert_string_equal(jstr(last(), "kind"), "registration_failed");
}

static void an_evicted_window_is_summed_up(void **state)
{
	int i;

	(void)state;
	for (i = 0; i < 5; i++)
		failure(1);
	failure(2);
	assert_int_equal(bench.nreports, 4);
	failure(3);
	assert_int_equal(bench.nreports, 6);
	assert_string_equal(jstr(bench.reports[4], "kind"), "storm_summary");
	assert_int_equal(jint(bench.reports[4], "related.suppressed"), 2);
	assert_int_equal(jint(bench.reports[4], "process.pid"), 1);
}

static void finish_sums_up(void **state)
{
	int i;

	(void)state;
	for (i = 0; i < 5; i++)
		failure(1);
	pipeline_finish(bench.pipeline, test_clock(bench.mono_ns));
	assert_string_equal(jstr(last(), "kind"), "storm_summary");
	assert_int_equal(jint(last(), "related.suppressed"), 2);
}

/* Zero would mean "report nothing" and "follow nothing": it is taken as one. */
static void settings_of_zero(void **state)
{
	struct pipeline_settings settings = { 0 };
	int i;

	(void)state;
	bench_close(&bench);
	bench_open(&bench, &settings);
	for (i = 0; i < 3; i++)
		failure(1);
	assert_int_equal(jint(bench.reports[0], "process.pid"), 1);
	pipeline_finish(bench.pipeline, test_clock(bench.mono_ns));
}

/* --- cgroups -------------------------------------------------------------------- */

static void failure_in(uint64_t cgroup, uint32_t tgid)
{
	char path[32] = "";

	snprintf(path, sizeof(path), "tenant_%u", (unsigned int)cgroup);
	memset(in.end.cgroup, 0, sizeof(in.end.cgroup));
	memcpy(in.end.cgroup, path, strlen(path) + 1);
	in.end.cgroup_id = cgroup;
	failure(tgid);
}

static bool is_summary(uint32_t i)
{
	return strcmp(jstr(bench.reports[i], "kind"), "storm_summary") == 0;
}

static uint32_t whole_reports_of(uint64_t cgroup)
{
	uint32_t i, n = 0;
	char path[32];

	snprintf(path, sizeof(path), "/tenant_%u", (unsigned int)cgroup);
	for (i = 0; i < bench.nreports; i++)
		n += !is_summary(i) && strcmp(jstr(bench.reports[i], "process.cgroup"), path) == 0;
	return n;
}

static uint64_t told(void)
{
	uint64_t n = 0;
	uint32_t i;

	for (i = 0; i < bench.nreports; i++)
		n += is_summary(i) ? (uint64_t)jint(bench.reports[i], "related.suppressed") : 1;
	return n;
}

/* Where it failed is part of what failed: a limit and a pin are not one problem. */
static void another_stage_is_another_kind(void **state)
{
	(void)state;
	reopen(16, 16, 4);
	build_failure(&in, EIO);
	add_chain(&in, WIRE_FN_UVERBS, -EIO);
	in.end.stage = WIRE_STAGE_UVERBS;
	failure_in(1, 1);
	failure_in(1, 1);
	assert_int_equal(bench.nreports, 1);
	in.end.nchain = 0;
	add_chain(&in, WIRE_FN_DRIVER_RXE, -EIO);
	add_chain(&in, WIRE_FN_UVERBS, -EIO);
	in.end.stage = WIRE_STAGE_PINNED;
	failure_in(1, 1);
	assert_int_equal(bench.nreports, 2);
	assert_string_not_equal(jstr(bench.reports[0], "registration.stage"),
				jstr(bench.reports[1], "registration.stage"));
}

/* What is known of who holds the pages gets better as a process is watched: that must be told. */
static void another_grade_is_another_kind(void **state)
{
	(void)state;
	reopen(16, 16, 4);
	prove_longterm_migrate_blocked_by_ref(&in);
	in.folios[0].refcount = in.folios[0].expected + 1;
	failure_in(1, 1);
	failure_in(1, 1);
	assert_int_equal(bench.nreports, 1);
	in.folios[0].refcount = in.folios[0].expected + 1024;
	failure_in(1, 1);
	failure_in(1, 1);
	assert_int_equal(bench.nreports, 2);
	assert_string_equal(jstr(bench.reports[0], "verdict.cause"), jstr(bench.reports[1], "verdict.cause"));
	assert_string_not_equal(jstr(bench.reports[0], "first_pin.grade"), jstr(bench.reports[1], "first_pin.grade"));
}

static void a_summary_names_cgroup_and_stage(void **state)
{
	(void)state;
	reopen(16, 16, 4);
	failure_in(7, 1);
	failure_in(7, 1);
	pipeline_finish(bench.pipeline, test_clock(bench.mono_ns));
	assert_int_equal(bench.nreports, 2);
	assert_string_equal(jstr(last(), "kind"), "storm_summary");
	assert_string_equal(jstr(last(), "process.cgroup"), "/tenant_7");
	assert_string_equal(jstr(last(), "registration.stage"), jstr(bench.reports[0], "registration.stage"));
	assert_null(jget(last(), "related.other_kinds"));
}

/* One tenant varies what fails as it likes: it uses up its own reports only. */
static void a_noisy_cgroup_hides_no_other(void **state)
{
	struct pipeline_stats s;
	uint32_t i;

	(void)state;
	reopen(16, 5, 8);
	for (i = 0; i < 200; i++) {
		snprintf(in.end.device, sizeof(in.end.device), "rxe%u", i % 3);
		in.end.result = i % 2 ? -ENOMEM : -EIO;
		failure_in(1, 100 + i);
		if (i % 20 == 19)
			failure_in(2 + i / 20 % 3, 7);
	}
	assert_int_equal(whole_reports_of(1), 5);
	for (i = 2; i < 5; i++)
		assert_int_equal(whole_reports_of(i), 1);
	pipeline_finish(bench.pipeline, test_clock(bench.mono_ns));
	assert_int_equal(told(), 210);
	pipeline_stats(bench.pipeline, &s);
	assert_int_equal(s.suppressed_other_kinds, 195);
	assert_int_equal(s.suppressed_open, 0);
}

static struct json_object *other_kinds(void)
{
	struct json_object *found = NULL;
	uint32_t i;

	for (i = 0; i < bench.nreports; i++) {
		if (!jget(bench.reports[i], "related.other_kinds"))
			continue;
		assert_null(found);
		found = bench.reports[i];
	}
	assert_non_null(found);
	return found;
}

/* What they have in common is told, what differs is left out. */
static void further_kinds_are_summed_up(void **state)
{
	struct json_object *r;
	uint32_t i;

	(void)state;
	reopen(16, 2, 8);
	for (i = 0; i < 12; i++)
		failure_in(1, 100 + i);
	pipeline_finish(bench.pipeline, test_clock(bench.mono_ns));
	r = other_kinds();
	assert_string_equal(jstr(r, "verdict.cause"), "rlimit_memlock_exceeded");
	assert_string_equal(jstr(r, "registration.errno_name"), "ENOMEM");
	assert_string_equal(jstr(r, "registration.device"), "rxe0");
	assert_string_equal(jstr(r, "registration.stage"), "limits");
	assert_string_equal(jstr(r, "related.first_report_id"), jstr(bench.reports[0], "report_id"));
	assert_int_equal(jint(r, "related.count"), 10);
	assert_int_equal(jint(r, "related.suppressed"), 10);
	assert_int_equal(jint(r, "related.other_kinds.0.count"), 10);
	assert_int_equal(jint(r, "process.pid"), 102);
}

static void further_kinds_that_differ(void **state)
{
	struct json_object *r;
	uint32_t i;

	(void)state;
	reopen(16, 1, 8);
	failure_in(1, 1);
	for (i = 0; i < 20; i++) {
		build_failure(&in, (int)(1 + i % 10));
		add_chain(&in, i % 2 ? WIRE_FN_DRIVER_RXE : WIRE_FN_UVERBS, -(int)(1 + i % 10));
		in.end.stage = i % 2 ? WIRE_STAGE_PINNED : WIRE_STAGE_UVERBS;
		snprintf(in.end.device, sizeof(in.end.device), "rxe%u", i % 2);
		snprintf(in.end.driver, sizeof(in.end.driver), "driver%u", i % 2);
		in.end.api = i % 2 ? WIRE_API_UMEM : WIRE_API_REG_MR;
		failure_in(1, 100 + i);
	}
	pipeline_finish(bench.pipeline, test_clock(bench.mono_ns));
	r = other_kinds();
	assert_string_equal(jstr(r, "registration.api"), "unknown");
	assert_null(jget(r, "registration.device"));
	assert_null(jget(r, "registration.driver"));
	assert_null(jget(r, "registration.errno"));
	assert_null(jget(r, "registration.stage"));
	assert_string_equal(jstr(r, "verdict.confidence"), "unknown");
	assert_int_equal(json_object_array_length(jget(r, "related.other_kinds")), 8);
	assert_int_equal(jint(r, "related.count"), 20);
	assert_non_null(strstr(json_object_get_string(jget(r, "verdict.evidence")), "4 of others still"));
}

/* The budget comes back with the next window; kinds that are open go on being counted. */
static void a_budget_is_for_one_window(void **state)
{
	(void)state;
	reopen(16, 1, 8);
	failure_in(1, 1);
	failure_in(1, 2);
	assert_int_equal(whole_reports_of(1), 1);
	bench.mono_ns = pipeline_next(bench.pipeline);
	pipeline_tick(bench.pipeline, test_clock(bench.mono_ns));
	assert_string_equal(jstr(last(), "kind"), "storm_summary");
	assert_int_equal(pipeline_next(bench.pipeline), 0);
	failure_in(1, 2);
	assert_int_equal(whole_reports_of(1), 2);
}

/* A table of kinds too small for everybody is shared evenly: who holds most gives way. */
static void places_go_to_who_has_less(void **state)
{
	uint32_t i, nreports;

	(void)state;
	reopen(8, 100, 4);
	for (i = 0; i < 30; i++)
		failure_in(1, 100 + i);
	for (i = 0; i < 30; i++)
		failure_in(2, 200 + i);
	assert_int_equal(whole_reports_of(1), 30);
	assert_int_equal(whole_reports_of(2), 30);
	/* However many kinds the second had, four places of the first are left: those are known again. */
	nreports = bench.nreports;
	for (i = 26; i < 30; i++)
		failure_in(1, 100 + i);
	assert_int_equal(bench.nreports, nreports);
	failure_in(3, 1);
	assert_int_equal(whole_reports_of(3), 1);
	pipeline_finish(bench.pipeline, test_clock(bench.mono_ns));
	assert_int_equal(told(), 65);
}

/* More cgroups than the table holds: the quietest makes room, and what it had is told. */
static void a_new_cgroup_is_told_in_full(void **state)
{
	uint32_t i, k;

	(void)state;
	reopen(16, 4, 3);
	for (i = 0; i < 10; i++) {
		for (k = 0; k < 6; k++)
			failure_in(1, 100 + k);
		failure_in(2 + i, 1);
		failure_in(2 + i, 1);
		assert_int_equal(whole_reports_of(2 + i), 1);
	}
	/* The noisy one was never the quietest: its budget did not come back. */
	assert_int_equal(whole_reports_of(1), 4);
	pipeline_finish(bench.pipeline, test_clock(bench.mono_ns));
	assert_int_equal(told(), 80);
}

/* More cgroups at once than there are places for kinds. */
static void more_cgroups_than_kinds(void **state)
{
	uint32_t i;

	(void)state;
	reopen(2, 4, 8);
	for (i = 0; i < 8; i++) {
		failure_in(1 + i, 1);
		assert_int_equal(whole_reports_of(1 + i), 1);
		failure_in(1 + i, 1);
	}
	pipeline_finish(bench.pipeline, test_clock(bench.mono_ns));
	assert_int_equal(told(), 16);
}

/* --- anything ------------------------------------------------------------------- */

/* One random failure: few cgroups, processes, devices and errnos, so that they repeat. */
static void random_failure(uint64_t *seed)
{
	int err = test_random(seed, 2) ? ENOMEM : EIO;

	in.end.result = -err;
	in.end.tgid = 1 + test_random(seed, 4);
	in.end.cgroup_id = test_random(seed, 6);
	snprintf(in.end.device, sizeof(in.end.device), "rxe%u", test_random(seed, 2));
	in.end.hdr.span_id++;
	bench_incident(&bench, &in);
}

static void random_step(uint64_t *seed, uint64_t *failures)
{
	switch (test_random(seed, 6)) {
	case 0:
		pipeline_tick(bench.pipeline, test_clock(bench.mono_ns));
		break;
	case 1:
		bench_facts(&bench);
		break;
	case 2:
		bench.mono_ns += test_random(seed, 20) * NS_PER_S;
		break;
	default:
		random_failure(seed);
		(*failures)++;
	}
}

/* Every equation of the ledger after every step of a random run, with tables of random sizes. */
static void random_run(uint64_t *seed)
{
	struct pipeline_stats s;
	uint64_t failures = 0;
	uint32_t i, whole = 0;

	reopen(1 + test_random(seed, 8), 1 + test_random(seed, 6), 1 + test_random(seed, 6));
	for (i = 0; i < 400; i++) {
		random_step(seed, &failures);
		pipeline_stats(bench.pipeline, &s);
		if (pipeline_ledger(&s))
			fail_msg("step %u: %s", i, pipeline_ledger(&s));
		assert_int_equal(s.incidents, failures);
	}
	pipeline_finish(bench.pipeline, test_clock(bench.mono_ns));
	pipeline_stats(bench.pipeline, &s);
	assert_int_equal(s.incidents_held, 0);
	assert_int_equal(s.suppressed_open, 0);
	assert_int_equal(pipeline_next(bench.pipeline), 0);
	/* The reports tell the same numbers as the counters: none is lost, none told twice. */
	for (i = 0; i < bench.nreports; i++)
		whole += !is_summary(i);
	assert_int_equal(whole, s.reported);
	assert_int_equal(bench.nreports - whole, s.summaries);
	assert_int_equal(told(), failures);
}

static void random_sequences(void **state)
{
	uint64_t seed = test_seed();
	int i;

	(void)state;
	for (i = 0; i < 40; i++)
		random_run(&seed);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(repeats_are_folded), TEST(a_window_without_repeats_says_nothing),
		TEST(others_are_not_folded_into_it), TEST(an_evicted_window_is_summed_up), TEST(finish_sums_up),
		TEST(settings_of_zero), TEST(another_stage_is_another_kind), TEST(another_grade_is_another_kind),
		TEST(a_summary_names_cgroup_and_stage), TEST(a_noisy_cgroup_hides_no_other),
		TEST(further_kinds_are_summed_up), TEST(further_kinds_that_differ),
		TEST(a_budget_is_for_one_window), TEST(places_go_to_who_has_less),
		TEST(a_new_cgroup_is_told_in_full), TEST(more_cgroups_than_kinds), TEST(random_sequences),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
