// SPDX-License-Identifier: BSD-2-Clause
/* longterm_migrate_blocked_by_ref and its nearest neighbours: no target, transient holders, no isolation. */
#include "support.h"

#include <errno.h>
#include <string.h>

#define ID "longterm_migrate_blocked_by_ref"

static struct identity id;
static struct incident in;
static struct diagnosis d;
static struct wire_folio *f;

static int setup(void **state)
{
	(void)state;
	id = test_identity();
	prove_longterm_migrate_blocked_by_ref(&in);
	f = &in.folios[0];
	return 0;
}

/* An ENOMEM of the umem function that nothing else explains points at its own allocations: no more than a guess. */
static void expect(const char *cause, enum confidence confidence)
{
	diagnose(&in, &id, &d);
	if (strcmp(cause, "unknown") == 0 && strcmp(verdict_cause(&d), "kernel_metadata_alloc_failed") == 0) {
		assert_int_equal(d.confidence, CONFIDENCE_likely);
		return;
	}
	assert_string_equal(verdict_cause(&d), cause);
	assert_int_equal(d.confidence, confidence);
}

static void expect_proven(enum grade grade)
{
	expect(ID, CONFIDENCE_proven);
	assert_int_equal(d.verdict.grade, grade);
}

static void set_extra(int64_t extra)
{
	f->refcount = f->expected + extra;
}

static void make_large(int64_t refcount, int64_t pincount)
{
	f->flags |= WIRE_FOLIO_LARGE;
	f->order = 9;
	f->refcount = refcount;
	f->pincount = pincount;
}

static void names_page_and_place(void **state)
{
	(void)state;
	expect_proven(GRADE_plain_reference);
	assert_int_equal(d.verdict.detail, DETAIL_in_cma);
	assert_non_null(strstr(d.verdict.summary, "page 37 (0x7f0000026000, pfn 0x75125, node 0)"));
	assert_non_null(strstr(d.verdict.summary, "MIGRATE_CMA pageblock of area \"hugetlb0\""));
	assert_non_null(strstr(d.verdict.summary, "3 references where 2 were expected"));
	assert_true(evidence_says(&d.verdict, "less than one DMA pin"));
	assert_true(d.verdict.ncandidates >= 3);
}

static void places(void **state)
{
	(void)state;
	f->flags = WIRE_FOLIO_ANON | WIRE_FOLIO_MOVABLE_ZONE;
	expect_proven(GRADE_plain_reference);
	assert_int_equal(d.verdict.detail, DETAIL_in_movable_zone);
	f->flags = WIRE_FOLIO_ANON | WIRE_FOLIO_ISOLATE;
	expect_proven(GRADE_plain_reference);
	assert_int_equal(d.verdict.detail, DETAIL_in_isolated_block);
	f->flags = WIRE_FOLIO_ANON | WIRE_FOLIO_ISOLATE | WIRE_FOLIO_CMA;
	expect_proven(GRADE_plain_reference);
	assert_int_equal(d.verdict.detail, DETAIL_in_several_places);
	/* Memory that long-term pins accept need not move: something else kept it. */
	f->flags = WIRE_FOLIO_ANON;
	expect("unknown", CONFIDENCE_unknown);
}

static void small_folio_grades(void **state)
{
	static const struct {
		int64_t extra;
		enum grade grade;
	} cases[] = {
		{ 1, GRADE_plain_reference }, { 1023, GRADE_plain_reference },
		{ 1024, GRADE_pin_evident_owner_unseen }, { 3072, GRADE_pin_evident_owner_unseen },
		{ 1025, GRADE_pin_or_references }, { 1100, GRADE_pin_or_references },
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		set_extra(cases[i].extra);
		expect_proven(cases[i].grade);
		/* One counter for both: never more than "counts like". */
		assert_true(evidence_says(&d.verdict, cases[i].extra < 1024 ? "not a DMA pin" : "counts like"));
		assert_true(evidence_says(&d.verdict, "share one counter") == (cases[i].extra >= 1024));
	}
}

