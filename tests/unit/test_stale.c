// SPDX-License-Identifier: BSD-2-Clause
/* A live region whose memory was replaced: from its record to the report, the summary and the page. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "decode.h"
#include "explain.h"
#include "verdicts.h"

static struct bench bench;
static struct wire_stale record;
static struct event ev;

static int setup_bench(void **state)
{
	struct pipeline_settings settings = test_settings();

	setup(state);
	settings.storm_burst = 1;
	bench_open(&bench, &settings);
	prove_stale_registration(&in);
	record = stale_record(&in);
	return 0;
}

static int teardown_bench(void **state)
{
	(void)state;
	bench_close(&bench);
	return 0;
}

static int decode(void)
{
	return decode_event(&record, sizeof(record), &ev);
}

static void refused(void)
{
	assert_int_equal(decode(), -EBADMSG);
	record = stale_record(&in);
}

static void what_contradicts_itself_is_refused(void **state)
{
	(void)state;
	assert_int_equal(decode(), 0);
	assert_int_equal(ev.kind, WIRE_STALE);
	assert_int_equal(ev.stale.damage.by, WIRE_DAMAGE_MUNMAP);
	assert_int_equal(ev.stale.end.tgid, in.end.tgid);
	record.end.result = -ENOMEM;
	refused();
	record.end.was_reported = 1;
	refused();
	record.end.hdr.span_id = 0;
	refused();
	record.damage.end = record.damage.start;
	refused();
	record.damage.call_start = record.damage.start + 1;
	refused();
	record.damage.call_end = record.damage.end - 1;
	refused();
	record.end.length = UINT64_MAX;
	refused();
	/* Behind the region's last byte, and before its first. */
	record.damage.start += PAGE, record.damage.end += PAGE;
	refused();
	record.end.address += 256 * PAGE;
	refused();
	record.end.hdr.size = sizeof(record.end);
	assert_int_equal(decode_event(&record, sizeof(record.end), &ev), -EBADMSG);
}

/* From a newer build: shown as unknown, and not called proven. */
static void a_call_without_a_name(void **state)
{
	(void)state;
	record.damage.by = 77;
	record.damage.sure = 5;
	assert_int_equal(decode(), 0);
	assert_int_equal(ev.stale.damage.by, WIRE_DAMAGE_NONE);
	assert_int_equal(ev.stale.damage.sure, 1);
	in.damage.by = WIRE_DAMAGE_NONE;
	likely("stale_registration", DETAIL_none);
}

static void verdicts(void **state)
{
	(void)state;
	proven("stale_registration", DETAIL_region_unmapped);
	assert_int_equal(d.nruled_out, 0);
	assert_non_null(strstr(d.verdict.summary, "1 of 256 pages"));
	assert_true(evidence_says(&d.verdict, "3000 ms before"));
	in.damage.by = WIRE_DAMAGE_MADVISE;
	in.damage.advice = 4;
	proven("stale_registration", DETAIL_region_given_back);
	assert_true(evidence_says(&d.verdict, "MADV_DONTNEED"));
	in.damage.sure = 0;
	likely("stale_registration", DETAIL_region_given_back);
	assert_true(missing_says(&d.verdict, "damage.mapping"));
	in.damage.sure = 1;
	in.damage.owner_tgid++;
	proven("stale_registration", DETAIL_region_given_back);
	assert_true(evidence_says(&d.verdict, "another process"));
	/* A registration that only succeeded has no cause. */
	in.stale = false;
	unknown("stale_registration", NULL);
}

static void one(uint32_t tgid)
{
	uint32_t asks = bench.nasks;

	in.end.tgid = tgid;
	in.end.hdr.span_id++;
	bench_incident(&bench, &in);
	if (bench.nasks > asks)
		bench_facts(&bench);
}

static struct json_object *last(void)
{
	return bench.reports[bench.nreports - 1];
}

static void the_report(void **state)
{
	(void)state;
	one(7);
	assert_int_equal(bench.nreports, 1);
	assert_string_equal(jstr(last(), "kind"), "registration_stale");
	assert_string_equal(jstr(last(), "verdict.cause"), "stale_registration");
	assert_string_equal(jstr(last(), "verdict.confidence"), "proven");
	assert_string_equal(jstr(last(), "damage.by"), "munmap");
	assert_string_equal(jstr(last(), "damage.start"), "0x7f0000100000");
	assert_int_equal(jint(last(), "damage.pages"), 1);
	assert_int_equal(jint(last(), "damage.thread"), in.end.tid);
	assert_int_equal(jint(last(), "registration.age_ns"), (int64_t)(3 * NS_PER_S + 1000));
	assert_string_equal(jstr(last(), "registration.device"), in.end.device);
	assert_null(jget(last(), "registration.errno"));
	assert_null(jget(last(), "registration.stage"));
	assert_null(jget(last(), "chain"));
	assert_null(jget(last(), "damage.advice"));
	assert_string_equal(jstr(last(), "process.exe"), "/usr/bin/worker");
}

