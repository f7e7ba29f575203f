// SPDX-License-Identifier: BSD-2-Clause
/* Who holds the pages: the ledger's pins in decode, join, verdict and report. */
#include "support.h"

#include <errno.h>
#include <string.h>

#include "decode.h"
#include "join.h"

#define ID "longterm_migrate_blocked_by_ref"
#define PIN_ID 77

static struct identity id;
static struct incident in;
static struct diagnosis d;

static struct wire_holder holder_of(const struct wire_folio *f, uint64_t pin_id)
{
	return (struct wire_holder){
		.hdr = { .kind = WIRE_HOLDER, .version = WIRE_VERSION, .size = sizeof(struct wire_holder),
			 .time_ns = f->hdr.time_ns, .span_id = f->hdr.span_id },
		.pfn = f->pfn, .page = 3, .gup_call = f->gup_call, .nstack = 2,
		.pin = {
			.id = pin_id, .since_ns = in.end.hdr.time_ns - 41 * NS_PER_S, .task_start_ns = in.end.task_start_ns,
			.address = RANGE, .pages = 256, .tgid = in.end.tgid, .tid = in.end.tid, .gup_flags = 1, .calls = 1,
			.via = WIRE_PIN_VIA_NVIDIA, .comm = "trainer",
		},
		.stack = { "os_lock_user_pages [nvidia]", "rm_ioctl [nvidia]" },
	};
}

static void hold(struct incident *incident, const struct wire_holder *h)
{
	struct holders *all = &incident->holders;
	uint32_t i = 0;

	while (i < all->npins && all->pins[i].pin.id != h->pin.id)
		i++;
	if (i == all->npins)
		all->pins[all->npins++] = *h;
	all->holdings[all->nholdings++] = (struct holding){ h->pfn, h->page, i, h->pin.doubt, h->pin.calls, 0 };
}

static int setup(void **state)
{
	struct wire_holder h;

	(void)state;
	id = test_identity();
	prove_longterm_migrate_blocked_by_ref(&in);
	in.folios[0].refcount = in.folios[0].expected + 1024;
	h = holder_of(&in.folios[0], PIN_ID);
	hold(&in, &h);
	return 0;
}

static void expect(enum grade grade, bool owner)
{
	diagnose(&in, &id, &d);
	assert_string_equal(verdict_cause(&d), ID);
	assert_int_equal(d.confidence, CONFIDENCE_proven);
	assert_int_equal(d.verdict.grade, grade);
	assert_int_equal(d.verdict.pin != NULL, owner);
	assert_int_equal(evidence_says(&d.verdict, "and has not let go"), owner);
}

static void owner_seen(void **state)
{
	(void)state;
	expect(GRADE_pin_proven_owner_seen, true);
	assert_true(evidence_says(&d.verdict, "trainer (pid 4242, the process itself) pinned 256 pages from 0x7f0000001000, this one among them, 41.000 s earlier by os_lock_user_pages without FOLL_LONGTERM"));
	assert_int_equal(d.verdict.ncandidates, 0);
	assert_non_null(strstr(ruled_out(&d, "longterm_pin_race_two_pinners"), "in the ledger"));
}

/* Fewer references than a pin counts for: the ledger says one thing and the page another, so nobody is named. */
static void count_without_a_pin(void **state)
{
	(void)state;
	in.folios[0].refcount = in.folios[0].expected + 1023;
	expect(GRADE_plain_reference, false);
	assert_true(d.verdict.ncandidates > 0);
	in.folios[0].flags |= WIRE_FOLIO_LARGE;
	in.folios[0].order = 9;
	in.folios[0].pincount = 0;
	expect(GRADE_plain_reference, false);
	in.folios[0].pincount = 1;
	expect(GRADE_pin_proven_owner_seen, true);
}

/* A pin of another page says nothing of this one. */
static void another_page(void **state)
{
	(void)state;
	in.holders.holdings[0].pfn++;
	expect(GRADE_pin_evident_owner_unseen, false);
	in.holders.nholdings = 0;
	expect(GRADE_pin_evident_owner_unseen, false);
}

static void some_of_several_pages(void **state)
{
	struct wire_folio *f = add_folio(&in, 40, 1024);
	struct wire_holder h;

	(void)state;
	expect(GRADE_mixed_some_owners_seen, true);
	assert_true(evidence_says(&d.verdict, "1 of the folios are held by pins of the ledger"));
	assert_true(d.verdict.ncandidates > 0);
	h = holder_of(f, PIN_ID);
	hold(&in, &h);
	expect(GRADE_pin_proven_owner_seen, true);
}