static void large_folio_grades(void **state)
{
	(void)state;
	make_large(3, 1);
	expect_proven(GRADE_pin_evident_owner_unseen);
	assert_true(evidence_says(&d.verdict, "counted apart, not estimated; it counts pinned pages, not pinners"));
	make_large(3, 0);
	expect_proven(GRADE_plain_reference);
	/* Counted apart: a thousand plain references are not mistaken for a pin. */
	make_large(2 + 1024, 0);
	expect_proven(GRADE_plain_reference);
	/* Fewer references than pins cannot have been read at one moment. */
	make_large(3, 2);
	expect("unknown", CONFIDENCE_unknown);
}

static void mixed_grades(void **state)
{
	(void)state;
	add_folio(&in, 40, 1024);
	expect_proven(GRADE_mixed);
	assert_true(evidence_says(&d.verdict, "2 have surplus references: 1 plain, 1 counting like DMA pins"));
	/* One without surplus among them changes nothing about the others. */
	add_folio(&in, 41, 0);
	expect_proven(GRADE_mixed);
}

static void surplus_decides(void **state)
{
	(void)state;
	set_extra(0);
	expect(ID, CONFIDENCE_likely);
	assert_int_equal(d.verdict.detail, DETAIL_reference_gone);
	assert_true(missing_says(&d.verdict, "first_pin"));
	set_extra(-1);
	expect(ID, CONFIDENCE_likely);
	set_extra(1);
	expect_proven(GRADE_plain_reference);
}

static void refused_target_competes(void **state)
{
	(void)state;
	in.end.no_target = 1;
	expect(ID, CONFIDENCE_likely);
	set_extra(0);
	expect("longterm_migrate_no_target", CONFIDENCE_proven);
	assert_non_null(strstr(ruled_out(&d, ID), "0 of 1 folios"));
	assert_non_null(strstr(ruled_out(&d, ID), "1 refused"));
	in.end.no_target = 0;
	expect(ID, CONFIDENCE_likely);
}

static void migrate_that_ran_out_of_memory_competes(void **state)
{
	(void)state;
	in.end.chain[0].result = -ENOMEM;
	expect(ID, CONFIDENCE_likely);
	set_extra(0);
	expect("longterm_migrate_no_target", CONFIDENCE_proven);
}

static void unwatched_target_is_missing(void **state)
{
	(void)state;
	id.target_watched = false;
	expect(ID, CONFIDENCE_likely);
	assert_true(missing_says(&d.verdict, "failures to find a migration target"));
	/* With no surplus either, nothing points to a reference. */
	set_extra(0);
	expect("unknown", CONFIDENCE_unknown);
}

static void kinds_with_code_of_their_own(void **state)
{
	static const struct {
		uint32_t flags;
		enum confidence confidence;
	} cases[] = {
		{ WIRE_FOLIO_ANON, CONFIDENCE_proven },
		{ WIRE_FOLIO_SHMEM, CONFIDENCE_proven },
		{ WIRE_FOLIO_HUGETLB, CONFIDENCE_proven },
		{ WIRE_FOLIO_HUGETLB | WIRE_FOLIO_FILE, CONFIDENCE_proven },
		{ WIRE_FOLIO_FILE, CONFIDENCE_likely },
		{ WIRE_FOLIO_ANON | WIRE_FOLIO_KSM, CONFIDENCE_likely },
		{ WIRE_FOLIO_ANON | WIRE_FOLIO_SWAPCACHE, CONFIDENCE_likely },
		{ WIRE_FOLIO_SHMEM | WIRE_FOLIO_WRITEBACK, CONFIDENCE_likely },
		{ WIRE_FOLIO_UNMOVABLE_OPS, CONFIDENCE_likely },
		{ 0, CONFIDENCE_likely },
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		f->flags = cases[i].flags | WIRE_FOLIO_CMA;
		expect(ID, cases[i].confidence);
	}
}

static void one_clean_folio_proves_beside_a_doubtful_one(void **state)
{
	(void)state;
	f->flags = WIRE_FOLIO_FILE | WIRE_FOLIO_CMA;
	add_folio(&in, 90, 1);
	expect_proven(GRADE_plain_reference);
	assert_non_null(strstr(d.verdict.summary, "page 90 "));
}

