// SPDX-License-Identifier: BSD-2-Clause
/* What a trace says: the words of each step, what it knows of whom, and records that are out to harm. */
#include "support.h"

#include <errno.h>
#include <json-c/json_tokener.h>
#include <string.h>

#include "jread.h"
#include "steps.h"

#define BASE (1000 * NS_PER_S)
#define SPAN 0x4c7ULL

static struct identity id;
static struct steps s;
static struct event ev;
static char line[4096];

static int setup(void **state)
{
	(void)state;
	id = test_identity();
	memset(&s, 0, sizeof(s));
	s.identity = &id;
	s.base_ns = BASE;
	return 0;
}

static struct wire_step step(enum wire_step_kind kind)
{
	return (struct wire_step){
		.hdr = { .kind = WIRE_STEP, .version = WIRE_VERSION, .size = sizeof(struct wire_step),
			 .time_ns = BASE + 1500000, .span_id = SPAN },
		.start_ns = BASE + 1000000, .address = RANGE + 100, .length = 16 * PAGE, .step = kind,
		.tgid = 4242, .tid = 4242, .access = 1, .api = WIRE_API_REG_MR, .comm = "worker", .device = "rxe0",
	};
}

static struct wire_place place(uint64_t pfn, uint32_t zone, uint32_t type, uint32_t flags)
{
	return (struct wire_place){ .pfn = pfn, .zone = zone, .migratetype = type, .flags = flags };
}

static const char *told(const void *record, size_t size)
{
	struct text t;

	assert_int_equal(decode_event(record, size, &ev), 0);
	assert_true(steps_note(&s, &ev));
	text_init(&t, line, sizeof(line));
	steps_text(&s, &ev, &t);
	assert_false(t.cut);
	return line;
}

static const char *told_step(const struct wire_step *e)
{
	return told(e, sizeof(*e));
}

static struct json_object *as_json(void)
{
	struct json_object *o;

	assert_int_equal(steps_json(&s, &ev, &o), 0);
	return o;
}

#define SAYS(e, words) assert_string_equal(told_step(e), "    0.001500  worker[4242]  " words)

static void begin_and_end(void **state)
{
	struct wire_step e = step(WIRE_STEP_BEGIN);

	(void)state;
	SAYS(&e, "reg_mr");
	e = step(WIRE_STEP_RANGE);
	SAYS(&e, "  64.0 KiB at 0x7f0000001064 on rxe0, LOCAL_WRITE");
	e = step(WIRE_STEP_END);
	SAYS(&e, "reg_mr = ok after 500.0 us");
	e.result = -ENOMEM;
	SAYS(&e, "reg_mr = -ENOMEM (out of memory) after 500.0 us");
	assert_int_equal(s.ok, 1);
	assert_int_equal(s.failed, 1);
	e = step(WIRE_STEP_RETURN);
	e.fn = WIRE_FN_DRIVER_RXE;
	SAYS(&e, "  rxe_reg_user_mr = ok");
	e.result = -EFAULT;
	SAYS(&e, "  rxe_reg_user_mr = -EFAULT (bad address)");
}

static void pins(void **state)
{
	struct wire_step e = step(WIRE_STEP_PIN);

	(void)state;
	e.at = RANGE;
	e.pages = 16;
	e.gup_flags = 0x10001;
	SAYS(&e, "  long-term pin requested: pin_user_pages_fast, 16 pages at 0x7f0000001000, FOLL_LONGTERM|FOLL_WRITE");
	e.gup_flags = 1;
	SAYS(&e, "  pin without FOLL_LONGTERM: pin_user_pages_fast, 16 pages at 0x7f0000001000, FOLL_WRITE");
	e.hdr.span_id = 0;
	e.pages = 1;
	SAYS(&e, "first pin, without FOLL_LONGTERM: pin_user_pages_fast, 1 page at 0x7f0000001000, FOLL_WRITE");
	e.gup_flags = 0;
	SAYS(&e, "first pin, without FOLL_LONGTERM: pin_user_pages_fast, 1 page at 0x7f0000001000, no flags");
	e.gup_flags = 0x10000;
	SAYS(&e, "long-term pin outside a registration: pin_user_pages_fast, 1 page at 0x7f0000001000, FOLL_LONGTERM");
	e = step(WIRE_STEP_LONGTERM);
	e.at = RANGE;
	e.pages = 16;
	e.gup_flags = 0x50001;
	SAYS(&e, "  long-term pin, slow path: __gup_longterm_locked, 16 pages at 0x7f0000001000, FOLL_LONGTERM|FOLL_PIN|FOLL_WRITE");
	e = step(WIRE_STEP_LONGTERM_END);
	e.result = 16;
	e.rounds = 2;
	SAYS(&e, "  __gup_longterm_locked = 16, in 2 rounds");
	e = step(WIRE_STEP_FIRST_PIN);
	e.at = RANGE;
	e.pages = 2;
	e.gup_flags = 1;
	e.have = WIRE_HAVE_GUP;
	SAYS(&e, "first pin: os_lock_user_pages of nvidia, 2 pages at 0x7f0000001000, FOLL_WRITE, without FOLL_LONGTERM");
	assert_int_equal(s.first_pins, 1);
	e.step = WIRE_STEP_RELEASE;
	e.have = 0; /* its flags were not seen: nothing is said of them */
	SAYS(&e, "first pin given back: os_lock_user_pages of nvidia, 2 pages at 0x7f0000001000");
}

