// SPDX-License-Identifier: BSD-2-Clause
/* A recording and its replay: the same reports to the byte, and a clear word about what is wrong. */
#include "support.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "capture.h"

static char folder[] = "/tmp/pinwhy-test-XXXXXX";
static char path[64];
static struct bench live, again;
static struct capture *capture;

static int make_folder(void **state)
{
	(void)state;
	return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
	(void)state;
	return rmdir(folder);
}

static int setup(void **state)
{
	struct pipeline_settings settings = test_settings();
	struct identity id = test_identity();

	(void)state;
	snprintf(path, sizeof(path), "%s/capture", folder);
	bench_open(&live, &settings);
	memset(&again, 0, sizeof(again));
	assert_int_equal(capture_create(&capture, path, &id, &settings), 0);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	capture_close(capture);
	capture = NULL;
	bench_close(&live);
	bench_close(&again);
	unlink(path);
	return 0;
}

/* --- an agent that records ------------------------------------------------------ */

static void record_event(const void *data, size_t size)
{
	struct clock_pair now = test_clock(live.mono_ns);
	uint32_t asks = live.nasks;

	assert_int_equal(capture_event(capture, data, size, now), 0);
	pipeline_event(live.pipeline, data, size, now);
	if (live.nasks > asks && live.ask_result)
		assert_int_equal(capture_ask_failed(capture, live.last_ask.id, live.ask_result, now), 0);
}

static void record_incident(const struct incident *in)
{
	uint32_t i;

	for (i = 0; i < in->nfolios; i++)
		record_event(&in->folios[i], sizeof(in->folios[i]));
	record_event(&in->end, sizeof(in->end));
}

static void record_facts(void)
{
	struct facts facts = test_facts();

	facts.err[FACT_exe] = -EACCES;
	facts.err[FACT_cma_free_bytes] = -ENODATA;
	assert_int_equal(capture_facts(capture, live.last_ask.id, &facts, test_clock(live.mono_ns)), 0);
	pipeline_facts(live.pipeline, live.last_ask.id, &facts, test_clock(live.mono_ns));
}

static void record_tick(uint64_t ns)
{
	live.mono_ns += ns;
	assert_int_equal(capture_tick(capture, test_clock(live.mono_ns)), 0);
	pipeline_tick(live.pipeline, test_clock(live.mono_ns));
}

/* Every kind of line, and inputs of every sort. */
static void record_all(void)
{
	struct loss loss = { .reg_ok = 7, .dropped = { [WIRE_FOLIO] = 1 }, .vma_lock_busy = 3 };
	struct identity id = test_identity();
	struct wire_span span = build_span(70);
	struct incident in;
	int i;

	prove_longterm_migrate_blocked_by_ref(&in);
	strcpy(in.end.comm, "\xff\x1b\"");
	in.end.vmas[0].file = 0xffff888011112222;
	record_incident(&in);
	record_facts();
	assert_int_equal(capture_loss(capture, &loss, test_clock(live.mono_ns)), 0);
	pipeline_loss(live.pipeline, &loss, test_clock(live.mono_ns));
	live.ask_result = -EAGAIN;
	prove_rlimit_memlock_exceeded(&in);
	record_incident(&in);
	live.ask_result = 0;
	assert_int_equal(capture_stuck(capture, &span, &(struct sighting){ "its stack", "handle_userfault" }, test_clock(live.mono_ns)), 0);
	pipeline_stuck(live.pipeline, &span, &(struct sighting){ "its stack", "handle_userfault" }, test_clock(live.mono_ns));
	record_tick(NS_PER_S);
	id.fn_watched[WIRE_FN_UMEM] = false;
	assert_int_equal(capture_identity(capture, &id, test_clock(live.mono_ns)), 0);
	pipeline_identity(live.pipeline, &id);
	prove_address_not_mapped(&in);
	for (i = 0; i < 6; i++)
		record_incident(&in);
	in.end.nchain = 1000;
	record_incident(&in);
	record_event("short", 5);
	assert_int_equal(capture_finish(capture, test_clock(live.mono_ns)), 0);
	pipeline_finish(live.pipeline, test_clock(live.mono_ns));
	assert_int_equal(capture_close(capture), 0);
	capture = NULL;
}

/* --- replay --------------------------------------------------------------------- */

static struct pipeline_stats stats;
static struct capture_error error;

static void forget_reports(void)
{
	uint32_t i;

	for (i = 0; i < again.nreports; i++) {
		free(again.lines[i]);
		json_object_put(again.reports[i]);
	}
	again.nreports = 0;
}

static int replay(const void *data, size_t size)
{
	FILE *in = fmemopen((void *)(uintptr_t)data, size, "r");
	int rc;

	assert_non_null(in);
	forget_reports();
	memset(&stats, 0, sizeof(stats));
	rc = capture_replay(in, bench_emit, &again, &stats, &error);
	fclose(in);
	if (rc)
		assert_true(error.text[0] != '\0');
	return rc;
}

