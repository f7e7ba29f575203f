// SPDX-License-Identifier: BSD-2-Clause
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "metrics.h"

static struct metrics m;
static char page[METRICS_PAGE_MAX + 1];

/* The longest words a slot can have. */
static void long_words(struct slot_status *s)
{
	memset(s->variant, 'v', sizeof(s->variant) - 1);
	memset(s->target, 't', sizeof(s->target) - 1);
	memset(s->module, 'm', sizeof(s->module) - 1);
	s->variant[sizeof(s->variant) - 1] = s->target[sizeof(s->target) - 1] = s->module[sizeof(s->module) - 1] = '\0';
}

static void long_id(struct metrics_verdict *v)
{
	memset(v->last_id, 'i', sizeof(v->last_id) - 1);
	v->last_id[sizeof(v->last_id) - 1] = '\0';
}

/* Every number at its largest, every slot there. */
static void fill(void)
{
	memset(&m, 0xff, sizeof(m));
	for (size_t i = 0; i < CAUSES_MAX; i++)
		for (int c = 0; c < CONFIDENCE_MAX; c++)
			long_id(&m.by_cause[i][c]);
	long_id(&m.unknown);
	long_id(&m.without_verdict);
	m.version = "1.2.3";
	m.kernel = "6.1.0-57-amd64";
	m.reload_ok = true;
	m.nsinks = SINKS_MAX;
	for (uint32_t i = 0; i < SINKS_MAX; i++)
		m.sinks[i].name = (const char *[]){ "a", "b", "c", "d", "e", "f", "g", "h" }[i];
	m.nslots = loader_nslots();
	for (uint32_t i = 0; i < m.nslots; i++) {
		m.slots[i].name = loader_slot_name(i);
		m.slots[i].state = SLOT_ATTACHED;
		long_words(&m.slots[i]);
	}
}

static void render_as(enum exposition_format format)
{
	size_t len = 0;

	memset(page, 0, sizeof(page));
	assert_int_equal(metrics_render(&m, format, page, METRICS_PAGE_MAX, &len), 0);
	assert_int_equal(len, strlen(page));
}

static void render(void)
{
	render_as(EXPOSITION_TEXT);
}

static uint64_t value_of(const char *series)
{
	const char *p = page;
	size_t n = strlen(series);

	while ((p = strstr(p, series))) {
		if ((p == page || p[-1] == '\n') && p[n] == ' ')
			return strtoull(p + n + 1, NULL, 10);
		p += n;
	}
	fail_msg("there is no %s", series);
	return 0;
}

/* A page of the largest tables we allow leaves a good part of its buffer free. */
static void largest_page_fits(void **state)
{
	(void)state;
	fill();
	m.nslots = METRICS_SLOTS_MAX;
	for (uint32_t i = 0; i < METRICS_SLOTS_MAX; i++) {
		m.slots[i] = (struct slot_status){ .name = "a_name_of_a_slot_that_is_long", .state = SLOT_ACTIVE,
						   .runs = UINT64_MAX, .missed = UINT64_MAX };
		long_words(&m.slots[i]);
	}
	render_as(EXPOSITION_OPENMETRICS);
	assert_true(strlen(page) + (CAUSES_MAX - ncauses) * 3 * 320 < METRICS_PAGE_MAX);
}

static void small_buffer_is_an_error(void **state)
{
	size_t len = 77;

	(void)state;
	fill();
	assert_int_equal(metrics_render(&m, EXPOSITION_TEXT, page, 1000, &len), -ENOBUFS);
	assert_int_equal(len, 77);
}

static bool is_name(const char *s, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (!isalnum((unsigned char)s[i]) && s[i] != '_')
			return false;
	return len > 0;
}

