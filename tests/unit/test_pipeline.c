// SPDX-License-Identifier: BSD-2-Clause
/* Waiting for facts, stuck registrations, the ledger, and the same output for the same input. */
#include "support.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static struct bench bench;
static struct incident in;
static struct pipeline_stats stats;

static int setup(void **state)
{
	struct pipeline_settings settings = test_settings();

	(void)state;
	bench_open(&bench, &settings);
	prove_longterm_migrate_blocked_by_ref(&in);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	bench_close(&bench);
	return 0;
}

static const struct pipeline_stats *ledger(void)
{
	pipeline_stats(bench.pipeline, &stats);
	if (pipeline_ledger(&stats))
		fail_msg("%s", pipeline_ledger(&stats));
	return &stats;
}

/* The same failure as a registration, and a process, of its own. */
static void another(void)
{
	uint32_t i;

	in.end.hdr.span_id++;
	in.end.tgid++;
	for (i = 0; i < in.nfolios; i++)
		in.folios[i].hdr.span_id = in.end.hdr.span_id;
	for (i = 0; i < in.holders.npins; i++)
		in.holders.pins[i].hdr.span_id = in.end.hdr.span_id;
	bench_incident(&bench, &in);
}

static void waits_for_facts(void **state)
{
	(void)state;
	bench_incident(&bench, &in);
	assert_int_equal(bench.nreports, 0);
	assert_int_equal(bench.nasks, 1);
	assert_int_equal(bench.last_ask.tgid, 4242);
	assert_string_equal(bench.last_ask.device, "rxe0");
	assert_int_equal(ledger()->incidents_held, 1);
	bench_facts(&bench);
	assert_int_equal(bench.nreports, 1);
	assert_int_equal(ledger()->reported, 1);
	/* The same answer again finds nobody. */
	bench_facts(&bench);
	assert_int_equal(ledger()->facts_unclaimed, 1);
}

static void deadline(void **state)
{
	uint64_t due;

	(void)state;
	bench_incident(&bench, &in);
	due = pipeline_next(bench.pipeline);
	assert_int_equal(due, bench.mono_ns + NS_PER_S / 2);
	/* A tick that is not due does nothing: a recording may leave it out. */
	pipeline_tick(bench.pipeline, test_clock(due - 1));
	assert_int_equal(bench.nreports, 0);
	pipeline_tick(bench.pipeline, test_clock(due));
	assert_int_equal(bench.nreports, 1);
	assert_non_null(strstr(bench.lines[0], "no answer in time (ETIMEDOUT)"));
	assert_int_equal(ledger()->facts_late, 1);
}

static void asking_failed(void **state)
{
	(void)state;
	bench.ask_result = -EAGAIN;
	bench_incident(&bench, &in);
	assert_int_equal(bench.nreports, 1);
	assert_non_null(strstr(bench.lines[0], "temporarily unavailable (EAGAIN)"));
	assert_int_equal(ledger()->facts_late, 1);
}

static void too_many_wait(void **state)
{
	int i;

	(void)state;
	for (i = 0; i < 70; i++)
		another();
	assert_int_equal(ledger()->incidents_held, 64);
	assert_int_equal(stats.incidents_evicted, 6);
	assert_int_equal(bench.nreports, 6);
	assert_non_null(strstr(bench.lines[0], "busy (EBUSY)"));
	pipeline_finish(bench.pipeline, test_clock(bench.mono_ns));
	assert_int_equal(ledger()->reported, 70);
}

/* The largest incidents there are take the room of several: those that wait for longest are told without facts. */
static void too_much_waits(void **state)
{
	(void)state;
	while (in.nfolios < WIRE_FOLIOS_MAX)
		add_folio(&in, in.nfolios, 1024);
	while (in.holders.npins < WIRE_HOLDERS_MAX)
		add_rival(&in, &in.folios[in.holders.npins], 100 + in.holders.npins);
	in.end.folios_sent = in.nfolios;
	for (int i = 0; i < 60; i++)
		another();
	assert_in_range(ledger()->incidents_held, 28, 59);
	assert_int_equal(stats.incidents_held + stats.incidents_evicted, 60);
	assert_int_equal(bench.nreports, stats.incidents_evicted);
	assert_non_null(strstr(bench.lines[0], "busy (EBUSY)"));
	assert_non_null(strstr(bench.lines[0], "\"pages_total\":64,\"pages_omitted\":0"));
	pipeline_finish(bench.pipeline, test_clock(bench.mono_ns));
	assert_int_equal(ledger()->reported, 60);
}

