// SPDX-License-Identifier: BSD-2-Clause
/* Grades of a first pin whose owner was not seen, and the candidates: each with what speaks for it, and no more. */
#include "support.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define ID "longterm_migrate_blocked_by_ref"
#define RACE "longterm_pin_race_two_pinners"
#define NO_TARGET "longterm_migrate_no_target"

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
	f->refcount = f->expected + 1024;
	return 0;
}

static void look(const char *cause, enum grade grade)
{
	diagnose(&in, &id, &d);
	assert_string_equal(verdict_cause(&d), cause);
	assert_int_equal(d.verdict.grade, grade);
	assert_null(d.verdict.pin);
}

/* Whether a candidate begins with the one and has the other. */
static bool candidate(const char *begins, const char *has)
{
	for (uint32_t i = 0; i < d.verdict.ncandidates; i++)
		if (strncmp(d.verdict.candidates[i], begins, strlen(begins)) == 0 && strstr(d.verdict.candidates[i], has))
			return true;
	return false;
}

static void answered(const char *buffers, const char *files, uint64_t pipes)
{
	struct facts *facts = &in.facts;

	facts->err[FACT_holder_buffers] = facts->err[FACT_holder_files] = facts->err[FACT_holder_pipes] = 0;
	strcpy(facts->holder_buffers, buffers);
	strcpy(facts->holder_files, files);
	facts->holder_pipes = pipes;
}

/* --- grades ------------------------------------------------------------------------ */

static void another_longterm_pin(void **state)
{
	(void)state;
	look(ID, GRADE_pin_evident_owner_unseen);
	assert_true(candidate("another long-term pin", "in progress"));
	add_rival(&in, f, 9001);
	look(ID, GRADE_another_longterm_pin_in_flight);
	assert_int_equal(d.confidence, CONFIDENCE_proven);
	assert_true(evidence_says(&d.verdict, "at that moment thread 4299 of the process was in a long-term pin of its own, of 2 pages"));
	/* It may be that one's, or a driver's: nobody is excluded. */
	assert_true(candidate("a driver that pinned", ""));
	assert_int_equal(d.nalso, 1);
	assert_string_equal(d.also[0]->id, RACE);
	/* A count that holds no pin is not that pin's, whatever it was doing. */
	f->refcount = f->expected + 1023;
	look(ID, GRADE_plain_reference);
	assert_non_null(ruled_out(&d, RACE));
	f->refcount = f->expected + 1025;
	look(ID, GRADE_pin_or_references);
	f->refcount = f->expected;
	look(ID, GRADE_reference_gone);
	assert_true(evidence_says(&d.verdict, "at that moment thread 4299"));
	f->refcount = f->expected + 1024;
	in.holders.holdings[0].pfn++;
	look(ID, GRADE_pin_evident_owner_unseen);
}

/* A pin of the ledger is seen to hold the page; one in progress is not. */
static void the_ledger_knows_better(void **state)
{
	(void)state;
	add_rival(&in, f, 9001);
	add_rival(&in, f, 9002);
	in.holders.pins[1].pin.via = WIRE_PIN_VIA_NVIDIA;
	diagnose(&in, &id, &d);
	assert_int_equal(d.verdict.grade, GRADE_pin_proven_owner_seen);
	assert_non_null(d.verdict.pin);
	assert_int_equal(d.verdict.pin->via, WIRE_PIN_VIA_NVIDIA);
	assert_non_null(ruled_out(&d, RACE));
}

static void some_of_several(void **state)
{
	(void)state;
	add_rival(&in, f, 9001);
	add_folio(&in, 40, 1024);
	look(ID, GRADE_mixed);
	assert_true(evidence_says(&d.verdict, "0 plain, 2 counting like DMA pins"));
	add_rival(&in, &in.folios[1], 9001);
	look(ID, GRADE_another_longterm_pin_in_flight);
}

static void nothing_held_them(void **state)
{
	(void)state;
	f->refcount = f->expected;
	look(ID, GRADE_reference_gone);
	assert_int_equal(d.confidence, CONFIDENCE_likely);
	assert_int_equal(d.verdict.ncandidates, 0);
	prove_longterm_migrate_no_target(&in);
	look(NO_TARGET, GRADE_no_migration_target);
	assert_int_equal(d.confidence, CONFIDENCE_proven);
	assert_int_equal(d.verdict.ncandidates, 0);
	/* The same memory, and one reference more: then somebody does hold it. */
	f->refcount++;
	diagnose(&in, &id, &d);
	assert_int_equal(d.confidence, CONFIDENCE_likely);
	assert_int_equal(d.verdict.grade, GRADE_plain_reference);
	prove_hugetlb_in_cma_no_target(&in);
	look("hugetlb_in_cma_no_target", GRADE_no_migration_target);
	f->refcount++;
	look("hugetlb_in_cma_no_target", GRADE_plain_reference);
	assert_true(d.verdict.ncandidates > 0);
}