/* Text format 0.0.4: TYPE, HELP, then the samples of just that metric. */
static void page_is_well_formed(void **state)
{
	char name[128] = "", type[16] = "", *save = NULL;
	unsigned int families = 0;

	(void)state;
	fill();
	render();
	assert_int_equal(page[strlen(page) - 1], '\n');
	for (char *line = strtok_r(page, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		size_t len = strcspn(line, "{ ");

		if (strncmp(line, "# HELP ", 7) == 0) {
			char helped[128];

			assert_int_equal(sscanf(line, "# HELP %127s", helped), 1);
			assert_string_equal(helped, name);
			families++;
			continue;
		}
		if (strncmp(line, "# TYPE ", 7) == 0) {
			assert_int_equal(sscanf(line, "# TYPE %127s %15s", name, type), 2);
			assert_true(!strcmp(type, "counter") || !strcmp(type, "gauge"));
			/* Counters, and nothing else, end in _total. */
			assert_int_equal(!strcmp(type, "counter"),
					 strlen(name) > 6 && !strcmp(name + strlen(name) - 6, "_total"));
			continue;
		}
		assert_true(is_name(line, len));
		assert_int_equal(strlen(name), len);
		assert_memory_equal(line, name, len);
		assert_true(isdigit((unsigned char)strrchr(line, ' ')[1]));
	}
	assert_true(families > 40);
}

/* For check-metrics, which has them read by others: pages of everything that there may be. */
static void pages_for_others(void **state)
{
	static const char *const names[] = { [EXPOSITION_TEXT] = "full.txt", [EXPOSITION_OPENMETRICS] = "full.open" };
	const char *folder = getenv("METRICS_PAGES");
	char path[4096];
	FILE *f;

	(void)state;
	for (int format = EXPOSITION_TEXT; folder && format <= EXPOSITION_OPENMETRICS; format++) {
		fill();
		render_as((enum exposition_format)format);
		snprintf(path, sizeof(path), "%s/%s", folder, names[format]);
		f = fopen(path, "w");
		assert_non_null(f);
		assert_true(fputs(page, f) >= 0);
		assert_int_equal(fclose(f), 0);
	}
}

static int compare(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* A counter and something else of the same name are one family in OpenMetrics, and no two may be. */
static void no_family_twice(void **state)
{
	char name[128], *families[512], *save = NULL;
	size_t n = 0;

	(void)state;
	fill();
	render_as(EXPOSITION_OPENMETRICS);
	for (char *line = strtok_r(page, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		if (sscanf(line, "# TYPE %127s", name) != 1)
			continue;
		assert_true(n < 512);
		families[n++] = strdup(name);
	}
	qsort(families, n, sizeof(families[0]), compare);
	for (size_t i = 1; i < n; i++)
		assert_string_not_equal(families[i - 1], families[i]);
	while (n)
		free(families[--n]);
}

static void no_series_twice(void **state)
{
	char *series[4096], *save = NULL;
	size_t n = 0;

	(void)state;
	fill();
	render();
	for (char *line = strtok_r(page, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		if (line[0] == '#')
			continue;
		*strrchr(line, ' ') = '\0';
		assert_true(n < 4096);
		series[n++] = line;
	}
	qsort(series, n, sizeof(series[0]), compare);
	for (size_t i = 1; i < n; i++)
		assert_string_not_equal(series[i - 1], series[i]);
}

static void numbers_are_exact(void **state)
{
	(void)state;
	fill();
	m.loss.api_ok[WIRE_API_REG_MR] = 18446744073709551615ULL;
	m.loss.api_failed[WIRE_API_IO_URING] = 3;
	m.loss.dropped[WIRE_FOLIO] = 5;
	render();
	assert_true(value_of("pinwhy_registrations_total{api=\"reg_mr\",result=\"ok\"}") == UINT64_MAX);
	assert_int_equal(value_of("pinwhy_registrations_total{api=\"io_uring_buffers\",result=\"failed\"}"), 3);
	assert_int_equal(value_of("pinwhy_events_dropped_total{kind=\"folio\"}"), 5);
	assert_int_equal(value_of("pinwhy_build_info{version=\"1.2.3\"}"), 1);
}

static void one_state_per_slot(void **state)
{
	char series[200];

	(void)state;
	fill();
	m.slots[0].state = SLOT_LOAD_FAILED;
	render();
	for (int s = SLOT_ABSENT; s <= SLOT_ACTIVE; s++) {
		snprintf(series, sizeof(series), "pinwhy_slot_state{slot=\"%s\",state=\"%s\"}",
			 m.slots[0].name, slot_state_name((enum slot_state)s));
		assert_int_equal(value_of(series), s == SLOT_LOAD_FAILED);
	}
	snprintf(series, sizeof(series), "pinwhy_slot_attached{slot=\"%s\"}", m.slots[0].name);
	assert_int_equal(value_of(series), 0);
	snprintf(series, sizeof(series), "pinwhy_slot_attached{slot=\"%s\"}", m.slots[1].name);
	assert_int_equal(value_of(series), 1);
}

static void reports_are_counted_by_verdict(void **state)
{
	struct report r = { .id = "018f0000-0000-7000-8000-000000000001", .kind = "registration_failed", .confidence = "proven" };
	char series[200];

	(void)state;
	memset(&m, 0, sizeof(m));
	m.version = m.kernel = "";
	r.cause = causes[0].id;
	metrics_report(&m, &r, 1700000000000000000ULL);
	metrics_report(&m, &r, 1700000000000000000ULL);
	r.confidence = "likely";
	metrics_report(&m, &r, 1700000000000000000ULL);
	r.cause = "unknown";
	r.confidence = "unknown";
	metrics_report(&m, &r, 1700000000000000000ULL);
	r.cause = "";
	metrics_report(&m, &r, 1700000000000000000ULL);
	render();
	snprintf(series, sizeof(series), "pinwhy_reports_total{cause=\"%s\",confidence=\"proven\"}",
		 causes[0].id);
	assert_int_equal(value_of(series), 2);
	snprintf(series, sizeof(series), "pinwhy_reports_total{cause=\"%s\",confidence=\"likely\"}",
		 causes[0].id);
	assert_int_equal(value_of(series), 1);
	assert_int_equal(value_of("pinwhy_reports_total{cause=\"unknown\",confidence=\"unknown\"}"), 1);
	assert_int_equal(value_of("pinwhy_reports_total{cause=\"none\",confidence=\"none\"}"), 1);
	/* OpenMetrics names the last of each. */
	strcpy(r.id, "018f0000-0000-7000-8000-000000000002");
	metrics_report(&m, &r, 1700000000500000000ULL);
	render_as(EXPOSITION_OPENMETRICS);
	snprintf(series, sizeof(series), "pinwhy_reports_total{cause=\"%s\",confidence=\"proven\"} 2 "
		 "# {report_id=\"018f0000-0000-7000-8000-000000000001\"} 1 1700000000.000\n", causes[0].id);
	assert_non_null(strstr(page, series));
	assert_non_null(strstr(page, "pinwhy_reports_total{cause=\"none\",confidence=\"none\"} 2 "
				     "# {report_id=\"018f0000-0000-7000-8000-000000000002\"} 1 1700000000.500\n"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(largest_page_fits),
		cmocka_unit_test(small_buffer_is_an_error),
		cmocka_unit_test(page_is_well_formed),
		cmocka_unit_test(pages_for_others),
		cmocka_unit_test(no_family_twice),
		cmocka_unit_test(no_series_twice),
		cmocka_unit_test(numbers_are_exact),
		cmocka_unit_test(one_state_per_slot),
		cmocka_unit_test(reports_are_counted_by_verdict),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