static void hugetlb_without_surplus_is_not_blamed(void **state)
{
	(void)state;
	f->flags = WIRE_FOLIO_HUGETLB | WIRE_FOLIO_LARGE | WIRE_FOLIO_CMA;
	f->order = 18;
	f->pincount = 0;
	set_extra(0);
	expect("unknown", CONFIDENCE_unknown);
	assert_non_null(strstr(ruled_out(&d, ID), "0 of 1 hugetlb"));
	set_extra(1);
	expect_proven(GRADE_plain_reference);
}

static void what_was_not_read_proves_nothing(void **state)
{
	(void)state;
	f->have &= ~WIRE_HAVE_COUNTS;
	expect("unknown", CONFIDENCE_unknown);
	f->have |= WIRE_HAVE_COUNTS;
	f->have &= ~WIRE_HAVE_PLACEMENT;
	expect("unknown", CONFIDENCE_unknown);
	f->have |= WIRE_HAVE_PLACEMENT;
	in.nfolios = 0;
	expect("unknown", CONFIDENCE_unknown);
	assert_true(missing_says(&d.verdict, "pages"));
	in.nfolios = 1;
	in.end.folios_seen = 0;
	expect("unknown", CONFIDENCE_unknown);
}

static void flags_of_the_pin(void **state)
{
	(void)state;
	in.end.gup_flags &= ~id.foll_longterm;
	expect(ID, CONFIDENCE_likely);
	in.end.gup_flags |= id.foll_longterm;
	id.foll_longterm = 0;
	expect(ID, CONFIDENCE_likely);
	id.foll_longterm = 0x10000;
	in.end.have &= ~WIRE_HAVE_GUP;
	expect(ID, CONFIDENCE_likely);
}

static void errnos(void **state)
{
	(void)state;
	in.end.chain[1].result = in.end.gup_result = -EFAULT;
	expect("unknown", CONFIDENCE_unknown);
	assert_non_null(strstr(ruled_out(&d, ID), "EFAULT"));
	in.end.chain[1].result = in.end.gup_result = -ENOMEM;
	/* A driver that turns the errno into another hides nothing, but proves less. */
	in.end.result = -EINVAL;
	expect(ID, CONFIDENCE_likely);
}

static void a_pin_that_came_through_in_the_end(void **state)
{
	(void)state;
	in.end.gup_result = 219;
	expect("unknown", CONFIDENCE_unknown);
	assert_non_null(strstr(ruled_out(&d, ID), "219 pages"));
	in.end.gup_result = -ENOMEM;
	in.end.stage = WIRE_STAGE_PINNED;
	expect("unknown", CONFIDENCE_unknown);
	assert_non_null(strstr(ruled_out(&d, ID), "driver or its firmware"));
}

/* A hook that the kernel skipped: what the pin did is not known, so nothing may be ruled out by it. */
static void a_pin_whose_end_was_not_seen(void **state)
{
	(void)state;
	build_failure(&in, ENOMEM);
	add_chain(&in, WIRE_FN_UMEM, -ENOMEM);
	in.end.gup_calls = 1;
	in.end.have |= WIRE_HAVE_GUP;
	expect("unknown", CONFIDENCE_unknown);
	assert_null(ruled_out(&d, ID));
	in.end.have |= WIRE_HAVE_GUP_RESULT;
	in.end.gup_result = 256;
	expect("unknown", CONFIDENCE_unknown);
	assert_non_null(strstr(ruled_out(&d, ID), "not in what it calls"));
}

/* Folios without a migration for this pin are somebody else's, put back by compaction. */
static void folios_without_a_migration(void **state)
{
	(void)state;
	expect(ID, CONFIDENCE_proven);
	in.end.have &= ~WIRE_HAVE_MIGRATE;
	expect(ID, CONFIDENCE_likely);
	in.end.have |= WIRE_HAVE_MIGRATE;
	in.end.migrate_failed = 0;
	expect(ID, CONFIDENCE_likely);
}

static void nothing_had_to_move(void **state)
{
	(void)state;
	build_failure(&in, ENOMEM);
	add_chain(&in, WIRE_FN_GUP_LONGTERM, -ENOMEM);
	add_chain(&in, WIRE_FN_UMEM, -ENOMEM);
	in.end.gup_calls = 1;
	expect("unknown", CONFIDENCE_unknown);
	assert_non_null(strstr(ruled_out(&d, ID), "0 migrations"));
	in.end.passes = 1;
	diagnose(&in, &id, &d);
	assert_null(ruled_out(&d, ID));
}

