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
	assert_string_equal(jstr(last(), "verdict.cause"), "unknown");
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

/* Every equation of the ledger after every step of a random run. */
static void random_sequences(void **state)
{
	uint64_t seed = test_seed();
	struct pipeline_stats s;
	uint64_t failures = 0, summed = 0, single = 0;
	uint32_t i, k;

	(void)state;
	for (i = 0; i < 400; i++) {
		switch (test_random(&seed, 6)) {
		case 0:
			pipeline_tick(bench.pipeline, test_clock(bench.mono_ns));
			break;
		case 1:
			bench_facts(&bench);
			break;
		case 2:
			bench.mono_ns += test_random(&seed, 20) * NS_PER_S;
			break;
		default:
			in.end.tgid = 1 + test_random(&seed, 4);
			in.end.hdr.span_id++;
			bench_incident(&bench, &in);
			failures++;
		}
		pipeline_stats(bench.pipeline, &s);
		if (pipeline_ledger(&s))
			fail_msg("step %u: %s", i, pipeline_ledger(&s));
		assert_int_equal(s.incidents, failures);
	}
	pipeline_finish(bench.pipeline, test_clock(bench.mono_ns));
	pipeline_stats(bench.pipeline, &s);
	assert_int_equal(s.incidents_held, 0);
	/* The reports tell the same numbers as the counters: none is lost, none told twice. */
	for (k = 0; k < bench.nreports; k++) {
		if (strcmp(jstr(bench.reports[k], "kind"), "storm_summary") == 0)
			summed += (uint64_t)jint(bench.reports[k], "related.suppressed");
		else
			single++;
	}
	assert_int_equal(single, s.reported);
	assert_int_equal(summed, s.suppressed);
	assert_int_equal(single + summed, failures);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(repeats_are_folded), TEST(a_window_without_repeats_says_nothing),
		TEST(others_are_not_folded_into_it), TEST(an_evicted_window_is_summed_up), TEST(finish_sums_up),
		TEST(settings_of_zero), TEST(random_sequences),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
