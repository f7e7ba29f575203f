// SPDX-License-Identifier: BSD-2-Clause
#include "support.h"

#include <errno.h>
#include <json-c/json_tokener.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "explain.h"

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

static void explain(struct json_object *report, unsigned int width)
{
	FILE *f;

	free(text);
	f = open_memstream(&text, &text_len);
	assert_non_null(f);
	explain_print_width(f, report, width);
	fclose(f);
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

static void the_incident(void **state)
{
	(void)state;
	explain_incident();
	has("reg_mr failed: ENOMEM - the memory must be moved before a long-term pin");
	has("\n  who    worker[4242]");
	has("\n  what   1.0 MiB at 0x7f0000001000 on rxe0 (rdma_rxe)");
	has("\n  why    page 37 (0x7f0000026000");
	has("\n  by     plain references, none of them a DMA pin");
	has("\n  sure   PROVEN: ");
	has("\n  not    ");
	has("\n  chain  migrate_pages = 1 left -> __gup_longterm_locked = -ENOMEM -> ib_umem_get = -ENOMEM ->");
	has("\n  when   2026-11-30T00:55:00.000Z  node node-1");
	has("\n  now    register the memory before");
	has("\n  then   ");
	has("\n  more   pinwhy causes longterm_migrate_blocked_by_ref");
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
		has("failed");
		assert_null(strchr(text, '\x1b'));
		json_object_put(o);
	}
}

static void stuck_and_summaries(void **state)
{
	struct wire_span span = build_span(50);
	int i;

	(void)state;
	pipeline_stuck(bench.pipeline, &span, &(struct sighting){ "its kernel stack", "handle_userfault" }, test_clock(bench.mono_ns));
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

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(the_incident), TEST(every_cause_has_its_title), TEST(no_line_is_too_long),
		TEST(hostile_strings), TEST(garbage), TEST(stuck_and_summaries),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