static void bad_records_are_counted(void **state)
{
	(void)state;
	pipeline_event(bench.pipeline, "x", 1, test_clock(1));
	in.end.nchain = 100;
	bench_incident(&bench, &in);
	assert_int_equal(ledger()->records_bad, 2);
	assert_int_equal(stats.incidents, 0);
}

static void module_records_make_no_report(void **state)
{
	struct wire_module m = {
		.hdr = { .kind = WIRE_MODULE, .version = WIRE_VERSION, .size = sizeof(m) },
		.name = "rdma_rxe",
	};

	(void)state;
	pipeline_event(bench.pipeline, &m, sizeof(m), test_clock(1));
	assert_int_equal(ledger()->kind_in[WIRE_MODULE], 1);
	assert_int_equal(stats.records_bad, 0);
}

static void folios_without_an_end(void **state)
{
	(void)state;
	pipeline_event(bench.pipeline, &in.folios[0], sizeof(in.folios[0]), test_clock(1));
	assert_int_equal(ledger()->join.folios.held, 1);
	pipeline_finish(bench.pipeline, test_clock(2));
	assert_int_equal(ledger()->join.folios.orphaned, 1);
}

/* --- stuck ---------------------------------------------------------------------- */

static const char *report_stuck(uint64_t span_id)
{
	struct wire_span span = build_span(span_id);

	pipeline_stuck(bench.pipeline, &span, &(struct sighting){ SIGHTING_WAITS, "handle_userfault" }, test_clock(bench.mono_ns));
	bench_facts(&bench);
	return jstr(bench.reports[bench.nreports - 1], "report_id");
}

static void stuck(void **state)
{
	struct json_object *r;

	(void)state;
	report_stuck(50);
	r = bench.reports[0];
	assert_string_equal(jstr(r, "kind"), "registration_stuck");
	assert_string_equal(jstr(r, "registration.stage"), "pin");
	assert_string_equal(jstr(r, "registration.verified"), SIGHTING_WAITS);
	assert_string_equal(jstr(r, "process.comm"), "worker");
	assert_string_equal(jstr(r, "process.cgroup"), "/slurm/job_1");
	assert_string_equal(jstr(r, "verdict.cause"), "userfault_stall");
	assert_null(jget(r, "registration.errno"));
	assert_null(strstr(bench.lines[0], "ffff8880"));
	/* Once per span. */
	report_stuck(50);
	assert_int_equal(bench.nreports, 1);
	assert_int_equal(ledger()->stuck_reported, 1);
}

static void stuck_then_failed(void **state)
{
	const char *first = report_stuck(50);

	(void)state;
	in.end.hdr.span_id = in.folios[0].hdr.span_id = 50;
	in.end.was_reported = 1;
	bench_incident(&bench, &in);
	bench_facts(&bench);
	assert_int_equal(bench.nreports, 2);
	assert_string_equal(jstr(bench.reports[1], "kind"), "registration_failed");
	assert_string_equal(jstr(bench.reports[1], "related.first_report_id"), first);
	assert_string_equal(jstr(bench.reports[1], "verdict.confidence"), "proven");
	assert_int_equal(ledger()->reported, 1);
}

static void stuck_then_ended_well(void **state)
{
	const char *first = report_stuck(50);

	(void)state;
	build_failure(&in, 0);
	in.end.hdr.span_id = 50;
	in.end.was_reported = 1;
	in.end.stage = WIRE_STAGE_PINNED;
	bench_incident(&bench, &in);
	assert_int_equal(bench.nreports, 2);
	assert_string_equal(jstr(bench.reports[1], "kind"), "registration_completed");
	assert_string_equal(jstr(bench.reports[1], "related.first_report_id"), first);
	assert_null(jget(bench.reports[1], "verdict"));
	assert_null(jget(bench.reports[1], "registration.errno"));
	assert_int_equal(ledger()->stuck_ended, 1);
}

/* The stuck report waits for facts while the registration ends: the id is known all the same. */
static void ended_while_the_stuck_report_waits(void **state)
{
	struct wire_span span = build_span(50);
	struct facts_request ask;
	struct facts facts = test_facts();

	(void)state;
	pipeline_stuck(bench.pipeline, &span, &(struct sighting){ SIGHTING_WAITS, "handle_userfault" }, test_clock(bench.mono_ns));
	ask = bench.last_ask;
	in.end.hdr.span_id = in.folios[0].hdr.span_id = 50;
	bench_incident(&bench, &in);
	bench_facts(&bench);
	pipeline_facts(bench.pipeline, ask.id, &facts, test_clock(bench.mono_ns));
	assert_int_equal(bench.nreports, 2);
	assert_string_equal(jstr(bench.reports[0], "related.first_report_id"),
			    jstr(bench.reports[1], "report_id"));
}

