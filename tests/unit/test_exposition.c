// SPDX-License-Identifier: BSD-2-Clause
/* The two formats of numbers, to the letter, and who gets which. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "exposition.h"

#define CREATED_NS 1700000000123456789ULL

static void who_gets_which(void **state)
{
	static const struct {
		const char *accept;
		enum exposition_format format;
	} rows[] = {
		/* Prometheus 2.42 and 3 */
		{ "application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,"
		  "text/plain;version=0.0.4;q=0.5,*/*;q=0.1", EXPOSITION_OPENMETRICS },
		{ "application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.6,application/openmetrics-text;"
		  "version=0.0.1;q=0.5,text/plain;version=1.0.0;escaping=allow-utf-8;q=0.4,text/plain;version=0.0.4;q=0.3,*/*;q=0.2",
		  EXPOSITION_OPENMETRICS },
		/* before OpenMetrics; curl; a browser */
		{ "text/plain;version=0.0.4;q=1,*/*;q=0.1", EXPOSITION_TEXT },
		{ "*/*", EXPOSITION_TEXT },
		{ "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", EXPOSITION_TEXT },
		{ "", EXPOSITION_TEXT },
		/* by preference, whatever the order and the case */
		{ "text/plain; q=0.4 , Application/OpenMetrics-Text ; version=1.0.0 ; q=0.5", EXPOSITION_OPENMETRICS },
		{ "text/plain;q=0.6,application/openmetrics-text;version=1.0.0;q=0.5", EXPOSITION_TEXT },
		{ "application/openmetrics-text", EXPOSITION_OPENMETRICS },
		{ "application/openmetrics-text; version=\"1.0.0\"", EXPOSITION_OPENMETRICS },
		{ "text/plain,application/openmetrics-text", EXPOSITION_OPENMETRICS },
		/* refused, or another version */
		{ "application/openmetrics-text;q=0", EXPOSITION_TEXT },
		{ "application/openmetrics-text;version=0.0.1", EXPOSITION_TEXT },
		{ "application/openmetrics-text;version=2.0.0,text/plain;q=0.1", EXPOSITION_TEXT },
		/* nonsense */
		{ ",,;;==,application/openmetrics-textual", EXPOSITION_TEXT },
		{ "application/openmetrics-text;q=", EXPOSITION_TEXT },
		{ ";q=1,;;", EXPOSITION_TEXT },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (exposition_negotiate(rows[i].accept) != rows[i].format)
			fail_msg("'%s' gets the other one", rows[i].accept);
	assert_string_equal(exposition_content_type(EXPOSITION_TEXT), "text/plain; version=0.0.4; charset=utf-8");
	assert_string_equal(exposition_content_type(EXPOSITION_OPENMETRICS),
			    "application/openmetrics-text; version=1.0.0; charset=utf-8");
}

static int write_page(enum exposition_format format, char *buf, size_t size, size_t *ret_len)
{
	static const struct exposition_example example = { "report_id", "018f-\"7\"", 1700000001500000000ULL };
	struct exposition e;

	exposition_begin(&e, format, buf, size, CREATED_NS);
	exposition_family(&e, "p_things_total", EXPOSITION_counter, "Things,\nwith \"quotes\" and a \\.");
	exposition_count(&e, EXPOSITION_LABELS({ "a", "b\\c\"d\ne" }, { "f", "" }), 18446744073709551615ULL, &example);
	exposition_u64(&e, NULL, 0);
	exposition_family(&e, "p_mem_bytes", EXPOSITION_gauge, "Memory.");
	exposition_count(&e, NULL, 7, NULL);
	exposition_family(&e, "p_cpu_seconds_total", EXPOSITION_counter, "Time.");
	exposition_seconds(&e, NULL, 1000001000);
	exposition_family(&e, "p_build_info", EXPOSITION_info, "Build.");
	exposition_u64(&e, EXPOSITION_LABELS({ "version", "1" }), 1);
	return exposition_end(&e, ret_len);
}

static void to_the_letter(void **state)
{
	static const char text[] =
		"# TYPE p_things_total counter\n"
		"# HELP p_things_total Things,\\nwith \"quotes\" and a \\\\.\n"
		"p_things_total{a=\"b\\\\c\\\"d\\ne\",f=\"\"} 18446744073709551615\n"
		"p_things_total 0\n"
		"# TYPE p_mem_bytes gauge\n# HELP p_mem_bytes Memory.\np_mem_bytes 7\n"
		"# TYPE p_cpu_seconds_total counter\n# HELP p_cpu_seconds_total Time.\np_cpu_seconds_total 1.000001\n"
		"# TYPE p_build_info gauge\n# HELP p_build_info Build.\np_build_info{version=\"1\"} 1\n";
	static const char open[] =
		"# TYPE p_things counter\n"
		"# HELP p_things Things,\\nwith \\\"quotes\\\" and a \\\\.\n"
		"p_things_total{a=\"b\\\\c\\\"d\\ne\",f=\"\"} 18446744073709551615 # {report_id=\"018f-\\\"7\\\"\"} 1 1700000001.500\n"
		"p_things_created{a=\"b\\\\c\\\"d\\ne\",f=\"\"} 1700000000.123\n"
		"p_things_total 0\np_things_created 1700000000.123\n"
		"# TYPE p_mem_bytes gauge\n# UNIT p_mem_bytes bytes\n# HELP p_mem_bytes Memory.\np_mem_bytes 7\n"
		"# TYPE p_cpu_seconds counter\n# UNIT p_cpu_seconds seconds\n# HELP p_cpu_seconds Time.\n"
		"p_cpu_seconds_total 1.000001\np_cpu_seconds_created 1700000000.123\n"
		"# TYPE p_build info\n# HELP p_build Build.\np_build_info{version=\"1\"} 1\n"
		"# EOF\n";
	char page[4096];
	size_t len = 0;

	(void)state;
	assert_int_equal(write_page(EXPOSITION_TEXT, page, sizeof(page), &len), 0);
	page[len] = '\0';
	assert_string_equal(page, text);
	assert_int_equal(write_page(EXPOSITION_OPENMETRICS, page, sizeof(page), &len), 0);
	page[len] = '\0';
	assert_string_equal(page, open);
}

/* A buffer of any size that is too small is an error, and nothing is written behind it. */
static void never_cut_short(void **state)
{
	char page[4096];
	size_t whole = 0, len = 77;

	(void)state;
	assert_int_equal(write_page(EXPOSITION_OPENMETRICS, page, sizeof(page), &whole), 0);
	for (size_t size = 1; size <= whole; size++) {
		memset(page, 'x', sizeof(page));
		assert_int_equal(write_page(EXPOSITION_OPENMETRICS, page, size, &len), -ENOBUFS);
		assert_int_equal(len, 77);
		assert_int_equal(page[size], 'x');
	}
	assert_int_equal(write_page(EXPOSITION_OPENMETRICS, page, whole + 1, &len), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(who_gets_which),
		cmocka_unit_test(to_the_letter),
		cmocka_unit_test(never_cut_short),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
