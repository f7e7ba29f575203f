// SPDX-License-Identifier: BSD-2-Clause
/* first_pin_strands_pages: what is said before anything has failed. */
#include "support.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "decode.h"

#define ID "first_pin_strands_pages"

static struct identity id;
static struct incident in;
static struct diagnosis d;
static struct bench bench;

static int setup(void **state)
{
	struct pipeline_settings settings = test_settings();

	(void)state;
	id = test_identity();
	prove_first_pin_strands_pages(&in);
	bench_open(&bench, &settings);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	bench_close(&bench);
	return 0;
}

static void expect(enum confidence confidence, enum detail detail)
{
	diagnose(&in, &id, &d);
	assert_string_equal(verdict_cause(&d), ID);
	assert_int_equal(d.confidence, confidence);
	assert_int_equal(d.verdict.detail, detail);
	assert_int_equal(d.nalso, 0);
}

static void places(void **state)
{
	(void)state;
	expect(CONFIDENCE_proven, DETAIL_in_cma);
	assert_non_null(strstr(d.verdict.summary, "8 pages that trainer (pid 4242) has just pinned lie where"));
	assert_true(evidence_says(&d.verdict, "8 of 256 pages that were looked at: 8 in MIGRATE_CMA pageblocks, 0 in ZONE_MOVABLE"));
	assert_true(evidence_says(&d.verdict, "pinned 256 pages from 0x7f0000001000 by os_lock_user_pages without FOLL_LONGTERM"));
	assert_true(evidence_says(&d.verdict, "page 37 (0x7f0000026000, pfn 0x75125, node 0), in a MIGRATE_CMA pageblock of area \"hugetlb0\""));
	in.stranded = (struct wire_stranded){ .pages = 3, .movable_zone = 3, .looked = 256 };
	expect(CONFIDENCE_proven, DETAIL_in_movable_zone);
	in.stranded = (struct wire_stranded){ .pages = 3, .isolated = 3, .looked = 256 };
	expect(CONFIDENCE_likely, DETAIL_in_isolated_block);
	assert_true(missing_says(&d.verdict, "stranded.lasting"));
	in.stranded = (struct wire_stranded){ .pages = 3, .movable_zone = 2, .cma = 1, .looked = 256 };
	expect(CONFIDENCE_proven, DETAIL_in_several_places);
}

/* Without its flags the pin may have been one that the kernel lets stay. */
static void flags_not_seen(void **state)
{
	(void)state;
	in.holders.pins[0].pin.calls = 0;
	expect(CONFIDENCE_likely, DETAIL_in_cma);
	assert_true(missing_says(&d.verdict, "first_pin.foll_longterm"));
	in.holders.pins[0].pin.calls = 1;
	id.foll_longterm = 0;
	expect(CONFIDENCE_likely, DETAIL_in_cma);
}

static void large_pins(void **state)
{
	(void)state;
	in.stranded.lower_bound = 1;
	expect(CONFIDENCE_proven, DETAIL_in_cma);
	assert_non_null(strstr(d.verdict.summary, "at least 8 pages"));
	assert_true(evidence_says(&d.verdict, "one page of each pageblock"));
}

static void refused(void (*spoil)(struct wire_hazard *))
{
	struct wire_hazard h = hazard_record(&in);
	struct event ev;

	assert_int_equal(decode_event(&h, sizeof(h), &ev), 0);
	spoil(&h);
	assert_int_equal(decode_event(&h, sizeof(h), &ev), -EBADMSG);
}

static void no_pages(struct wire_hazard *h) { h->stranded.pages = 0; }
static void more_than_looked_at(struct wire_hazard *h) { h->stranded.pages = h->stranded.looked + 1; }
static void more_of_a_kind(struct wire_hazard *h) { h->stranded.isolated = h->stranded.pages + 1; }
static void looked_beyond(struct wire_hazard *h) { h->stranded.looked = h->holder.pin.pages + 1; }
static void failed(struct wire_hazard *h) { h->end.result = -ENOMEM; }
static void no_pin(struct wire_hazard *h) { h->holder.pin.id = 0; }
static void page_outside(struct wire_hazard *h) { h->holder.page = h->holder.pin.pages; }
static void order(struct wire_hazard *h) { h->page.order = 64; }