/* The page that the verdict names is one whose holder was seen, when there is one. */
static void names_the_page_of_the_owner(void **state)
{
	(void)state;
	add_folio(&in, 40, 1024);
	in.holders.holdings[0].pfn = in.folios[1].pfn;
	expect(GRADE_mixed_some_owners_seen, true);
	assert_non_null(strstr(d.verdict.summary, "page 40 "));
}

static void more_pins_than_entries(void **state)
{
	struct wire_holder h = holder_of(&in.folios[0], PIN_ID + 1);

	(void)state;
	in.folios[0].refcount = in.folios[0].expected + 3 * 1024;
	expect(GRADE_pin_proven_owner_seen, true);
	assert_true(evidence_says(&d.verdict, "count like 3 pins; at least 1 of them is in the ledger"));
	h.pin.since_ns -= NS_PER_S;
	strcpy(h.pin.comm, "older");
	hold(&in, &h);
	expect(GRADE_pin_proven_owner_seen, true);
	assert_true(evidence_says(&d.verdict, "count like 3 pins; at least 2 of them are in the ledger"));
	assert_true(evidence_says(&d.verdict, "at least 2 pins of the ledger cover that page"));
	assert_string_equal(d.verdict.pin->comm, "older");
}

static bool remedy_says(const char *words)
{
	uint32_t i;

	for (i = 0; i < d.verdict.nremedies; i++)
		if (strstr(d.verdict.remedies[i], words))
			return true;
	return false;
}

static void flags(void **state)
{
	struct wire_pin *pin = &in.holders.pins[0].pin;

	(void)state;
	expect(GRADE_pin_proven_owner_seen, true);
	assert_true(remedy_says("the holder is NVIDIA's driver on x86_64"));
	assert_false(remedy_says("if the holder is NVIDIA"));
	pin->gup_flags |= id.foll_longterm;
	expect(GRADE_pin_proven_owner_seen, true);
	assert_true(evidence_says(&d.verdict, " with FOLL_LONGTERM"));
	assert_false(remedy_says("NVIDIA"));
	pin->gup_flags = pin->calls = 0;
	expect(GRADE_pin_proven_owner_seen, true);
	assert_true(evidence_says(&d.verdict, "its flags were not seen"));
}

/* --- pins of armed processes ------------------------------------------------------------- */

static void armed_pin(uint32_t via, uint32_t doubt)
{
	struct wire_holder *h = &in.holders.pins[0];

	h->pin.via = via;
	h->pin.doubt = in.holders.holdings[0].doubt = doubt;
	h->nstack = 4;
	strcpy(h->stack[0], "bpf_trampoline_6442");
	strcpy(h->stack[1], "pin_user_pages_fast");
	strcpy(h->stack[2], "hold_fill [pinhold]");
	strcpy(h->stack[3], "other [later]");
}

static bool candidate_says(const char *words)
{
	uint32_t i, n = 0;

	for (i = 0; i < d.verdict.ncandidates; i++)
		n += strstr(d.verdict.candidates[i], "was seen pinning the page") && strstr(d.verdict.candidates[i], words);
	return n == 1;
}

static void armed_owner_seen(void **state)
{
	(void)state;
	armed_pin(WIRE_PIN_VIA_PIN_FAST, WIRE_DOUBT_NONE);
	expect(GRADE_pin_proven_owner_seen, true);
	assert_true(evidence_says(&d.verdict, "trainer (pid 4242, the process itself) pinned 256 pages from 0x7f0000001000, this one among them, 41.000 s earlier by pin_user_pages_fast without FOLL_LONGTERM"));
	assert_int_equal(d.verdict.ncandidates, 0);
	assert_false(remedy_says("the holder is NVIDIA"));
	armed_pin(WIRE_PIN_VIA_PIN, WIRE_DOUBT_NONE);
	expect(GRADE_pin_proven_owner_seen, true);
	assert_true(evidence_says(&d.verdict, "earlier by pin_user_pages without"));
	/* Pinned again before the first was given back: that one may be over. */
	in.holders.holdings[0].calls = 7;
	diagnose(&in, &id, &d);
	assert_int_equal(d.verdict.grade, GRADE_pin_proven_owner_seen);
	assert_true(evidence_says(&d.verdict, "pinned this page 7 times, first 41.000 s earlier by pin_user_pages without FOLL_LONGTERM, and has had it pinned ever since"));
	assert_false(evidence_says(&d.verdict, "has not let go"));
}