/* CMA that belongs to no area, as kexec handover leaves it. */
static void leave_cma(void)
{
	f->have &= ~WIRE_HAVE_AREA;
	memset(f->area, 0, sizeof(f->area));
	in.facts.err[FACT_cma_total_bytes] = in.facts.err[FACT_cma_free_bytes] = 0;
	in.facts.cma_total_bytes = 1 << 20;
	in.facts.cma_free_bytes = (1 << 20) + 1;
}

static bool remedy_says(const char *words)
{
	for (uint32_t i = 0; i < d.verdict.nremedies; i++)
		if (strstr(d.verdict.remedies[i], words))
			return true;
	return false;
}

/* Two that look alike: held, and with nowhere to go. */
static void areas_without_a_name(void **state)
{
	(void)state;
	leave_cma();
	look(ID, GRADE_pin_evident_owner_unseen);
	assert_int_equal(d.confidence, CONFIDENCE_proven);
	assert_true(evidence_says(&d.verdict, "as kexec handover does"));
	assert_true(remedy_says("kho=off"));
	in.facts.cma_free_bytes--;
	look(ID, GRADE_pin_evident_owner_unseen);
	assert_false(evidence_says(&d.verdict, "kexec handover"));
	assert_false(remedy_says("kho=off"));
	/* Where areas are not told, that none has it is not known. */
	in.facts.cma_free_bytes++;
	f->flags |= WIRE_FOLIO_AREA_UNTOLD;
	look(ID, GRADE_pin_evident_owner_unseen);
	assert_int_equal(d.confidence, CONFIDENCE_proven);
	assert_false(evidence_says(&d.verdict, "no listed area has it"));
	prove_hugetlb_in_cma_no_target(&in);
	leave_cma();
	f->order = 9;
	look("hugetlb_in_cma_no_target", GRADE_no_migration_target);
	assert_int_equal(d.confidence, CONFIDENCE_proven);
	assert_true(evidence_says(&d.verdict, "as kexec handover does"));
	assert_true(remedy_says("kho=off"));
}

/* --- candidates -------------------------------------------------------------------- */

static void graphics_drivers(void **state)
{
	(void)state;
	look(ID, GRADE_pin_evident_owner_unseen);
	assert_false(candidate("a driver that pinned", "; the process"));
	answered("", "2 /dev/nvidia0\n1 /dev/nvidia-uvm\n1 /dev/vfio/vfio\n", 0);
	look(ID, GRADE_pin_evident_owner_unseen);
	assert_true(candidate("a driver that pinned", "; the process has /dev/nvidia0, /dev/nvidia-uvm open"));
	answered("", "", 0);
	look(ID, GRADE_pin_evident_owner_unseen);
	assert_true(candidate("a driver that pinned", "had no GPU's device file open"));
	answered("", "+ descriptors\n", 0);
	look(ID, GRADE_pin_evident_owner_unseen);
	assert_false(candidate("a driver that pinned", "no GPU's device"));
	assert_true(missing_says(&d.verdict, "first_pin.candidates"));
}

/* The address says what was registered: never more than likely, and not where that pin would have moved the page. */
static void registered_buffers(void **state)
{
	char line[64];

	(void)state;
	snprintf(line, sizeof(line), "5 0x%llx 4096\n", (unsigned long long)f->address);
	answered(line, "1 /dev/vfio/vfio\n", 0);
	in.facts.err[FACT_mr_process_count] = 0;
	in.facts.mr_process_count = 3;
	look(ID, GRADE_pin_evident_owner_unseen);
	assert_true(evidence_says(&d.verdict, "io_uring (descriptor 5) has a buffer registered at that address: not the likely holder"));
	assert_false(candidate("the likely one: io_uring", ""));
	assert_false(candidate("a mapping by VFIO", ""));
	f->flags = WIRE_FOLIO_ANON | WIRE_FOLIO_ISOLATE;
	look(ID, GRADE_pin_evident_owner_unseen);
	assert_true(candidate("the likely one: io_uring (descriptor 5 of the process), which has 4096 bytes", "at that address"));
	assert_true(candidate("a mapping by VFIO", "the process has /dev/vfio/vfio open"));
	assert_true(candidate("a memory region from before", "the process has 3 on that device"));
	assert_true(strncmp(d.verdict.candidates[0], "the likely one", 14) == 0);
	/* A byte beside the page is another page's. */
	snprintf(line, sizeof(line), "5 0x%llx 4096\n", (unsigned long long)f->address + PAGE);
	answered(line, "", 0);
	look(ID, GRADE_pin_evident_owner_unseen);
	assert_false(candidate("the likely one: io_uring", ""));
	/* Where the page lies in the range is not known. */
	snprintf(line, sizeof(line), "5 0x%llx 4096\n", (unsigned long long)f->address);
	answered(line, "", 0);
	f->have &= ~WIRE_HAVE_ADDRESS;
	look(ID, GRADE_pin_evident_owner_unseen);
	assert_false(candidate("the likely one: io_uring", ""));
}