static char *load(size_t *ret_size)
{
	FILE *f = fopen(path, "r");
	char *data = malloc(1 << 20);

	assert_non_null(f);
	assert_non_null(data);
	*ret_size = fread(data, 1, 1 << 20, f);
	fclose(f);
	return data;
}

static void round_trip(void **state)
{
	struct pipeline_stats before;
	size_t size;
	char *data;
	uint32_t i;

	(void)state;
	record_all();
	data = load(&size);
	assert_int_equal(replay(data, size), 0);
	assert_true(live.nreports >= 7);
	assert_int_equal(again.nreports, live.nreports);
	for (i = 0; i < live.nreports; i++)
		assert_string_equal(again.lines[i], live.lines[i]);
	pipeline_stats(live.pipeline, &before);
	assert_memory_equal(&stats, &before, sizeof(stats));
	free(data);
}

static void nothing_secret_is_in_it(void **state)
{
	struct stat st;
	size_t size;
	char *data;

	(void)state;
	record_all();
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	data = load(&size);
	data[size] = '\0';
	/* Kernel addresses, low byte first in the hexadecimal dump: file mappings, attrs, device. */
	assert_null(strstr(data, "8088ffff"));
	free(data);
}

/* Cut at every byte: never a crash, never silence, and reports only of what was there. */
static void truncated_at_every_byte(void **state)
{
	struct incident in;
	size_t size, cut;
	char *data;
	uint32_t i;
	int rc;

	(void)state;
	prove_longterm_migrate_blocked_by_ref(&in);
	record_incident(&in);
	record_facts();
	assert_int_equal(capture_finish(capture, test_clock(live.mono_ns)), 0);
	pipeline_finish(live.pipeline, test_clock(live.mono_ns));
	capture_close(capture);
	capture = NULL;
	data = load(&size);
	assert_int_equal(replay(data, size), 0);
	for (cut = 1; cut < size; cut++) {
		rc = replay(data, cut);
		if (rc != -ENODATA && rc != -EBADMSG)
			fail_msg("cut at %zu of %zu: %d", cut, size, rc);
		assert_null(pipeline_ledger(&stats));
		for (i = 0; i < again.nreports; i++)
			assert_string_equal(jstr(again.reports[i], "report_id"), jstr(live.reports[0], "report_id"));
	}
	free(data);
}

static void empty_file(void **state)
{
	FILE *in = fopen("/dev/null", "r");

	(void)state;
	assert_int_equal(capture_replay(in, bench_emit, &again, &stats, &error), -EBADMSG);
	assert_non_null(strstr(error.text, "empty"));
	fclose(in);
}

/* The recorded lines with one change: `from` becomes `to`. */
static int replay_changed(const char *from, const char *to)
{
	size_t size;
	char *data = load(&size), *at, *changed = malloc(size + 70000);
	size_t before;
	int rc;

	assert_non_null(changed);
	data[size] = '\0';
	at = strstr(data, from);
	assert_non_null(at);
	before = (size_t)(at - data);
	memcpy(changed, data, before);
	sprintf(changed + before, "%s%s", to, at + strlen(from));
	rc = replay(changed, strlen(changed));
	free(data);
	free(changed);
	return rc;
}

static void damage_is_named_with_its_line(void **state)
{
	static const struct {
		const char *from, *to;
		int rc;
		uint64_t line;
		const char *says;
	} cases[] = {
		{ "\"pinwhy_capture\":1", "\"pinwhy_capture\":2", -EPROTO, 1, "newer" },
		{ "\"pinwhy_capture\":1", "\"pinwhy_capture\":0", -EPROTO, 1, "older" },
		{ "\"wire_version\":2", "\"wire_version\":9", -EPROTO, 1, "newer" },
		{ "\"pinwhy_capture\"", "\"something_else\"", -EBADMSG, 1, "not a capture" },
		{ "\"page_size\":4096", "\"page_size\":4095", -EBADMSG, 1, "page size" },
		{ "\"storm_signatures\":16", "\"storm_signatures\":4000000000", -EBADMSG, 1, "settings" },
		{ "\"storm_cgroups\":4", "\"storm_cgroups\":4000000000", -EBADMSG, 1, "settings" },
		{ "\"storm_cgroups\":4", "\"storm_cgroups\":5000", -EBADMSG, 1, "settings" },
		{ "\"storm_cgroup_reports\":1000", "\"storm_cgroup_reports\":\"1\"", -EBADMSG, 1, "settings" },
		{ "\"boot_id\":\"", "\"boot_id\":\"0123456789012345678901234567890123456789", -EBADMSG, 1, "identity" },
		{ "{\"event\":\"0", "{\"event\":\"g", -EBADMSG, 2, "hexadecimal" },
		{ "{\"event\":\"0", "{\"event\":\"00", -EBADMSG, 2, "hexadecimal" },
		{ "(", "(x", -EBADMSG, 2, "hexadecimal" },
		{ "(", "((", -EBADMSG, 2, "hexadecimal" },
		{ "{\"event\":\"", "{\"event\":7,\"x\":\"", -EBADMSG, 2, "hexadecimal" },
		{ "{\"event\":", "{\"evnt\":", -EBADMSG, 2, "does not know" },
		{ "{\"event\":", "[\"event\":", -EBADMSG, 2, "not a line" },
		{ "\"mono_ns\":", "\"mono\":", -EBADMSG, 2, "clocks" },
		{ "\"exe\":-13", "\"exe\":13", -EBADMSG, 4, "facts" },
		{ "\"loss\":{", "\"loss\":{\"x\":1},\"lost\":{", -EBADMSG, 5, "loss" },
		{ "\"ask_failed\":{\"id\":2", "\"ask_failed\":{\"id\":9", -EBADMSG, 7, "nothing had asked" },
	};
	size_t i;
	int rc;

	(void)state;
	record_all();
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		rc = replay_changed(cases[i].from, cases[i].to);
		if (rc != cases[i].rc || error.line != cases[i].line || !strstr(error.text, cases[i].says))
			fail_msg("\"%s\" -> \"%s\": %d, line %llu: %s", cases[i].from, cases[i].to, rc,
				 (unsigned long long)error.line, error.text);
	}
}