/* Whatever makes it doubtful, nobody is named: it is a candidate, with the reason. */
static void armed_look_alikes(void **state)
{
	static const char *const words[WIRE_DOUBT_MAX] = {
		[WIRE_DOUBT_MIXED] = "whose pins are left was not seen", [WIRE_DOUBT_COUNT] = "not as many as were seen",
		[WIRE_DOUBT_MISSED] = "whether it was given back was not seen",
		[WIRE_DOUBT_UNWATCHED] = "whether it was given back was not seen",
	};

	(void)state;
	for (uint32_t doubt = WIRE_DOUBT_NONE + 1; doubt < WIRE_DOUBT_MAX; doubt++) {
		armed_pin(WIRE_PIN_VIA_PIN_FAST, doubt);
		expect(GRADE_pin_evident_owner_unseen, false);
		assert_true(candidate_says(words[doubt]));
		assert_true(candidate_says("trainer (pid 4242), which was seen pinning the page 41.000 s earlier by pin_user_pages_fast, called from hold_fill of module pinhold: "));
	}
	/* Nor for another page, nor for one that has no pin at all. */
	in.holders.holdings[0].pfn++;
	expect(GRADE_pin_evident_owner_unseen, false);
	assert_false(candidate_says(""));
	in.holders.holdings[0].pfn--;
	in.folios[0].refcount = in.folios[0].expected + 1023;
	expect(GRADE_plain_reference, false);
	assert_false(candidate_says(""));
}

/* One call may have pinned pages of both kinds; each page is told of by itself, whichever comes first. */
static void armed_doubt_of_each_page(void **state)
{
	struct wire_holder h = in.holders.pins[0];
	struct wire_folio *f = add_folio(&in, 40, 1024);
	static struct incident out;
	struct join *j;

	(void)state;
	h.pin.via = WIRE_PIN_VIA_PIN_FAST;
	for (uint32_t first = WIRE_DOUBT_NONE; first <= WIRE_DOUBT_MIXED; first++) {
		assert_int_equal(join_new(&j, 2), 0);
		for (uint32_t i = 0; i < 2; i++) {
			h.pfn = i ? f->pfn : in.folios[0].pfn;
			h.pin.doubt = i ? WIRE_DOUBT_MIXED - first : first;
			join_folio(j, i ? f : &in.folios[0]);
			join_holder(j, &h);
		}
		join_end(j, &in.end, &out);
		assert_int_equal(incident_holders(&out, &in.folios[0], NULL), first ? 0 : 1);
		assert_int_equal(incident_holders(&out, f, NULL), first ? 1 : 0);
		join_free(j);
	}
}

/* The ledger's own entry is as good as ever beside one that is doubtful. */
static void armed_beside_ledger(void **state)
{
	struct wire_holder h = holder_of(&in.folios[0], PIN_ID + 1);

	(void)state;
	h.pin.via = WIRE_PIN_VIA_PIN;
	h.pin.doubt = WIRE_DOUBT_MIXED;
	h.pin.since_ns -= NS_PER_S;
	hold(&in, &h);
	expect(GRADE_pin_proven_owner_seen, true);
	assert_int_equal(d.verdict.pin->via, WIRE_PIN_VIA_NVIDIA);
	assert_int_equal(incident_holders(&in, &in.folios[0], NULL), 1);
}

static void armed_reported(void **state)
{
	struct pipeline_settings settings = test_settings();
	struct bench b;

	(void)state;
	armed_pin(WIRE_PIN_VIA_PIN_FAST, WIRE_DOUBT_NONE);
	bench_open(&b, &settings);
	bench_incident(&b, &in);
	bench_facts(&b);
	assert_int_equal(b.nreports, 1);
	assert_string_equal(jstr(b.reports[0], "first_pin.via"), "pin_user_pages_fast");
	assert_string_equal(jstr(b.reports[0], "first_pin.module"), "pinhold");
	assert_string_equal(jstr(b.reports[0], "first_pin.stack.0"), "pin_user_pages_fast");
	bench_close(&b);
}

/* --- pins by modules that nobody watches the release of ------------------------------------- */

static bool module_candidate_says(const char *words)
{
	uint32_t i, n = 0;

	for (i = 0; i < d.verdict.ncandidates; i++)
		n += strstr(d.verdict.candidates[i], ", which pinned ") && strstr(d.verdict.candidates[i], words);
	return n == 1;
}