static void no_pin_failed(void **state)
{
	(void)state;
	build_failure(&in, ENOMEM);
	add_chain(&in, WIRE_FN_UMEM, -ENOMEM);
	diagnose(&in, &id, &d);
	assert_non_null(strstr(ruled_out(&d, ID), "not in what it calls"));
	/* Unwatched, its silence excludes nothing. */
	id.fn_watched[WIRE_FN_GUP_LONGTERM] = false;
	diagnose(&in, &id, &d);
	assert_null(ruled_out(&d, ID));
}

static bool remedy_says(const char *words)
{
	uint32_t i;

	for (i = 0; i < d.verdict.nremedies; i++)
		if (strstr(d.verdict.remedies[i], words))
			return true;
	return false;
}

static void remedies_name_their_conditions(void **state)
{
	(void)state;
	expect_proven(GRADE_plain_reference);
	assert_true(remedy_says("hugetlb_cma=0, if this node allocates no gigantic"));
	assert_false(remedy_says("NVIDIA"));
	strcpy(f->area, "reserved");
	set_extra(1024);
	expect_proven(GRADE_pin_evident_owner_unseen);
	assert_true(remedy_says("CMA area \"reserved\""));
	assert_true(remedy_says("if the holder is NVIDIA's driver on x86_64: from 535.171.04"));
	strcpy(id.machine, "aarch64");
	expect_proven(GRADE_pin_evident_owner_unseen);
	assert_true(remedy_says("no release read so far (to 595.45.04) pins long-term there"));
	f->flags = WIRE_FOLIO_ANON | WIRE_FOLIO_MOVABLE_ZONE;
	expect_proven(GRADE_pin_evident_owner_unseen);
	assert_true(remedy_says("movablecore="));
	assert_false(remedy_says("hugetlb_cma"));
}

/* --- no page to move to --------------------------------------------------------------- */

#define NO_TARGET "longterm_migrate_no_target"
#define HUGE "hugetlb_in_cma_no_target"

static bool also_named(const char *cause)
{
	uint32_t i;

	for (i = 0; i < d.nalso; i++)
		if (strcmp(d.also[i]->id, cause) == 0)
			return true;
	return false;
}

static void huge_pages_in_cma_are_told_from_others(void **state)
{
	static const struct {
		uint32_t flags, order;
		const char *cause;
		enum detail detail;
	} cases[] = {
		{ WIRE_FOLIO_HUGETLB | WIRE_FOLIO_CMA, 18, HUGE, DETAIL_gigantic_page },
		{ WIRE_FOLIO_HUGETLB | WIRE_FOLIO_CMA | WIRE_FOLIO_FILE, 11, HUGE, DETAIL_gigantic_page },
		{ WIRE_FOLIO_HUGETLB | WIRE_FOLIO_CMA, 9, HUGE, DETAIL_huge_page },
		{ WIRE_FOLIO_HUGETLB | WIRE_FOLIO_MOVABLE_ZONE, 9, NO_TARGET, DETAIL_no_target_page },
		{ WIRE_FOLIO_ANON | WIRE_FOLIO_CMA, 9, NO_TARGET, DETAIL_no_target_page },
		{ WIRE_FOLIO_ANON | WIRE_FOLIO_CMA, 0, NO_TARGET, DETAIL_no_target_page },
		{ WIRE_FOLIO_HUGETLB | WIRE_FOLIO_CMA, 4000000000, HUGE, DETAIL_gigantic_page },
	};
	size_t i;

	(void)state;
	prove_hugetlb_in_cma_no_target(&in);
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		f->flags = cases[i].flags | WIRE_FOLIO_LARGE;
		f->order = cases[i].order;
		expect(cases[i].cause, CONFIDENCE_proven);
		assert_int_equal(d.verdict.detail, cases[i].detail);
		assert_int_equal(d.nalso, 0);
	}
}

