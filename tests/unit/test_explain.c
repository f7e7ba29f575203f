// SPDX-License-Identifier: BSD-2-Clause
#include "support.h"

#include <errno.h>
#include <json-c/json_tokener.h>
#include <json-c/json_util.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "explain.h"
#include "wrap.h"

static struct bench bench;
static struct incident in;
static char *text;
static size_t text_len;

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
	free(text);
	text = NULL;
	bench_close(&bench);
	return 0;
}

static void explain_as(struct json_object *report, struct explain_style style)
{
	FILE *f;

	free(text);
	f = open_memstream(&text, &text_len);
	assert_non_null(f);
	explain_print_style(f, report, &style);
	fclose(f);
}

static void explain(struct json_object *report, unsigned int width)
{
	explain_as(report, (struct explain_style){ .width = width });
}

static void explain_full(struct json_object *report, unsigned int width)
{
	explain_as(report, (struct explain_style){ .width = width, .full = true });
}

static void explain_incident(void)
{
	bench_incident(&bench, &in);
	bench_facts(&bench);
	explain(bench.reports[bench.nreports - 1], 110);
}

static void has(const char *words)
{
	if (!strstr(text, words))
		fail_msg("no \"%s\" in:\n%s", words, text);
}

static void lacks(const char *words)
{
	if (strstr(text, words))
		fail_msg("\"%s\" in:\n%s", words, text);
}

static uint32_t lines(void)
{
	uint32_t n = 0;
	const char *c;

	for (c = text; *c; c++)
		n += *c == '\n';
	return n;
}

static struct json_object *parse(const char *json)
{
	struct json_object *o = json_tokener_parse(json);

	if (!o)
		fail_msg("not JSON: %s", json);
	return o;
}

static void explain_json(const char *json)
{
	struct json_object *o = parse(json);

	explain(o, 100);
	json_object_put(o);
}

static void the_incident(void **state)
{
	(void)state;
	explain_incident();
	has("reg_mr failed: ENOMEM - the memory must be moved before a long-term pin");
	has("\n  who    worker[4242]");
	has("\n  what   1.0 MiB at 0x7f0000001000 on rxe0, LOCAL_WRITE|REMOTE_WRITE|REMOTE_READ, host_anonymous\n");
	has("\n  why    page 37 (0x7f0000026000");
	has("\n  by     plain references, none of them a DMA pin");
	has("\n  sure   PROVEN: ");
	has("\n  not    ");
	has("\n  chain  stage placement: migrate_pages = 1 left -> __gup_longterm_locked = -ENOMEM ->");
	has("2026-11-30T00:55:00.000Z  node node-1\n");
	has("\n  now    register the memory before");
	has("\n  then   ");
	has("  pinwhy causes longterm_migrate_blocked_by_ref\n");
}

static void every_cause_has_its_title(void **state)
{
	(void)state;
	prove_rlimit_memlock_exceeded(&in);
	explain_incident();
	has("memlock limit allows");
	prove_address_not_mapped(&in);
	explain_incident();
	has("not mapped in the process");
	build_failure(&in, EIO);
	explain_incident();
	has("the cause is unknown");
	has("UNKNOWN");
}