static void module_pin(void)
{
	armed_pin(WIRE_PIN_VIA_MODULE, WIRE_DOUBT_UNWATCHED);
	strcpy(in.holders.pins[0].stack[0], "hold_fill [pinhold]");
	in.holders.pins[0].nstack = 1;
}

/* A candidate, and no more: the grade is as if nothing had been seen. */
static void module_pin_named(void **state)
{
	(void)state;
	module_pin();
	expect(GRADE_pin_evident_owner_unseen, false);
	assert_true(module_candidate_says("trainer (pid 4242, the process itself), which pinned 256 pages from 0x7f0000001000, where this one is mapped, through hold_fill of module pinhold, 41.000 s earlier, without FOLL_LONGTERM: whether it was given back was not seen, nor whether this page lay there then"));
	assert_false(candidate_says(""));
	in.holders.pins[0].pin.pages = 1;
	/* Its name was cut before that of the module. */
	strcpy(in.holders.pins[0].stack[0], "a_function_whose_name_is_as_long_as_the_record");
	expect(GRADE_pin_evident_owner_unseen, false);
	assert_true(module_candidate_says("pinned 1 page from 0x7f0000001000, where this one is mapped, through a module, 41.000 s"));
}

/* Nor when pins cannot be told from references; and of another page, or of one without a pin, nothing is said. */
static void module_pin_look_alikes(void **state)
{
	(void)state;
	module_pin();
	in.folios[0].refcount = in.folios[0].expected + 1100;
	expect(GRADE_pin_or_references, false);
	assert_true(module_candidate_says("hold_fill of module pinhold"));
	in.folios[0].refcount = in.folios[0].expected + 1023;
	expect(GRADE_plain_reference, false);
	assert_false(module_candidate_says(""));
	in.folios[0].refcount = in.folios[0].expected + 1024;
	in.holders.holdings[0].pfn++;
	expect(GRADE_pin_evident_owner_unseen, false);
	assert_false(module_candidate_says(""));
}

/* Who is in the ledger is named alone. */
static void module_pin_beside_ledger(void **state)
{
	struct wire_holder h = holder_of(&in.folios[0], PIN_ID + 1);

	(void)state;
	module_pin();
	in.holders.pins[0].pin.since_ns -= NS_PER_S;
	hold(&in, &h);
	expect(GRADE_pin_proven_owner_seen, true);
	assert_int_equal(d.verdict.pin->via, WIRE_PIN_VIA_NVIDIA);
	assert_int_equal(d.verdict.ncandidates, 0);
	assert_int_equal(incident_holders(&in, &in.folios[0], NULL), 1);
}

/* A record that leaves the doubt out has it all the same. */
static void module_pin_decoded(void **state)
{
	struct wire_holder h = in.holders.pins[0];
	static struct incident out;
	struct event ev;
	struct join *j;

	(void)state;
	h.pin.via = WIRE_PIN_VIA_MODULE;
	for (uint32_t doubt = WIRE_DOUBT_NONE; doubt <= WIRE_DOUBT_MAX; doubt++) {
		h.pin.doubt = doubt;
		assert_int_equal(decode_event(&h, sizeof(h), &ev), 0);
		assert_int_equal(ev.holder.pin.doubt, WIRE_DOUBT_UNWATCHED);
	}
	assert_int_equal(join_new(&j, 2), 0);
	join_folio(j, &in.folios[0]);
	join_holder(j, &ev.holder);
	join_end(j, &in.end, &out);
	assert_int_equal(incident_holders(&out, &in.folios[0], NULL), 0);
	join_free(j);
}

static void module_pin_reported(void **state)
{
	struct pipeline_settings settings = test_settings();
	struct bench b;

	(void)state;
	module_pin();
	bench_open(&b, &settings);
	bench_incident(&b, &in);
	bench_facts(&b);
	assert_int_equal(b.nreports, 1);
	assert_string_equal(jstr(b.reports[0], "first_pin.grade"), "pin_evident_owner_unseen");
	assert_null(jget(b.reports[0], "first_pin.pid"));
	assert_null(jget(b.reports[0], "first_pin.via"));
	assert_non_null(strstr(jstr(b.reports[0], "first_pin.candidates.0"), "through hold_fill of module pinhold"));
	bench_close(&b);
}

/* --- plain references that nobody watches the end of ---------------------------------------- */

