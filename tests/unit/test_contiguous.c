// SPDX-License-Identifier: BSD-2-Clause
/* cma_alloc_blocked_by_pin: a hazard that has come true on CMA's side. */
#include "support.h"

#include <errno.h>
#include <string.h>

#include "decode.h"

#define ID "cma_alloc_blocked_by_pin"

static struct identity id;
static struct incident in;
static struct diagnosis d;
static struct bench bench;

static int setup(void **state)
{
	struct pipeline_settings settings = test_settings();

	(void)state;
	id = test_identity();
	prove_cma_alloc_blocked_by_pin(&in);
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

static void failed_or_elsewhere(void **state)
{
	(void)state;
	expect(CONFIDENCE_proven, DETAIL_contiguous_failed);
	assert_non_null(strstr(d.verdict.summary, "an allocation of 128 MiB of contiguous memory failed"));
	assert_true(evidence_says(&d.verdict, "modprobe (pid 4242) asked for 32768 contiguous pages (128 MiB), and cma_alloc failed with EBUSY"));
	assert_true(evidence_says(&d.verdict, "could not be emptied: 3; ranges of these in which a pin of the ledger has a page: 3, the first from frame 0x70000"));
	assert_true(evidence_says(&d.verdict, "it has 1025 references where 1 were expected"));
	assert_true(evidence_says(&d.verdict, "41.000 s earlier by os_lock_user_pages without FOLL_LONGTERM, and has not let go"));
	in.contig.failed = 0;
	in.contig.result = 0;
	expect(CONFIDENCE_proven, DETAIL_contiguous_elsewhere);
	assert_non_null(strstr(d.verdict.summary, "had to try again"));
	/* A kernel that does not tell the errno. */
	in.contig.failed = 1;
	expect(CONFIDENCE_likely, DETAIL_contiguous_failed);
	assert_true(missing_says(&d.verdict, "reason of the end"));
}

/* Each number that proves it, flipped. */
static void doubt(const char *missing)
{
	expect(CONFIDENCE_likely, in.contig.failed ? DETAIL_contiguous_failed : DETAIL_contiguous_elsewhere);
	assert_true(missing_says(&d.verdict, missing));
	prove_cma_alloc_blocked_by_pin(&in);
}

static void doubts(void **state)
{
	(void)state;
	in.contig.busy++;
	doubt("reason of the other ranges");
	in.contig.result = -EINTR;
	doubt("reason of the end");
	in.contig.start_ns = in.holders.pins[0].pin.since_ns;
	doubt("order of the two");
	in.folios[0].flags &= ~WIRE_FOLIO_CMA;
	doubt("pages.migratetype");
	in.holders.pins[0].pin.doubt = WIRE_DOUBT_MISSED;
	diagnose(&in, &id, &d);
	assert_int_equal(d.verdict.grade, GRADE_pin_evident_owner_unseen);
	assert_null(d.verdict.pin);
	assert_true(evidence_says(&d.verdict, "and may have let go"));
	doubt("first_pin.release");
	in.folios[0].have &= ~WIRE_HAVE_COUNTS;
	doubt("pages.refcount");
	in.folios[0].refcount = 2;
	doubt("pages.pincount");
}

/* Its count is gone with it; the ledger had it when the range was tried. */
static void given_back_since(void **state)
{
	(void)state;
	in.contig.held = 0;
	in.folios[0].refcount = 1;
	expect(CONFIDENCE_proven, DETAIL_contiguous_failed);
	assert_int_equal(d.verdict.grade, GRADE_pin_given_back_since);
	assert_true(evidence_says(&d.verdict, "has let go since"));
}

static void refused(void (*spoil)(struct wire_cma_blocked *))
{
	struct wire_cma_blocked b = blocked_record(&in);
	struct event ev;

	assert_int_equal(decode_event(&b, sizeof(b), &ev), 0);
	spoil(&b);
	assert_int_equal(decode_event(&b, sizeof(b), &ev), -EBADMSG);
}

static void no_pages(struct wire_cma_blocked *b) { b->contig.pages = 0; }
static void no_pinned(struct wire_cma_blocked *b) { b->contig.pinned = 0; }
static void more_pinned(struct wire_cma_blocked *b) { b->contig.pinned = b->contig.busy + 1; }
static void more_unsearched(struct wire_cma_blocked *b) { b->contig.unsearched = 1; }
static void errno_of_success(struct wire_cma_blocked *b) { b->contig.failed = 0; }
static void positive(struct wire_cma_blocked *b) { b->contig.result = 1; }
static void no_errno(struct wire_cma_blocked *b) { b->contig.result = -4096; }
static void no_pin(struct wire_cma_blocked *b) { b->holder.pin.id = 0; }
static void order(struct wire_cma_blocked *b) { b->page.order = 64; }
static void count(struct wire_cma_blocked *b) { b->page.refcount = 1LL << 50; }
static void result(struct wire_cma_blocked *b) { b->end.result = -ENOMEM; }

static void bad_records(void **state)
{
	(void)state;
	refused(no_pages);
	refused(no_pinned);
	refused(more_pinned);
	refused(more_unsearched);
	refused(errno_of_success);
	refused(positive);
	refused(no_errno);
	refused(no_pin);
	refused(order);
	refused(count);
	refused(result);
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
	assert_null(jget(r, "stranded"));
	assert_null(jget(r, "registration"));
	assert_int_equal(jint(r, "contiguous_allocation.pages"), 32768);
	assert_int_equal(jint(r, "contiguous_allocation.errno"), EBUSY);
	assert_int_equal(jint(r, "contiguous_allocation.ranges_busy"), 3);
	assert_string_equal(jstr(r, "contiguous_allocation.first_pfn"), "0x70000");
	assert_string_equal(jstr(r, "process.comm"), "modprobe");
	assert_string_equal(jstr(r, "first_pin.comm"), "trainer");
	assert_string_equal(jstr(r, "first_pin.grade"), "pin_proven_owner_seen");
	assert_int_equal(jint(r, "pages.0.refcount"), 1025);
	assert_int_equal(jint(r, "pages_total"), 1);
}

/* A driver that asks again and again makes one summary, apart from that of the pins themselves. */
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
	assert_null(jget(r, "registration"));
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(failed_or_elsewhere), TEST(doubts), TEST(given_back_since), TEST(bad_records), TEST(reported), TEST(folded),
	};

	return cmocka_run_group_tests_name("contiguous", tests, NULL, NULL);
}