/* Never blamed on a reference, and never proven beside one. */
static void huge_pages_that_are_held(void **state)
{
	(void)state;
	prove_hugetlb_in_cma_no_target(&in);
	f->refcount++;
	expect(HUGE, CONFIDENCE_likely);
	assert_true(also_named(ID));
	assert_true(evidence_says(&d.verdict, "1 of 1 folios that stayed have surplus references"));
	in.end.no_target = 0;
	in.end.chain[0].result = 1;
	expect_proven(GRADE_plain_reference);
	assert_non_null(strstr(ruled_out(&d, HUGE), "0 target pages"));
	prove_hugetlb_in_cma_no_target(&in);
	add_folio(&in, 50, 0);
	in.end.chain[0].result = -ENOMEM;
	expect(HUGE, CONFIDENCE_likely);
	assert_true(also_named(NO_TARGET));
}

static void a_migration_that_gave_up_needs_no_counts(void **state)
{
	(void)state;
	prove_longterm_migrate_no_target(&in);
	in.end.folios_seen = 5000;
	expect(NO_TARGET, CONFIDENCE_likely);
	assert_true(missing_says(&d.verdict, "kind of the pages"));
	in.end.have |= WIRE_HAVE_VMAS_ALL;
	expect(NO_TARGET, CONFIDENCE_proven);
	in.end.vmas[0].flags |= 0x400000;
	expect(NO_TARGET, CONFIDENCE_likely);
	in.end.vmas[0].flags &= ~0x400000ULL;
	/* Some targets were refused, and others moved or not: what was not read may have been held. */
	in.end.chain[0].result = 4999;
	expect(NO_TARGET, CONFIDENCE_likely);
	assert_true(missing_says(&d.verdict, "pages"));
	in.end.folios_seen = 1;
	expect(NO_TARGET, CONFIDENCE_proven);
	in.end.result = -EIO;
	expect(NO_TARGET, CONFIDENCE_likely);
}

static void targets_that_were_not_watched(void **state)
{
	(void)state;
	prove_longterm_migrate_no_target(&in);
	in.end.no_target = 0;
	in.end.chain[0].result = 1;
	id.target_watched = false;
	expect("unknown", CONFIDENCE_unknown);
	assert_null(ruled_out(&d, NO_TARGET));
	assert_null(ruled_out(&d, HUGE) && strstr(ruled_out(&d, HUGE), "target"));
	id.target_watched = true;
	diagnose(&in, &id, &d);
	assert_non_null(strstr(ruled_out(&d, NO_TARGET), "0 target pages were refused"));
}

/* --- what kind of holder it may be: never more than named beside ------------------------- */

static void holders_of_a_kind(void **state)
{
	static const struct {
		int64_t extra;
		uint32_t flags;
		bool second_gone, batch, race;
	} cases[] = {
		{ 1, WIRE_FOLIO_MLOCKED, false, true, false }, { 1, WIRE_FOLIO_MLOCKED, true, true, false },
		{ 1, 0, false, false, false }, { 2, WIRE_FOLIO_MLOCKED, false, false, false },
		{ 1024, WIRE_FOLIO_MLOCKED, false, false, false }, { 1024, 0, true, false, true },
		{ 2048, 0, true, false, false }, { 1025, 0, true, false, false }, { 1023, 0, true, false, false },
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		setup(state);
		set_extra(cases[i].extra);
		f->flags |= cases[i].flags;
		if (cases[i].second_gone)
			add_folio(&in, 38, 0);
		expect(ID, CONFIDENCE_proven);
		if (also_named("longterm_migrate_blocked_by_batch_ref") != cases[i].batch ||
		    also_named("longterm_pin_race_two_pinners") != cases[i].race)
			fail_msg("case %zu: %u others fit", i, d.nalso);
	}
}

/* --- pins that do not end ------------------------------------------------------------------- */

#define LIVELOCK "longterm_isolate_livelock"