static uint32_t referrers(const char *words)
{
	uint32_t i, n = 0;

	for (i = 0; i < d.verdict.ncandidates; i++)
		n += strstr(d.verdict.candidates[i], "which was seen taking a reference of the page") && strstr(d.verdict.candidates[i], words);
	return n;
}

static void reference(void)
{
	armed_pin(WIRE_PIN_VIA_GET_FAST, WIRE_DOUBT_UNWATCHED);
	strcpy(in.holders.pins[0].stack[1], "get_user_pages_fast");
	in.folios[0].refcount = in.folios[0].expected + 1;
}

/* A candidate, and no more: the grade is as if nothing had been seen. */
static void reference_named(void **state)
{
	(void)state;
	reference();
	expect(GRADE_plain_reference, false);
	assert_int_equal(referrers(""), 1);
	assert_int_equal(referrers("trainer (pid 4242, the process itself), which was seen taking a reference of the page, the last time 41.000 s earlier by get_user_pages_fast, called from hold_fill of module pinhold: it may have been dropped since"), 1);
	assert_false(candidate_says(""));
	assert_false(module_candidate_says(""));
	in.holders.pins[0].pin.tgid++;
	strcpy(in.holders.pins[0].stack[2], "__iov_iter_get_pages_alloc");
	expect(GRADE_plain_reference, false);
	assert_int_equal(referrers("trainer (pid 4243), which"), 1);
	assert_int_equal(referrers("called from __iov_iter_get_pages_alloc of the kernel: "), 1);
	for (uint32_t n = 0; n < 3; n++) {
		in.holders.pins[0].nstack = n;
		expect(GRADE_plain_reference, false);
		assert_int_equal(referrers("called from code that is not known any more: "), 1);
	}
}

/* Of a page whose pins explain all of its references nothing is said, nor of another page. */
static void reference_look_alikes(void **state)
{
	(void)state;
	reference();
	in.folios[0].refcount = in.folios[0].expected + 1024;
	expect(GRADE_pin_evident_owner_unseen, false);
	assert_int_equal(referrers(""), 0);
	assert_false(candidate_says(""));
	in.folios[0].refcount++;
	expect(GRADE_pin_or_references, false);
	assert_int_equal(referrers(""), 1);
	in.holders.holdings[0].pfn++;
	expect(GRADE_pin_or_references, false);
	assert_int_equal(referrers(""), 0);
	assert_true(d.verdict.ncandidates > 0);
}

/* Who holds the pin is named; the reference beside it stays a candidate, and the only one. */
static void reference_beside_owner(void **state)
{
	struct wire_holder h = holder_of(&in.folios[0], PIN_ID + 1);

	(void)state;
	reference();
	in.holders.pins[0].pin.since_ns -= NS_PER_S;
	hold(&in, &h);
	in.folios[0].refcount = in.folios[0].expected + 1025;
	expect(GRADE_pin_proven_owner_seen, true);
	assert_int_equal(d.verdict.pin->via, WIRE_PIN_VIA_NVIDIA);
	assert_int_equal(incident_holders(&in, &in.folios[0], NULL), 1);
	assert_int_equal(referrers("42.000 s earlier"), 1);
	assert_int_equal(d.verdict.ncandidates, 1);
	in.folios[0].refcount--;
	expect(GRADE_pin_proven_owner_seen, true);
	assert_int_equal(d.verdict.ncandidates, 0);
}

static void reference_decoded(void **state)
{
	struct wire_holder h = in.holders.pins[0];
	struct event ev;

	(void)state;
	h.pin.via = WIRE_PIN_VIA_GET_FAST;
	for (uint32_t doubt = WIRE_DOUBT_NONE; doubt <= WIRE_DOUBT_MAX; doubt++) {
		h.pin.doubt = doubt;
		assert_int_equal(decode_event(&h, sizeof(h), &ev), 0);
		assert_int_equal(ev.holder.pin.doubt, WIRE_DOUBT_UNWATCHED);
	}
}