static char *explained(void)
{
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	assert_non_null(f);
	explain_print(f, last());
	fclose(f);
	return text;
}

/* All of it on one screen, and no word of a failure. */
static void the_page(void **state)
{
	int lines = 0;
	char *text;

	(void)state;
	one(7);
	text = explained();
	assert_non_null(strstr(text, "reg_mr - memory behind a live registration was replaced"));
	assert_non_null(strstr(text, "1 of 256 pages"));
	assert_non_null(strstr(text, "UCX_RCACHE_ENABLE=n"));
	assert_non_null(strstr(text, "PROVEN"));
	assert_null(strstr(text, "failed"));
	for (const char *s = text; *s; s++)
		lines += *s == '\n';
	assert_true(lines <= 25);
	free(text);
}

/* A cache that is not told does it to every buffer. */
static void repeats_are_folded(void **state)
{
	char *text;
	int i;

	(void)state;
	for (i = 0; i < 1000; i++)
		one(7);
	assert_int_equal(bench.nreports, 1);
	one(8);
	assert_int_equal(bench.nreports, 2);
	pipeline_tick(bench.pipeline, test_clock(bench.mono_ns + test_settings().storm_window_ns));
	assert_int_equal(bench.nreports, 3);
	assert_string_equal(jstr(last(), "kind"), "storm_summary");
	assert_string_equal(jstr(last(), "verdict.cause"), "stale_registration");
	assert_int_equal(jint(last(), "related.count"), 1000);
	assert_int_equal(jint(last(), "related.suppressed"), 999);
	assert_null(jget(last(), "registration.errno"));
	assert_null(jget(last(), "registration.stage"));
	text = explained();
	assert_non_null(strstr(text, "1000 live regions of reg_mr"));
	assert_non_null(strstr(text, "999 regions not reported in full"));
	assert_null(strstr(text, "fail"));
	free(text);
}

/* With failures in one summary of further kinds: it has no errno to tell. */
static void among_further_kinds(void **state)
{
	struct pipeline_settings settings = test_settings();
	struct json_object *kinds;

	(void)state;
	settings.storm_burst = 1;
	settings.storm_cgroup_reports = 1;
	bench_close(&bench);
	bench_open(&bench, &settings);
	one(7);
	one(8);
	prove_rlimit_memlock_exceeded(&in);
	one(9);
	pipeline_tick(bench.pipeline, test_clock(bench.mono_ns + settings.storm_window_ns));
	kinds = jget(last(), "related.other_kinds");
	assert_non_null(kinds);
	assert_int_equal(json_object_array_length(kinds), 2);
	assert_null(jget(last(), "related.other_kinds.0.errno_name"));
	assert_string_equal(jstr(last(), "related.other_kinds.1.errno_name"), "ENOMEM");
}

static void what_is_lost_is_told(void **state)
{
	struct loss loss = { .stale_unwatched = 5 };

	(void)state;
	pipeline_loss(bench.pipeline, &loss, test_clock(1));
	one(7);
	assert_int_equal(jint(last(), "loss.stale_unwatched"), 5);
	assert_null(jget(last(), "loss.events_dropped.STALE"));
	loss.dropped[WIRE_STALE] = 2;
	pipeline_loss(bench.pipeline, &loss, test_clock(1));
	one(9);
	assert_int_equal(jint(last(), "loss.events_dropped.STALE"), 2);
}

static void the_ledger_counts_it(void **state)
{
	struct pipeline_stats stats;

	(void)state;
	one(7);
	one(7);
	pipeline_stats(bench.pipeline, &stats);
	assert_null(pipeline_ledger(&stats));
	assert_int_equal(stats.incidents, 2);
	assert_int_equal(stats.stale_reported, 1);
	assert_int_equal(stats.reported, 0);
	assert_int_equal(stats.suppressed, 1);
	stats.stale_reported++;
	assert_non_null(pipeline_ledger(&stats));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(what_contradicts_itself_is_refused, setup_bench, teardown_bench),
		cmocka_unit_test_setup_teardown(a_call_without_a_name, setup_bench, teardown_bench),
		cmocka_unit_test_setup_teardown(verdicts, setup_bench, teardown_bench),
		cmocka_unit_test_setup_teardown(the_report, setup_bench, teardown_bench),
		cmocka_unit_test_setup_teardown(the_page, setup_bench, teardown_bench),
		cmocka_unit_test_setup_teardown(repeats_are_folded, setup_bench, teardown_bench),
		cmocka_unit_test_setup_teardown(among_further_kinds, setup_bench, teardown_bench),
		cmocka_unit_test_setup_teardown(what_is_lost_is_told, setup_bench, teardown_bench),
		cmocka_unit_test_setup_teardown(the_ledger_counts_it, setup_bench, teardown_bench),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