/* A kernel that does not say which bit FOLL_LONGTERM is: nothing is said of it. */
static void longterm_unknown(void **state)
{
	struct wire_step e = step(WIRE_STEP_PIN);
	struct json_object *o;

	(void)state;
	id.foll_longterm = 0;
	e.at = RANGE;
	e.pages = 16;
	e.gup_flags = 0x10001;
	SAYS(&e, "  pin: pin_user_pages_fast, 16 pages at 0x7f0000001000, FOLL_WRITE|0x10000");
	o = as_json();
	assert_null(jr_get(o, "foll_longterm", json_type_boolean));
	json_object_put(o);
	e.hdr.span_id = 0;
	SAYS(&e, "pin outside a registration: pin_user_pages_fast, 16 pages at 0x7f0000001000, FOLL_WRITE|0x10000");
	e = step(WIRE_STEP_FIRST_PIN);
	e.at = RANGE;
	e.pages = 2;
	e.gup_flags = 1;
	e.have = WIRE_HAVE_GUP;
	SAYS(&e, "first pin: os_lock_user_pages of nvidia, 2 pages at 0x7f0000001000, FOLL_WRITE");
}

static void moves(void **state)
{
	struct wire_step e = step(WIRE_STEP_MOVED);
	struct json_object *o;

	(void)state;
	e.at = RANGE + 3 * PAGE;
	e.have = WIRE_HAVE_ADDRESS | WIRE_HAVE_PLACEMENT;
	e.from = place(0x7513f, 1, 4, WIRE_FOLIO_CMA);
	e.to = place(0x3e3f, 2, 0, 0);
	strcpy(e.area, "hugetlb0");
	SAYS(&e, "    page 3 at 0x7f0000004000: pfn 0x7513f (node 0, zone DMA32, pageblock CMA of area \"hugetlb0\") -> "
		 "pfn 0x3e3f (node 0, zone Normal, pageblock Unmovable)");
	o = as_json();
	assert_string_equal(jr_string(o, "step"), "moved");
	assert_string_equal(jr_string(o, "from.pfn"), "0x7513f");
	assert_string_equal(jr_string(o, "to.zone"), "Normal");
	assert_true(json_object_get_boolean(jr_get(o, "from.cma", json_type_boolean)));
	assert_false(json_object_get_boolean(jr_get(o, "to.cma", json_type_boolean)));
	assert_string_equal(jr_string(o, "registration"), "0x4c7");
	json_object_put(o);
	/* Isolated for another's sake, and CMA beneath. */
	e.from = place(0x7513f, 3, 5, WIRE_FOLIO_CMA | WIRE_FOLIO_ISOLATE | WIRE_FOLIO_MOVABLE_ZONE);
	e.area[0] = '\0';
	e.order = 9;
	SAYS(&e, "    512 pages in one, the first of them page 3 at 0x7f0000004000: pfn 0x7513f (node 0, zone Movable, "
		 "pageblock Isolate of CMA) -> pfn 0x3e3f (node 0, zone Normal, pageblock Unmovable)");
	/* What could not be read is not made up. */
	e.have = 0;
	e.order = 0;
	SAYS(&e, "    page: moved; from where to where could not be read");
	o = as_json();
	assert_null(jr_get(o, "from", json_type_object));
	assert_null(jr_get(o, "index", json_type_int));
	json_object_put(o);
	e = step(WIRE_STEP_MIGRATE_END);
	e.pages = 100;
	e.result = 1;
	SAYS(&e, "  migrate_pages: 100 moved, 1 left");
	e.untold = 36;
	SAYS(&e, "  migrate_pages: 100 moved, 1 left (36 more moves are not told one by one)");
}