static void no_line_is_too_long(void **state)
{
	unsigned int width;
	char *line, *save;

	(void)state;
	bench_incident(&bench, &in);
	bench_facts(&bench);
	/* From 80 on no word is longer than the line. */
	for (width = 80; width < 160; width += 7) {
		explain(bench.reports[0], width);
		for (line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
			if (strlen(line) > width || line[strlen(line) - 1] == ' ')
				fail_msg("%u: %s", width, line);
	}
	explain(bench.reports[0], 1);
}

/* Nothing from a process, path or cgroup may reach the terminal as a control. */
static void hostile_strings(void **state)
{
	size_t i;

	(void)state;
	strcpy(in.end.comm, "\x1b]0;own\x07\n  why");
	memcpy(in.end.cgroup, "\xc2\x9b" "31m\0\0", 7);
	strcpy(in.end.device, "\xe2\x80\xae" "0exr");
	strcpy(in.folios[0].area, "\x1b[2J\r");
	explain_incident();
	for (i = 0; i < text_len; i++)
		assert_true(text[i] == '\n' || (unsigned char)text[i] >= 0x20);
	assert_null(strstr(text, "\xc2\x9b"));
	assert_null(strstr(text, "\xe2\x80\xae"));
	has("\\x1b]0;own\\x07\\x0a");
	has("\\x1b[2J\\x0d");
}

/* The same in words that only a report has: it may have been written by anybody. */
static void hostile_report(void **state)
{
	size_t i;

	(void)state;
	explain_json("{\"kind\":\"\\u001b[2Jx\",\"node\":\"\\u202en\",\"time\":\"\\u009b31m\",\"report_id\":\"\\u061c\","
		     "\"process\":{\"comm\":\"\\u0001bold\\u001f\",\"exe\":\"\\u2066\",\"cgroup\":\"\\ufeff/\"},"
		     "\"verdict\":{\"cause\":\"\\r\\n\",\"summary\":\"\\u2028 \\u200b\",\"evidence\":[\"1\\u007f\"],"
		     "\"remedies\":[\"\\u001b]0;x\\u0007\"]},\"first_pin\":{\"grade\":\"\\u001b\"},"
		     "\"ruled_out\":[{\"cause\":\"\\u001b\",\"because\":\"\\b\"}],\"chain\":[{\"function\":\"\\u001bc\"}]}");
	for (i = 0; i < text_len; i++)
		assert_true(text[i] == '\n' || ((unsigned char)text[i] >= 0x20 && (unsigned char)text[i] < 0x7f));
	has("\\x1b[2Jx");
	has("\\xe2\\x80\\xaen");
	has("\\x01bold\\x1f");
	has("\\xd8\\x9c");
	has("\\xef\\xbb\\xbf/");
}

static void garbage(void **state)
{
	static const char *const reports[] = {
		"{}", "{\"verdict\":7,\"process\":[],\"chain\":{\"a\":1},\"missing_evidence\":\"x\"}",
		"{\"chain\":[1,null,\"x\",{}],\"ruled_out\":[[]],\"verdict\":{\"evidence\":[1,{}],\"remedies\":[null]}}",
		"{\"registration\":{\"length\":\"x\",\"access\":[1,2]},\"first_pin\":{\"candidates\":[{}]},\"kind\":1}",
		"{\"verdict\":{\"confidence\":\"\\u0000\\u001b\",\"cause\":\"\\u0000\"}}",
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(reports) / sizeof(reports[0]); i++) {
		struct json_object *o = json_tokener_parse(reports[i]);

		assert_non_null(o);
		explain(o, 80);
		has("report of no kind");
		assert_null(strchr(text, '\x1b'));
		json_object_put(o);
	}
}

static void stuck_and_summaries(void **state)
{
	struct wire_span span = build_span(50);
	int i;

	(void)state;
	pipeline_stuck(bench.pipeline, &span, &(struct sighting){ SIGHTING_WAITS, "handle_userfault" }, test_clock(bench.mono_ns));
	bench_facts(&bench);
	explain(bench.reports[0], 110);
	has("reg_mr has been in flight for 20.0 s");
	in.nfolios = 0;
	for (i = 0; i < 5; i++)
		bench_incident(&bench, &in);
	pipeline_finish(bench.pipeline, test_clock(bench.mono_ns));
	explain(bench.reports[bench.nreports - 1], 110);
	has("reg_mr failed 5 times: ENOMEM");
	has("2 failures not reported in full");
}

/* --- one screen ----------------------------------------------------------------- */

#define GOLDEN "tests/unit/golden/explain.txt"

/* A typical report, with as many causes ruled out as there may be. */
static void golden_text(FILE *f)
{
	static const unsigned int widths[] = { 60, 80, 100, 120 };
	struct json_object *report = json_object_from_file("tests/unit/golden/explain.json");
	size_t i;

	if (!report)
		fail_msg("tests run in the top directory");
	for (i = 0; i < sizeof(widths) / sizeof(widths[0]); i++) {
		explain(report, widths[i]);
		fprintf(f, "--- %u columns, %u lines\n%s\n", widths[i], lines(), text);
		if (widths[i] >= 100)
			assert_true(lines() <= 24);
	}
	json_object_put(report);
}

/* PINWHY_REGEN=1 writes the golden text instead of comparing it. */
static void a_typical_report(void **state)
{
	bool regenerate = getenv("PINWHY_REGEN") != NULL;
	char *got = NULL, want[16384];
	size_t len = 0, n;
	FILE *f = regenerate ? fopen(GOLDEN, "w") : open_memstream(&got, &len);

	(void)state;
	assert_non_null(f);
	golden_text(f);
	fclose(f);
	if (regenerate)
		return;
	f = fopen(GOLDEN, "r");
	assert_non_null(f);
	n = fread(want, 1, sizeof(want) - 1, f);
	want[n] = '\0';
	fclose(f);
	n = strcmp(want, got) != 0;
	if (n)
		print_error("%s\n", got);
	free(got);
	if (n)
		fail_msg(GOLDEN " differs: when that is meant, run this test with PINWHY_REGEN=1");
}

static void the_most_telling_is_shown(void **state)
{
	struct json_object *report = json_object_from_file("tests/unit/golden/explain.json");

	(void)state;
	explain(report, 100);
	/* What could have been the answer comes first; another errno is the least that can be said. */
	has("\n  not    rlimit_memlock_exceeded: 1024 pages asked");
	has("         memory_cgroup_full: the cgroup uses 41 GiB");
	has("(and 41 others)\n");
	lacks("cause_of_another_errno");
	has("(1 more: --full)");
	explain_full(report, 100);
	has("cause_of_another_errno_19");
	has("cause_without_a_number_20");
	has("(mlx5_ib)");
	has("pinned with FOLL_LONGTERM|FOLL_PIN|FOLL_WRITE");
	lacks("--full");
	lacks("others");
	json_object_put(report);
}

static void numbers_are_evidence(void **state)
{
	(void)state;
	explain_json("{\"kind\":\"registration_failed\",\"verdict\":{\"evidence\":"
		     "[\"no number\",\"one 1\",\"none again\",\"two 2\",\"three 3\",\"four 4\"]}}");
	has("\n  seen   one 1\n         two 2\n         three 3\n");
	lacks("no number");
	lacks("four");
	/* What the sentence says already is not said twice, and counts as one of the three. */
	explain_json("{\"kind\":\"registration_failed\",\"verdict\":{\"summary\":\"page 7 is held by 3 pins\","
		     "\"evidence\":[\"page 7 is held by 3\",\"two 2\",\"three 3\",\"four 4\"]}}");
	has("\n  seen   two 2\n         three 3\n");
	lacks("four");
}

/* --- kinds ---------------------------------------------------------------------- */

static void kinds_of_the_future(void **state)
{
	(void)state;
	explain_json("{\"kind\":\"uvm_fatal_fault\",\"node\":\"n\",\"time\":\"t\",\"verdict\":{\"cause\":\"some_new_one\","
		     "\"summary\":\"a page went away\"}}");
	has("uvm_fatal_fault - some_new_one");
	has("\n  why    a page went away");
	explain_json("{\"kind\":\"registration_failed\",\"verdict\":{\"cause\":\"some_new_one\"}}");
	has("registration failed - some_new_one");
	lacks("what");
}

static void a_summary_of_further_kinds(void **state)
{
	(void)state;
	explain_json("{\"kind\":\"storm_summary\",\"process\":{\"pid\":7,\"comm\":\"a\",\"cgroup\":\"/t\"},"
		     "\"registration\":{\"api\":\"reg_mr\"},\"verdict\":{\"cause\":\"unknown\",\"confidence\":\"unknown\","
		     "\"evidence\":[\"9 of cause a: EIO at stage pin\",\"2 of cause b: EIO at stage pin\",\"3\",\"4\"]},"
		     "\"related\":{\"count\":18,\"suppressed\":18,\"other_kinds\":[{}],\"first\":\"f\",\"last\":\"l\","
		     "\"first_report_id\":\"0193\"}}");
	has("reg_mr failed 18 times more in one cgroup - several kinds of failure");
	has("a[7] and maybe others");
	has("9 of cause a");
	has("\n         4\n");
	has("18 failures not reported in full, between f and l; the first: pinwhy explain --id 0193");
}

static void the_first_pin(void **state)
{
	(void)state;
	explain_json("{\"kind\":\"registration_failed\",\"process\":{\"job\":{\"scheduler\":\"slurm\",\"id\":991204,\"rank\":3}},"
		     "\"first_pin\":{\"grade\":\"seen\",\"comm\":\"worker\",\"pid\":7,\"age_ns\":41000000000,\"module\":\"nvidia\","
		     "\"via\":\"os_lock_user_pages\"}}");
	has("\n  by     worker[7], 41.0 s earlier: nvidia os_lock_user_pages; seen\n");
	has("job slurm 991204 rank 3");
}

/* --- the terminal --------------------------------------------------------------- */

static void colour(void **state)
{
	(void)state;
	assert_int_equal(explain_colour("auto", NULL, "xterm", true), true);
	assert_int_equal(explain_colour("auto", "", "xterm", true), true);
	assert_int_equal(explain_colour("auto", "0", "xterm", true), false);
	assert_int_equal(explain_colour("auto", "1", "xterm", true), false);
	assert_int_equal(explain_colour("auto", NULL, "xterm", false), false);
	assert_int_equal(explain_colour("auto", NULL, "dumb", true), false);
	assert_int_equal(explain_colour("auto", NULL, NULL, true), false);
	assert_int_equal(explain_colour("always", "1", NULL, false), true);
	assert_int_equal(explain_colour("never", NULL, "xterm", true), false);
	assert_int_equal(explain_colour("yes", NULL, "xterm", true), -1);
	assert_int_equal(explain_colour("", NULL, "xterm", true), -1);
}

static void widths(void **state)
{
	(void)state;
	assert_int_equal(explain_width(NULL, 0), 100);
	assert_int_equal(explain_width(NULL, 132), 132);
	assert_int_equal(explain_width("80", 132), 80);
	assert_int_equal(explain_width("80", 0), 80);
	assert_int_equal(explain_width("", 90), 90);
	assert_int_equal(explain_width("wide", 90), 90);
	assert_int_equal(explain_width("-5", 90), 90);
	assert_int_equal(explain_width("0", 0), 100);
	assert_int_equal(explain_width("99999999999999999999", 0), 100);
	assert_int_equal(explain_width("1", 0), EXPLAIN_WIDTH_MIN);
	assert_int_equal(explain_width(NULL, 3), EXPLAIN_WIDTH_MIN);
}

/* Colour adds nothing but colour, and all of it ends where its paragraph does. */
static void colour_changes_no_words(void **state)
{
	struct json_object *report = json_object_from_file("tests/unit/golden/explain.json");
	char *plain, *from, *to;

	(void)state;
	explain(report, 80);
	plain = strdup(text);
	assert_null(strchr(plain, '\x1b'));
	explain_as(report, (struct explain_style){ .width = 80, .colour = true });
	has("\x1b[32m\x1b[1mPROVEN\x1b[0m");
	has("\x1b[0m\n");
	for (from = to = text; *from; from++) {
		if (*from == '\x1b')
			from += strcspn(from, "m");
		else
			*to++ = *from;
	}
	*to = '\0';
	assert_string_equal(text, plain);
	free(plain);
	json_object_put(report);
}

/* --- wrapping ------------------------------------------------------------------- */

static void wrap_words(unsigned int width, const char *words)
{
	struct wrap w = { .width = width };

	free(text);
	w.out = open_memstream(&text, &text_len);
	assert_non_null(w.out);
	wrap_begin(&w);
	wrap_quote(&w, words);
	wrap_flush(&w, "x");
	fclose(w.out);
}

static void long_words(void **state)
{
	(void)state;
	wrap_words(40, "/kubepods.slice/kubepods-burstable.slice/kubepods-pod0123.slice/cri-containerd-45.scope");
	assert_string_equal(text, "  x      /kubepods.slice/kubepods-\n         burstable.slice/kubepods-\n"
			    "         pod0123.slice/cri-containerd-\n         45.scope\n");
	/* Neither an address nor an escape nor a character is torn. */
	wrap_words(40, "aaaaaaaaaaaaaaaaaaaaa=0x7f0000026000");
	assert_string_equal(text, "  x      aaaaaaaaaaaaaaaaaaaaa=\n         0x7f0000026000\n");
	wrap_words(40, "aaaaaaaaaaaaaaaaaaaaaaaaaaaaa\x1b" "b");
	assert_string_equal(text, "  x      aaaaaaaaaaaaaaaaaaaaaaaaaaaaa\n         \\x1bb\n");
	wrap_words(40, "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\xc3\xa4\xe2\x82\xac");
	assert_string_equal(text, "  x      aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\xc3\xa4\n         \xe2\x82\xac\n");
	/* A wide character takes two columns. */
	wrap_words(40, "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\xe4\xb8\xad");
	assert_string_equal(text, "  x      aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\n         \xe4\xb8\xad\n");
	assert_int_equal(wrap_columns("a\xc3\xa4\xe4\xb8\xad" WRAP_BOLD, 7), 4);
}

/* Any width, any bytes: no line is wider than it may be, and no control comes out. */
static void random_words(void **state)
{
	uint64_t seed = test_seed();
	unsigned int width;
	char words[200], *line, *save;
	uint32_t i, k;

	(void)state;
	for (i = 0; i < 2000; i++) {
		for (k = 0; k + 1 < sizeof(words); k++)
			words[k] = test_random(&seed, 8) ? (char)("0x/a \\"[test_random(&seed, 6)]) :
				   (char)(1 + test_random(&seed, 255));
		words[k] = '\0';
		width = EXPLAIN_WIDTH_MIN + test_random(&seed, 60);
		wrap_words(width, words);
		for (line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
			if (wrap_columns(line, strlen(line)) > width)
				fail_msg("%u columns: %s", width, line);
			for (; *line; line++)
				assert_true((unsigned char)*line >= 0x20 && *line != 0x7f);
		}
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(the_incident), TEST(every_cause_has_its_title), TEST(no_line_is_too_long),
		TEST(hostile_strings), TEST(hostile_report), TEST(garbage), TEST(stuck_and_summaries), TEST(a_typical_report),
		TEST(the_most_telling_is_shown), TEST(numbers_are_evidence), TEST(kinds_of_the_future),
		TEST(a_summary_of_further_kinds), TEST(the_first_pin), TEST(colour), TEST(widths),
		TEST(colour_changes_no_words), TEST(long_words), TEST(random_words),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