/* Recorded when no cgroup had a budget of its own: replayed without one. */
static void settings_that_came_later(void **state)
{
	uint32_t i;

	(void)state;
	record_all();
	assert_int_equal(replay_changed(",\"storm_cgroup_reports\":1000,\"storm_cgroups\":4", ""), 0);
	assert_int_equal(again.nreports, live.nreports);
	for (i = 0; i < live.nreports; i++)
		assert_string_equal(again.lines[i], live.lines[i]);
	/* One that is there counts: with a single report nobody asks for the second one's facts. */
	assert_int_equal(replay_changed("\"storm_cgroup_reports\":1000", "\"storm_cgroup_reports\":1"), -EBADMSG);
	assert_non_null(strstr(error.text, "nothing had asked"));
}

static void an_over_long_line(void **state)
{
	char *big = malloc(66000);

	(void)state;
	assert_non_null(big);
	memset(big, '0', 66000);
	big[65999] = '\0';
	memcpy(big, "{\"event\":\"", 10);
	record_all();
	assert_int_equal(replay_changed("{\"event\":\"", big), -EBADMSG);
	assert_int_equal(error.line, 2);
	assert_non_null(strstr(error.text, "longer than"));
	free(big);
}

static void lines_after_the_end(void **state)
{
	size_t size;
	char *data;

	(void)state;
	record_all();
	data = load(&size);
	strcpy(data + size, "{\"tick\":true,\"mono_ns\":1,\"real_ns\":1}\n");
	assert_int_equal(replay(data, strlen(data)), -EBADMSG);
	assert_non_null(strstr(error.text, "end mark"));
	/* What came before it was reported all the same. */
	assert_int_equal(again.nreports, live.nreports);
	free(data);
}

/* --- writing -------------------------------------------------------------------- */

static void an_existing_file_stays(void **state)
{
	struct pipeline_settings settings = test_settings();
	struct identity id = test_identity();
	struct capture *other = NULL;
	char link[80];

	(void)state;
	assert_int_equal(capture_create(&other, path, &id, &settings), -EEXIST);
	snprintf(link, sizeof(link), "%s/link", folder);
	assert_int_equal(symlink("/nonexistent/target", link), 0);
	assert_int_equal(capture_create(&other, link, &id, &settings), -EEXIST);
	unlink(link);
	assert_null(other);
	assert_int_equal(capture_close(NULL), 0);
}

/* A disk that fills up ends the recording; the same error is told from then on. */
static void a_full_disk(void **state)
{
	struct rlimit old, small;
	struct incident in;
	int rc = 0, i;

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
	small = (struct rlimit){ .rlim_cur = 20000, .rlim_max = old.rlim_max };
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
	prove_rlimit_memlock_exceeded(&in);
	for (i = 0; i < 100 && rc == 0; i++)
		rc = capture_event(capture, &in.end, sizeof(in.end), test_clock(1));
	assert_int_equal(rc, -EFBIG);
	assert_int_equal(capture_tick(capture, test_clock(1)), -EFBIG);
	assert_int_equal(capture_finish(capture, test_clock(1)), -EFBIG);
	assert_int_equal(capture_close(capture), -EFBIG);
	capture = NULL;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(round_trip), TEST(nothing_secret_is_in_it), TEST(truncated_at_every_byte), TEST(empty_file),
		TEST(damage_is_named_with_its_line), TEST(settings_that_came_later), TEST(an_over_long_line),
		TEST(lines_after_the_end), TEST(an_existing_file_stays), TEST(a_full_disk),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