static void bad_records(void **state)
{
	(void)state;
	refused(no_pages);
	refused(more_than_looked_at);
	refused(more_of_a_kind);
	refused(looked_beyond);
	refused(failed);
	refused(no_pin);
	refused(page_outside);
	refused(order);
}

static void reported(void **state)
{
	struct json_object *r;

	(void)state;
	bench_incident(&bench, &in);
	bench_facts(&bench);
	assert_int_equal(bench.nreports, 1);
	r = bench.reports[0];
	assert_string_equal(jstr(r, "kind"), "hazard");
	assert_string_equal(jstr(r, "verdict.cause"), ID);
	assert_null(jget(r, "registration"));
	assert_null(jget(r, "ruled_out"));
	assert_int_equal(jint(r, "stranded.pages"), 8);
	assert_int_equal(jint(r, "stranded.looked_at"), 256);
	assert_int_equal(jint(r, "pages_total"), 8);
	assert_int_equal(jint(r, "pages_omitted"), 7);
	assert_string_equal(jstr(r, "pages.0.pfn"), "0x75125");
	assert_string_equal(jstr(r, "first_pin.comm"), "trainer");
	assert_string_equal(jstr(r, "first_pin.stack.0"), "os_lock_user_pages [nvidia]");
	assert_string_equal(jstr(r, "nvidia.version"), test_facts().nvidia_version);
}

/* A job that pins in a thousand pieces makes as many reports as a burst may have, and one summary. */
static void folded(void **state)
{
	struct json_object *r;

	(void)state;
	for (int i = 0; i < 1000; i++) {
		bench_incident(&bench, &in);
		if (bench.nreports < bench.nasks)
			bench_facts(&bench);
		bench.mono_ns += 1000;
	}
	pipeline_finish(bench.pipeline, test_clock(bench.mono_ns));
	assert_int_equal(bench.nreports, test_settings().storm_burst + 1);
	r = bench.reports[bench.nreports - 1];
	assert_string_equal(jstr(r, "kind"), "storm_summary");
	assert_string_equal(jstr(r, "verdict.cause"), ID);
	assert_int_equal(jint(r, "related.count"), 1000);
	assert_int_equal(jint(r, "related.suppressed"), 1000 - test_settings().storm_burst);
	assert_non_null(strstr(jstr(r, "verdict.summary"), "1000 hazards of one kind"));
	assert_null(jget(r, "registration"));
}

/* Two hazards and a failure behind them: the second hazard's facts are asked for when the failure has its own. */
static void failures_first(void **state)
{
	struct incident failure;
	struct facts facts = test_facts();
	uint64_t first;

	(void)state;
	build_failure(&failure, ENOMEM);
	bench_incident(&bench, &in);
	first = bench.last_ask.id;
	bench_incident(&bench, &in);
	assert_int_equal(bench.nasks, 1);
	bench_incident(&bench, &failure);
	assert_int_equal(bench.nasks, 2);
	pipeline_facts(bench.pipeline, first, &facts, test_clock(bench.mono_ns));
	assert_int_equal(bench.nasks, 2);
	bench_facts(&bench);
	assert_string_equal(jstr(bench.reports[1], "kind"), "registration_failed");
	assert_int_equal(bench.nasks, 3);
	bench_facts(&bench);
	assert_int_equal(bench.nreports, 3);
	assert_string_equal(jstr(bench.reports[2], "process.exe"), facts.exe);
}

/* A failure whose answer never comes keeps nobody waiting. */
static void after_a_late_failure(void **state)
{
	struct incident failure;

	(void)state;
	build_failure(&failure, ENOMEM);
	bench_incident(&bench, &failure);
	bench_incident(&bench, &in);
	assert_int_equal(bench.nasks, 1);
	bench.mono_ns = pipeline_next(bench.pipeline);
	pipeline_tick(bench.pipeline, test_clock(bench.mono_ns));
	assert_int_equal(bench.nreports, 1);
	assert_int_equal(bench.nasks, 2);
	bench_facts(&bench);
	assert_int_equal(bench.nreports, 2);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(places), TEST(flags_not_seen), TEST(large_pins), TEST(bad_records), TEST(reported), TEST(folded),
		TEST(failures_first), TEST(after_a_late_failure),
	};

	return cmocka_run_group_tests_name("hazard", tests, NULL, NULL);
}