static void stays(void **state)
{
	struct incident in;
	struct wire_folio f;
	struct wire_step e = step(WIRE_STEP_MIGRATE);

	(void)state;
	prove_longterm_migrate_blocked_by_ref(&in);
	f = in.folios[0];
	f.hdr.span_id = SPAN;
	f.hdr.time_ns = BASE + 1500000;
	told_step(&e);
	assert_non_null(strstr(told(&f, sizeof(f)), "worker[4242]      page 37 at 0x"));
	assert_non_null(strstr(line, " stays: 3 references where 2 were expected = 1 too many"));
	assert_null(strstr(line, "DMA pin"));
	f.refcount = f.expected + 1024;
	assert_non_null(strstr(told(&f, sizeof(f)), "1026 references where 2 were expected = 1024 too many, which count like 1 DMA pin"));
	f.refcount = f.expected;
	assert_non_null(strstr(told(&f, sizeof(f)), "who held it has let go since"));
	f.have &= ~WIRE_HAVE_COUNTS;
	assert_null(strstr(told(&f, sizeof(f)), "references"));
	/* Of a registration whose begin was lost, or that another took the place of: not somebody else's. */
	f.hdr.span_id = SPAN + 1;
	assert_non_null(strstr(told(&f, sizeof(f)), "0.001500  ?  "));
	assert_null(strstr(line, "page 37"));
}

static void who_by_registration(void **state)
{
	struct wire_step a = step(WIRE_STEP_MIGRATE), b = step(WIRE_STEP_MIGRATE);
	struct incident in;
	struct wire_folio f;
	struct wire_holder h = { .hdr = { .kind = WIRE_HOLDER, .version = WIRE_VERSION, .size = sizeof(h), .time_ns = BASE + 41 * NS_PER_S,
					  .span_id = SPAN },
				 .pfn = 1, .pin = { .id = 1, .since_ns = BASE, .tgid = 7, .pages = 4, .gup_flags = 1, .calls = 1,
						    .via = WIRE_PIN_VIA_NVIDIA, .comm = "trainer" } };

	(void)state;
	prove_longterm_migrate_blocked_by_ref(&in);
	f = in.folios[0];
	b.hdr.span_id = SPAN + 1024;
	b.tid = 4300;
	strcpy(b.comm, "other");
	told_step(&a);
	told_step(&b);
	assert_non_null(strstr(line, "other[4242/4300]  "));
	f.hdr.span_id = SPAN;
	assert_non_null(strstr(told(&f, sizeof(f)), "worker[4242]  "));
	f.hdr.span_id = SPAN + 1024;
	assert_non_null(strstr(told(&f, sizeof(f)), "other[4242/4300]  "));
	assert_non_null(strstr(told(&h, sizeof(h)), "held by trainer[7]: os_lock_user_pages of nvidia, 41.0 s ago, FOLL_WRITE, "
						    "without FOLL_LONGTERM"));
	/* Which page it was is not known. */
	h.pin.via = WIRE_PIN_VIA_MODULE;
	assert_non_null(strstr(told(&h, sizeof(h)), "      its address pinned, and held or not, by trainer[7]: __gup_longterm_locked, 41.0 s ago"));
	h.pin.via = WIRE_PIN_VIA_REGISTRATION;
	h.pin.tid = 4300;
	assert_non_null(strstr(told(&h, sizeof(h)), "      being pinned by another registration, of thread 4300: __gup_longterm_locked, "
						    "41.0 s ago, FOLL_WRITE"));
	h.pin.via = WIRE_PIN_VIA_GET_FAST;
	assert_non_null(strstr(told(&h, sizeof(h)), "      referenced, and dropped or not, by trainer[7]: get_user_pages_fast, 41.0 s ago, FOLL_WRITE"));
	assert_null(strstr(line, "FOLL_LONGTERM"));
	/* Whose call it was is in its stack. */
	h.pin.via = WIRE_PIN_VIA_PIN_FAST;
	h.nstack = 2;
	strcpy(h.stack[0], "pin_user_pages_fast");
	strcpy(h.stack[1], "take [some_driver]");
	assert_non_null(strstr(told(&h, sizeof(h)), "held by trainer[7]: pin_user_pages_fast by module some_driver, 41.0 s ago"));
}