static void plain_references(void **state)
{
	(void)state;
	f->refcount = f->expected + 1;
	look(ID, GRADE_plain_reference);
	assert_true(candidate("pages given to a pipe", ""));
	assert_false(candidate("pages given to a pipe", "; the process"));
	assert_true(candidate("direct I/O in flight, which takes plain references", ""));
	assert_true(candidate("a per-CPU LRU batch", "transient"));
	assert_false(candidate("a per-CPU mlock batch", ""));
	assert_false(candidate("the swap cache", ""));
	answered("", "", 2);
	f->flags |= WIRE_FOLIO_MLOCKED | WIRE_FOLIO_LOCKED;
	id.direct_io_pins = true;
	look(ID, GRADE_plain_reference);
	assert_true(candidate("pages given to a pipe", "; the process has 2 ends of pipes open"));
	assert_false(candidate("direct I/O in flight", ""));
	assert_true(candidate("a per-CPU mlock batch", "the page is mlocked"));
	assert_true(candidate("the swap cache", "the page is locked by someone"));
	assert_false(candidate("a driver", ""));
	answered("", "", 0);
	f->refcount = f->expected + 3;
	look(ID, GRADE_plain_reference);
	assert_true(candidate("pages given to a pipe", "the process had none open"));
	assert_false(candidate("a per-CPU", ""));
	f->flags |= WIRE_FOLIO_SWAPCACHE;
	diagnose(&in, &id, &d);
	assert_true(candidate("the swap cache", "the page is in it"));
}

static void other_processes(void **state)
{
	(void)state;
	answered("", "", 0);
	in.facts.err[FACT_holder_others] = 0;
	strcpy(in.facts.holder_others, "200 python /dev/nvidia0\n201 fio anon_inode:[io_uring]\n+ time\n");
	look(ID, GRADE_pin_evident_owner_unseen);
	assert_true(candidate("another process, if it has the page mapped", "python (pid 200, /dev/nvidia0), fio (pid 201, anon_inode:[io_uring]) and others"));
	assert_true(missing_says(&d.verdict, "first_pin.candidates"));
}

/* Whose files are asked for. */
static void what_is_asked(void **state)
{
	(void)state;
	assert_int_equal(incident_held(&in), FACTS_HELD_ALONE);
	f->mapcount = 2;
	assert_int_equal(incident_held(&in), FACTS_HELD_SHARED);
	f->mapcount = 1;
	f->flags = WIRE_FOLIO_SHMEM | WIRE_FOLIO_CMA;
	assert_int_equal(incident_held(&in), FACTS_HELD_SHARED);
	f->refcount = f->expected;
	assert_int_equal(incident_held(&in), FACTS_HELD_NOT);
	build_failure(&in, ENOMEM);
	assert_int_equal(incident_held(&in), FACTS_HELD_NOT);
}

static void reported(void **state)
{
	struct pipeline_settings settings = test_settings();
	struct json_object *r;
	struct facts facts;
	struct bench b;

	(void)state;
	add_rival(&in, f, 9001);
	bench_open(&b, &settings);
	bench_incident(&b, &in);
	assert_int_equal(b.last_ask.held, FACTS_HELD_ALONE);
	assert_true(b.last_ask.address == in.end.address && b.last_ask.length == in.end.length);
	facts = test_facts();
	facts.err[FACT_holder_buffers] = facts.err[FACT_holder_files] = 0;
	facts.err[FACT_holder_pipes] = facts.err[FACT_holder_others] = 0;
	strcpy(facts.holder_buffers, "5 0x7f0000026000 4096\n");
	strcpy(facts.holder_files, "2 /dev/nvidia0\n");
	strcpy(facts.holder_others, "200 \xff\x1b[2J /dev/kfd\n");
	facts.holder_pipes = 4;
	pipeline_facts(b.pipeline, b.last_ask.id, &facts, test_clock(b.mono_ns));
	assert_int_equal(b.nreports, 1);
	r = b.reports[0];
	assert_string_equal(jstr(r, "first_pin.grade"), "another_longterm_pin_in_flight");
	assert_null(jget(r, "first_pin.pid"));
	assert_string_equal(jstr(r, "first_pin.cross_check.io_uring_buffers.0.address"), "0x7f0000026000");
	assert_int_equal(jint(r, "first_pin.cross_check.io_uring_buffers.0.fd"), 5);
	assert_string_equal(jstr(r, "first_pin.cross_check.device_files.0.name"), "/dev/nvidia0");
	assert_int_equal(jint(r, "first_pin.cross_check.device_files.0.count"), 2);
	assert_int_equal(jint(r, "first_pin.cross_check.pipe_ends"), 4);
	assert_int_equal(jint(r, "first_pin.cross_check.memory_regions"), 3);
	assert_int_equal(jint(r, "first_pin.cross_check.other_processes.0.pid"), 200);
	bench_close(&b);
}

#define TEST(f) cmocka_unit_test_setup(f, setup)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(another_longterm_pin), TEST(the_ledger_knows_better), TEST(some_of_several), TEST(nothing_held_them),
		TEST(areas_without_a_name), TEST(graphics_drivers), TEST(registered_buffers), TEST(plain_references),
		TEST(other_processes), TEST(what_is_asked), TEST(reported),
	};

	return cmocka_run_group_tests_name("candidates", tests, NULL, NULL);
}