static void a_forgotten_stuck_report(void **state)
{
	uint64_t i;

	(void)state;
	for (i = 0; i < 257; i++)
		report_stuck(100 + i);
	build_failure(&in, 0);
	in.end.hdr.span_id = 100;
	in.end.was_reported = 1;
	bench_incident(&bench, &in);
	assert_int_equal(ledger()->stuck_forgotten, 1);
	assert_null(jget(bench.reports[bench.nreports - 1], "related"));
	assert_non_null(strstr(bench.lines[bench.nreports - 1], "related.first_report_id"));
}

/* What was told as stuck is told to its end, however many others fail in the same way. */
static void stuck_ones_are_not_folded(void **state)
{
	int i;

	(void)state;
	for (i = 0; i < 5; i++) {
		in.end.hdr.span_id = in.folios[0].hdr.span_id = 900 + (uint64_t)i;
		bench_incident(&bench, &in);
	}
	assert_int_equal(ledger()->suppressed, 2);
	report_stuck(50);
	in.end.hdr.span_id = in.folios[0].hdr.span_id = 50;
	in.end.was_reported = 1;
	bench_incident(&bench, &in);
	assert_int_equal(ledger()->suppressed, 2);
	pipeline_finish(bench.pipeline, test_clock(bench.mono_ns));
}

/* --- the same again ------------------------------------------------------------- */

static void run(struct bench *b)
{
	struct pipeline_settings settings = test_settings();
	struct incident local;
	int i;

	bench_open(b, &settings);
	for (i = 0; i < 12; i++) {
		if (i % 3 == 0)
			prove_longterm_migrate_blocked_by_ref(&local);
		else if (i % 3 == 1)
			prove_rlimit_memlock_exceeded(&local);
		else
			prove_address_not_mapped(&local);
		bench_incident(b, &local);
		if (i % 2)
			bench_facts(b);
		b->mono_ns += NS_PER_S / 5;
		pipeline_tick(b->pipeline, test_clock(b->mono_ns));
	}
	pipeline_finish(b->pipeline, test_clock(b->mono_ns));
}

static void same_input_same_bytes(void **state)
{
	struct bench a, b;
	uint32_t i;

	(void)state;
	run(&a);
	run(&b);
	assert_true(a.nreports > 9);
	assert_int_equal(a.nreports, b.nreports);
	for (i = 0; i < a.nreports; i++)
		assert_string_equal(a.lines[i], b.lines[i]);
	bench_close(&a);
	bench_close(&b);
}

static void ids_are_distinct(void **state)
{
	uint32_t i, k;

	(void)state;
	for (i = 0; i < 40; i++) {
		another();
		bench_facts(&bench);
	}
	for (i = 0; i < bench.nreports; i++)
		for (k = 0; k < i; k++)
			assert_string_not_equal(jstr(bench.reports[i], "report_id"),
						jstr(bench.reports[k], "report_id"));
}

static void a_page_size_that_is_none(void **state)
{
	const struct pipeline_ops ops = { 0 };
	struct pipeline_settings settings = test_settings();
	struct identity id = test_identity();
	struct pipeline *p;
	uint32_t bad[] = { 0, 1, 4095, 12288 };
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		id.page_size = bad[i];
		assert_int_equal(pipeline_new(&p, &id, &settings, &ops, NULL), -EINVAL);
	}
	/* The picture that was good stays. */
	pipeline_identity(bench.pipeline, &id);
	bench_incident(&bench, &in);
	bench_facts(&bench);
	assert_int_equal(jint(bench.reports[0], "pin.requested_pages"), 256);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(waits_for_facts), TEST(deadline), TEST(asking_failed), TEST(too_many_wait), TEST(too_much_waits),
		TEST(bad_records_are_counted), TEST(module_records_make_no_report), TEST(folios_without_an_end),
		TEST(stuck), TEST(stuck_then_failed), TEST(stuck_then_ended_well),
		TEST(ended_while_the_stuck_report_waits), TEST(a_forgotten_stuck_report),
		TEST(stuck_ones_are_not_folded), TEST(same_input_same_bytes), TEST(ids_are_distinct),
		TEST(a_page_size_that_is_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
