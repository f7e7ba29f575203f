// SPDX-License-Identifier: BSD-2-Clause
/* Exposures of this very machine, read by the helper as the daemon does, and on the page. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "exposures_now.h"
#include "web/page.h"

#define NS_PER_S 1000000000ULL

static void exposures_come_and_are_shown(void **state)
{
	uint64_t until = loop_clock().mono_ns + 30 * NS_PER_S;
	struct http_status status = { .node = "n", .kernel = "k", .version = "v" };
	const struct exposures *e;
	struct exposed *x;
	struct loop *loop;
	char *text = NULL;
	size_t len = 0;
	FILE *f;

	(void)state;
	assert_int_equal(loop_new(&loop), 0);
	assert_int_equal(exposed_start(&x), 0);
	assert_int_equal(exposed_attach(x, loop, false), 0);
	assert_null(exposed_now(x));
	while (!exposed_now(x) && loop_clock().mono_ns < until)
		loop_once(loop, NS_PER_S / 10);
	e = exposed_now(x);
	assert_non_null(e);
	status.exposures = e;
	f = open_memstream(&text, &len);
	page_write_tail(f, &status);
	fclose(f);
	assert_null(strstr(text, "being read"));
	for (uint32_t i = 0; i < EXPOSURES_MAX; i++)
		assert_int_equal(e->rows[i].severity != SEVERITY_NONE, e->rows[i].id && strstr(text, e->rows[i].id) != NULL);
	free(text);
	exposed_stop(x);
	loop_free(loop);
}

static void what_is_exposed_is_escaped(void **state)
{
	struct exposures *e = calloc(1, sizeof(*e));
	struct http_status status = { .node = "n", .kernel = "k", .version = "v", .exposures = e };
	char *text = NULL;
	size_t len = 0;
	FILE *f;

	(void)state;
	e->rows[0].id = "first";
	e->rows[0].severity = SEVERITY_HIGH;
	strcpy(e->rows[0].what, "<b>what");
	e->rows[0].nevidence = e->rows[0].nremedies = 1;
	strcpy(e->rows[0].evidence[0], "<i>seen");
	strcpy(e->rows[0].remedies[0], "<u>do");
	f = open_memstream(&text, &len);
	page_write_tail(f, &status);
	fclose(f);
	assert_non_null(strstr(text, "&lt;b&gt;what"));
	assert_non_null(strstr(text, "<li>&lt;i&gt;seen</li>"));
	assert_non_null(strstr(text, "<li>&lt;u&gt;do</li>"));
	assert_null(strstr(text, "None was found"));
	free(text);
	e->rows[0].severity = SEVERITY_NONE;
	f = open_memstream(&text, &len);
	page_write_tail(f, &status);
	fclose(f);
	assert_non_null(strstr(text, "None was found"));
	free(text);
	free(e);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(exposures_come_and_are_shown),
		cmocka_unit_test(what_is_exposed_is_escaped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
