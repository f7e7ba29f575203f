// SPDX-License-Identifier: BSD-2-Clause
/* Who must not be blamed, and what must not be lost beside a pin that is: each of these once went wrong. */
#include "support.h"

#include <errno.h>
#include <string.h>

#include "join.h"

static struct identity id;
static struct incident in;
static struct diagnosis d;
static struct bench bench;

static int setup(void **state)
{
	(void)state;
	id = test_identity();
	prove_first_pin_strands_pages(&in);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	bench_close(&bench);
	return 0;
}

static void hazard_of(uint32_t tgid)
{
	in.end.tgid = in.holders.pins[0].pin.tgid = tgid;
	bench_incident(&bench, &in);
}

/* Hazards that have not been asked for make room before a failure whose answer is on its way. */
static void a_failure_keeps_its_place(void **state)
{
	struct pipeline_settings settings = test_settings();
	struct pipeline_stats stats;
	struct incident failure;

	(void)state;
	settings.storm_signatures = 1024;
	bench_open(&bench, &settings);
	build_failure(&failure, ENOMEM);
	bench_incident(&bench, &failure);
	assert_int_equal(bench.nasks, 1);
	for (uint32_t i = 0; i < 64; i++)
		hazard_of(10000 + i);
	pipeline_stats(bench.pipeline, &stats);
	assert_int_equal(stats.incidents_evicted, 1);
	assert_int_equal(bench.nreports, 1);
	assert_string_equal(jstr(bench.reports[0], "kind"), "hazard");
}

/* Sixteen ranks pin, and then the first registration of one of them fails: that is what the report is for. */
static void hazards_do_not_use_up_the_budget(void **state)
{
	struct pipeline_settings settings = test_settings();
	struct incident failure;

	(void)state;
	settings.storm_signatures = 1024;
	settings.storm_cgroup_reports = 16; /* the default */
	bench_open(&bench, &settings);
	for (uint32_t i = 0; i < 16; i++) {
		hazard_of(10000 + i);
		bench_facts(&bench);
	}
	assert_int_equal(bench.nreports, 16);
	prove_longterm_migrate_blocked_by_ref(&failure);
	bench_incident(&bench, &failure);
	bench_facts(&bench);
	assert_int_equal(bench.nreports, 17);
}

/* Up to 6.11 the tracepoint tells no errno: a killed allocation (EINTR) or one without memory (ENOMEM) looks alike. */
static void an_end_that_is_not_told(void **state)
{
	(void)state;
	prove_cma_alloc_blocked_by_pin(&in);
	in.contig.result = 0;
	diagnose(&in, &id, &d);
	assert_int_equal(d.confidence, CONFIDENCE_likely);
	assert_true(missing_says(&d.verdict, "reason of the end"));
}

/* A block is isolated for as long as somebody empties it: after that a long-term pin may stay there. */
static void isolation_passes(void **state)
{
	(void)state;
	in.stranded = (struct wire_stranded){ .pages = 3, .isolated = 3, .looked = 256 };
	in.folios[0].flags = WIRE_FOLIO_ISOLATE;
	diagnose(&in, &id, &d);
	assert_int_equal(d.confidence, CONFIDENCE_likely);
}

static struct wire_holder holder_of(const struct wire_folio *f, uint64_t pin_id)
{
	struct wire_holder h;
	struct incident hazard;

	prove_first_pin_strands_pages(&hazard);
	h = hazard.holders.pins[0];
	h.hdr = (struct wire_hdr){ .kind = WIRE_HOLDER, .version = WIRE_VERSION, .size = sizeof(h), .time_ns = f->hdr.time_ns, .span_id = f->hdr.span_id };
	h.pfn = f->pfn;
	h.gup_call = f->gup_call;
	h.pin.id = pin_id;
	return h;
}

/* A child that keeps the device's file open keeps the pins of its parent, whose pid may be another's by now. */
static void a_pid_that_is_used_again(void **state)
{
	(void)state;
	prove_longterm_migrate_blocked_by_ref(&in);
	in.folios[0].refcount = in.folios[0].expected + 1024;
	in.holders.pins[in.holders.npins++] = holder_of(&in.folios[0], 7);
	in.holders.holdings[in.holders.nholdings++] = (struct holding){ .pfn = in.folios[0].pfn };
	in.holders.pins[0].pin.task_start_ns = in.end.task_start_ns - NS_PER_S;
	diagnose(&in, &id, &d);
	assert_int_equal(d.verdict.grade, GRADE_pin_proven_owner_seen);
	assert_false(evidence_says(&d.verdict, "the process itself"));
}

/* %ps prints the address where there is no symbol, as of a module that has been unloaded since. */
static void a_frame_without_a_name(void **state)
{
	struct pipeline_settings settings = test_settings();

	(void)state;
	bench_open(&bench, &settings);
	in.holders.pins[0].nstack = 2;
	strcpy(in.holders.pins[0].stack[1], "0xffffffffc0a1b2c3");
	bench_incident(&bench, &in);
	bench_facts(&bench);
	assert_int_equal(bench.nreports, 1);
	assert_null(strstr(bench.lines[0], "ffffffffc0a1b2c3"));
}

/* What the allocating process has open says nothing of a pin whose owner was seen, and is another's. */
static void the_allocator_is_not_the_holder(void **state)
{
	struct pipeline_settings settings = test_settings();

	(void)state;
	bench_open(&bench, &settings);
	prove_cma_alloc_blocked_by_pin(&in);
	in.end.tgid = 77; /* modprobe */
	bench_incident(&bench, &in);
	assert_int_equal(bench.last_ask.tgid, 77);
	assert_int_equal(bench.last_ask.held, FACTS_HELD_NOT);
}

/* Three processes have the same memory pinned: all 64 folios are held by pins that were seen. */
static void several_pins_of_each_folio(void **state)
{
	struct incident out;
	struct wire_holder h;
	struct join *j;

	(void)state;
	prove_longterm_migrate_blocked_by_ref(&in);
	in.nfolios = 0;
	for (uint32_t i = 0; i < WIRE_FOLIOS_MAX; i++)
		add_folio(&in, i, 3 * 1024);
	assert_int_equal(join_new(&j, 4), 0);
	for (uint32_t i = 0; i < in.nfolios; i++) {
		join_folio(j, &in.folios[i]);
		for (uint32_t k = 0; k < 3; k++) {
			h = holder_of(&in.folios[i], 100 + k);
			join_holder(j, &h);
		}
	}
	join_end(j, &in.end, &out);
	join_free(j);
	out.seen = in.seen;
	out.facts = in.facts;
	diagnose(&out, &id, &d);
	assert_int_equal(d.verdict.grade, GRADE_pin_proven_owner_seen);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_failure_keeps_its_place), TEST(hazards_do_not_use_up_the_budget), TEST(an_end_that_is_not_told), TEST(isolation_passes),
		TEST(a_pid_that_is_used_again), TEST(a_frame_without_a_name), TEST(the_allocator_is_not_the_holder), TEST(several_pins_of_each_folio),
	};

	return cmocka_run_group_tests_name("blame", tests, NULL, NULL);
}