static void decoded(void **state)
{
	struct wire_holder h = in.holders.pins[0];
	struct event ev;

	(void)state;
	assert_int_equal(decode_event(&h, sizeof(h), &ev), 0);
	assert_int_equal(ev.holder.pin.id, PIN_ID);
	h.pin.via = 4711;
	h.pin.doubt = 4711;
	memset(h.pin.comm, 0xff, sizeof(h.pin.comm));
	memset(h.stack[0], 'x', sizeof(h.stack[0]));
	assert_int_equal(decode_event(&h, sizeof(h), &ev), 0);
	assert_int_equal(ev.holder.pin.via, WIRE_PIN_VIA_NONE);
	assert_int_equal(ev.holder.pin.doubt, WIRE_DOUBT_MISSED);
	assert_string_equal(ev.holder.pin.comm, "???????????????");
	assert_int_equal(strlen(ev.holder.stack[0]), WIRE_SYMBOL_LEN - 1);
	h.nstack = WIRE_KSTACK_MAX + 1;
	assert_int_equal(decode_event(&h, sizeof(h), &ev), -EBADMSG);
	h.nstack = 0;
	h.page = h.pin.pages;
	assert_int_equal(decode_event(&h, sizeof(h), &ev), -EBADMSG);
	h.page = 0;
	h.pin.id = 0;
	assert_int_equal(decode_event(&h, sizeof(h), &ev), -EBADMSG);
}

static void joined(void **state)
{
	struct wire_holder h = in.holders.pins[0];
	static struct incident out;
	struct join_stats s;
	struct join *j;

	(void)state;
	assert_int_equal(join_new(&j, 2), 0);
	join_folio(j, &in.folios[0]);
	join_holder(j, &h);
	h.nstack = 0;
	h.pfn++;
	join_holder(j, &h);	/* the same pin, told without its stack */
	join_end(j, &in.end, &out);
	assert_int_equal(out.holders.npins, 1);
	assert_int_equal(out.holders.pins[0].nstack, 2);
	assert_int_equal(out.holders.nholdings, 2);
	assert_int_equal(incident_holders(&out, &in.folios[0], NULL), 1);
	/* More pins than there is room for, and those of an attempt that was repeated. */
	for (uint32_t i = 0; i <= WIRE_HOLDERS_MAX; i++) {
		h.pin.id = 1000 + i;
		h.pfn++;
		join_holder(j, &h);
	}
	h.gup_call++;
	join_holder(j, &h);
	join_stats(j, &s);
	assert_int_equal(s.holders.joined, 2);
	assert_int_equal(s.holders.excess, 1);
	assert_int_equal(s.holders.superseded, WIRE_HOLDERS_MAX);
	assert_int_equal(s.holders.held, 1);
	join_finish(j);
	join_stats(j, &s);
	assert_int_equal(s.holders.orphaned, 1);
	assert_int_equal(s.holders.held, 0);
	join_free(j);
}

static void reported(void **state)
{
	struct pipeline_settings settings = test_settings();
	struct json_object *r;
	struct bench b;

	(void)state;
	in.holders.pins[0].pin.tgid++;
	bench_open(&b, &settings);
	bench_incident(&b, &in);
	bench_facts(&b);
	assert_int_equal(b.nreports, 1);
	r = b.reports[0];
	assert_string_equal(jstr(r, "first_pin.grade"), "pin_proven_owner_seen");
	assert_int_equal(jint(r, "first_pin.pid"), 4243);
	assert_string_equal(jstr(r, "first_pin.comm"), "trainer");
	assert_string_equal(jstr(r, "first_pin.same_process"), "false");
	assert_string_equal(jstr(r, "first_pin.via"), "os_lock_user_pages");
	assert_string_equal(jstr(r, "first_pin.module"), "nvidia");
	assert_string_equal(jstr(r, "first_pin.foll_longterm"), "false");
	assert_string_equal(jstr(r, "first_pin.stack.1"), "rm_ioctl [nvidia]");
	assert_true(jint(r, "first_pin.age_ns") == (int64_t)(41 * NS_PER_S));
	bench_close(&b);
}

#define TEST(f) cmocka_unit_test_setup(f, setup)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(owner_seen), TEST(count_without_a_pin), TEST(another_page), TEST(some_of_several_pages),
		TEST(names_the_page_of_the_owner), TEST(more_pins_than_entries), TEST(flags), TEST(armed_owner_seen), TEST(armed_look_alikes),
		TEST(armed_doubt_of_each_page), TEST(armed_beside_ledger), TEST(armed_reported),
		TEST(module_pin_named), TEST(module_pin_look_alikes), TEST(module_pin_beside_ledger), TEST(module_pin_decoded), TEST(module_pin_reported),
		TEST(reference_named), TEST(reference_look_alikes), TEST(reference_beside_owner), TEST(reference_decoded),
		TEST(decoded), TEST(joined), TEST(reported),
	};

	return cmocka_run_group_tests_name("holders", tests, NULL, NULL);
}