/* A time before the trace, other records, and those that nobody has words for. */
static void not_told(void **state)
{
	struct wire_step e = step(WIRE_STEP_BEGIN);
	struct wire_module m = { .hdr = { .kind = WIRE_MODULE, .version = WIRE_VERSION, .size = sizeof(m) } };

	(void)state;
	e.hdr.time_ns = BASE - 1;
	e.start_ns = 1;
	assert_string_equal(told_step(&e), "    0.000000  worker[4242]  reg_mr");
	assert_int_equal(decode_event(&m, sizeof(m), &ev), 0);
	assert_false(steps_note(&s, &ev));
}

static void refused(void **state)
{
	struct wire_step good = step(WIRE_STEP_END), e = good;

	(void)state;
	e.step = WIRE_STEP_NONE;
	assert_int_equal(decode_event(&e, sizeof(e), &ev), -EBADMSG);
	e.step = WIRE_STEP_MAX;
	assert_int_equal(decode_event(&e, sizeof(e), &ev), -EBADMSG);
	e = good;
	e.order = 41;
	assert_int_equal(decode_event(&e, sizeof(e), &ev), -EBADMSG);
	e = good;
	e.result = -4096;
	assert_int_equal(decode_event(&e, sizeof(e), &ev), -EBADMSG);
	e = good;
	e.start_ns = e.hdr.time_ns + 1;
	assert_int_equal(decode_event(&e, sizeof(e), &ev), -EBADMSG);
	e = good;
	e.fn = WIRE_FN_MAX;
	e.api = WIRE_API_MAX;
	assert_int_equal(decode_event(&e, sizeof(e), &ev), 0);
	assert_int_equal(ev.step.api, WIRE_API_NONE);
}

/* Names of processes, devices and areas can say anything; no byte of theirs steers a terminal or ends a line. */
static void hostile(void **state)
{
	struct wire_step e;
	struct json_object *o;
	char prefix[256];
	struct text t;

	(void)state;
	for (uint32_t kind = 1; kind < WIRE_STEP_MAX; kind++) {
		e = step((enum wire_step_kind)kind);
		memcpy(e.comm, "\x1b[2J\n\"\xff\xc2\x9b\\\x7f%s%n%s", sizeof(e.comm));
		memset(e.device, '\x1b', sizeof(e.device));
		memset(e.area, '\r', sizeof(e.area));
		e.hdr.span_id = UINT64_MAX;
		e.address = e.length = e.at = UINT64_MAX;
		e.pages = e.untold = 1ULL << 52;
		e.gup_flags = e.access = e.rounds = e.tgid = e.tid = e.have = UINT32_MAX;
		e.order = 40;
		e.fn = e.api = UINT16_MAX;
		e.from = e.to = place(UINT64_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX);
		told_step(&e);
		text_init(&t, prefix, sizeof(prefix));
		steps_prefix(&s, e.hdr.time_ns, &t);
		assert_true(strlen(line) > strlen(prefix)); /* every step has words */
		for (const char *c = line; *c; c++)
			assert_true(*c >= ' ' && *c < 0x7f);
		o = as_json();
		assert_null(strchr(json_object_to_json_string_ext(o, JSON_C_TO_STRING_PLAIN), '\x1b'));
		json_object_put(o);
	}
}

static void verdict(void **state)
{
	struct json_object *o = json_tokener_parse("{\"report_id\":\"abc\",\"verdict\":{\"cause\":\"some_cause\",\"confidence\":\"proven\","
						   "\"summary\":\"it \\u001b[1m is so\"}}");
	struct text t;

	(void)state;
	text_init(&t, line, sizeof(line));
	steps_verdict(&s, o, &t);
	assert_string_equal(line, "  verdict: some_cause, proven: it \\x1b[1m is so");
	json_object_put(o);
	o = json_tokener_parse("{\"kind\":\"hazard\",\"monotonic_ns\":1000001500000,\"verdict\":{\"cause\":\"some_cause\"}}");
	text_init(&t, line, sizeof(line));
	steps_verdict(&s, o, &t);
	assert_string_equal(line, "  hazard at 0.001500: some_cause, : ");
	json_object_put(o);
}

#define TEST(fn) cmocka_unit_test_setup(fn, setup)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(begin_and_end), TEST(pins), TEST(longterm_unknown), TEST(moves), TEST(stays), TEST(who_by_registration), TEST(not_told), TEST(refused),
		TEST(hostile), TEST(verdict),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