static void rounds_of_a_pin(void **state)
{
	static const struct {
		uint32_t collects, passes;
		const char *cause;
		enum confidence confidence;
	} cases[] = {
		{ 250000, 0, LIVELOCK, CONFIDENCE_proven }, { 1000, 0, LIVELOCK, CONFIDENCE_proven },
		{ 999, 0, LIVELOCK, CONFIDENCE_likely }, { 100, 0, LIVELOCK, CONFIDENCE_likely },
		{ 99, 0, "unknown", CONFIDENCE_unknown }, { 1010, 10, LIVELOCK, CONFIDENCE_likely },
		{ 250000, 250000, "unknown", CONFIDENCE_unknown }, { 5, UINT32_MAX, "unknown", CONFIDENCE_unknown },
		{ 0, 0, "unknown", CONFIDENCE_unknown },
	};
	size_t i;

	(void)state;
	prove_longterm_isolate_livelock(&in);
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		in.end.collects = cases[i].collects;
		in.end.passes = cases[i].passes;
		expect(cases[i].cause, cases[i].confidence);
		assert_true(cases[i].confidence != CONFIDENCE_unknown || !cases[i].collects || ruled_out(&d, LIVELOCK));
	}
}

static void a_pin_whose_rounds_cannot_be_counted(void **state)
{
	(void)state;
	prove_longterm_isolate_livelock(&in);
	in.end.collects = 0;
	in.sighting = (struct sighting){ .verified = SIGHTING_SPINS };
	id.fn_watched[WIRE_FN_COLLECT] = false;
	expect(LIVELOCK, CONFIDENCE_likely);
	/* Where it waits was not told, or it gets on: neither is a thread that spins. */
	in.sighting = (struct sighting){ .verified = SIGHTING_WAITS };
	expect("unknown", CONFIDENCE_unknown);
	in.sighting = (struct sighting){ .verified = SIGHTING_FIRES };
	expect("unknown", CONFIDENCE_unknown);
	in.sighting = (struct sighting){ .verified = SIGHTING_SPINS };
	expect(LIVELOCK, CONFIDENCE_likely);
	assert_true(missing_says(&d.verdict, "rounds of the pin"));
	id.fn_watched[WIRE_FN_COLLECT] = true;
	expect("unknown", CONFIDENCE_unknown);
	id.fn_watched[WIRE_FN_COLLECT] = false;
	in.end.start_ns = in.end.hdr.time_ns - 9 * NS_PER_S;
	expect("unknown", CONFIDENCE_unknown);
	in.end.start_ns = UINT64_MAX;
	expect("unknown", CONFIDENCE_unknown);
	in.end.start_ns = 0;
	in.end.stage = WIRE_STAGE_PINNED;
	expect("unknown", CONFIDENCE_unknown);
	assert_non_null(strstr(ruled_out(&d, LIVELOCK), "driver"));
}

static void coherent_memory_of_a_device(void **state)
{
	(void)state;
	prove_device_coherent_unmigratable(&in);
	expect("device_coherent_unmigratable", CONFIDENCE_likely);
	in.end.gup_flags &= ~id.foll_longterm;
	expect("unknown", CONFIDENCE_unknown);
}

#define TEST(name) cmocka_unit_test_setup(name, setup)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(names_page_and_place), TEST(places), TEST(small_folio_grades), TEST(large_folio_grades),
		TEST(mixed_grades), TEST(surplus_decides), TEST(refused_target_competes),
		TEST(migrate_that_ran_out_of_memory_competes), TEST(unwatched_target_is_missing),
		TEST(kinds_with_code_of_their_own), TEST(one_clean_folio_proves_beside_a_doubtful_one),
		TEST(hugetlb_without_surplus_is_not_blamed), TEST(what_was_not_read_proves_nothing),
		TEST(flags_of_the_pin), TEST(errnos), TEST(a_pin_that_came_through_in_the_end),
		TEST(a_pin_whose_end_was_not_seen), TEST(folios_without_a_migration), TEST(nothing_had_to_move), TEST(no_pin_failed), TEST(remedies_name_their_conditions),
		TEST(huge_pages_in_cma_are_told_from_others), TEST(huge_pages_that_are_held), TEST(a_migration_that_gave_up_needs_no_counts),
		TEST(targets_that_were_not_watched), TEST(holders_of_a_kind), TEST(rounds_of_a_pin),
		TEST(a_pin_whose_rounds_cannot_be_counted), TEST(coherent_memory_of_a_device),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
