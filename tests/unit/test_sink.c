// SPDX-License-Identifier: BSD-2-Clause
/* Queues, streams and the processes of sinks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <json-c/json.h>
#include <poll.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "log.h"
#include "sink.h"
#include "sinking.h"
#include "tree.h"

#define NS_PER_S 1000000000ULL
#define GIVE_UP_NS (40 * NS_PER_S)	/* for a machine that is very busy; the process of a sink has 10 s */

static struct tree tree;
static struct loop *loop;
static struct sinks *sinks;
static struct config config;

static int setup(void **state)
{
	(void)state;
	/* Expected complaints would only hide real ones. */
	log_max_level = (enum log_level)0;
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN);
	tree_make(&tree);
	config_defaults(&config);
	sinks = NULL;
	return loop_new(&loop);
}

static int teardown(void **state)
{
	(void)state;
	sinks_close(sinks, 0);
	loop_free(loop);
	tree_remove(&tree);
	return 0;
}

static int open_to(const char *path)
{
	snprintf(config.reports, sizeof(config.reports), "%s", path);
	return sinks_open(&sinks, &config, loop);
}

static void open_sink(const char *name)
{
	assert_int_equal(open_to(tree_path(&tree, name)), 0);
}

static struct sink_stats stats_of(const char *name)
{
	struct sink_stats all[SINKS_MAX] = { 0 };
	uint32_t n = sinks_stats(sinks, all);

	for (uint32_t i = 0; i < n; i++) {
		assert_int_equal(all[i].accepted, all[i].written + all[i].dropped + all[i].queued);
		if (strcmp(all[i].name, name) == 0)
			return all[i];
	}
	fail_msg("there is no sink %s", name);
	return all[0];
}

static void put(unsigned int n, size_t len)
{
	struct report r = { .kind = "test", .cause = "", .confidence = "" };
	char *line = numbered_report(n, len);

	r.line = line;
	r.line_len = len;
	r.json = json_tokener_parse(line);
	sinks_put(sinks, &r);
	json_object_put(r.json);
	free(line);
}

/* Turns the loop until `count` are written by sink `name`. */
static void wait_written(const char *name, uint64_t count)
{
	uint64_t end = loop_refresh(loop).mono_ns + GIVE_UP_NS;

	while (stats_of(name).written < count) {
		if (loop_refresh(loop).mono_ns > end)
			fail_msg("%s: %llu written", name, (unsigned long long)stats_of(name).written);
		assert_int_equal(loop_once(loop, NS_PER_S / 10), 0);
		sinks_tick(sinks);
	}
}

/* As the daemon does every second. */
static void turn(unsigned int tenths)
{
	while (tenths--) {
		assert_int_equal(loop_once(loop, NS_PER_S / 10), 0);
		sinks_tick(sinks);
	}
}

static void file_is_written_by_its_process(void **state)
{
	(void)state;
	open_sink("r.jsonl");
	for (unsigned int i = 0; i < 200; i++)
		put(i, 3000);
	wait_written("file", 200);
	assert_int_equal(stats_of("file").dropped, 0);
	assert_int_equal(stats_of("file").errors, 0);
	assert_int_equal(check_lines(tree_read(&tree, "r.jsonl"), 0), 200);
}

static void what_is_wrong_with_a_file_is_told_at_the_start(void **state)
{
	(void)state;
	assert_int_equal(open_to(tree_path(&tree, "no/r.jsonl")), -ENOENT);
	tree_write(&tree, "notes", "no line break");
	assert_int_equal(open_to(tree_path(&tree, "notes")), -EBADMSG);
	tree_write(&tree, "r.jsonl", "{\"n\":0,\"pad\":\"\"}\n{\"n\":1");
	open_sink("r.jsonl");
	assert_int_equal(stats_of("file").repaired_bytes, 6);
}

static void close_delivers_what_is_queued(void **state)
{
	(void)state;
	open_sink("r.jsonl");
	for (unsigned int i = 0; i < 150; i++)
		put(i, 2000);
	sinks_close(sinks, GIVE_UP_NS);
	sinks = NULL;
	assert_int_equal(check_lines(tree_read(&tree, "r.jsonl"), 0), 150);
}

/* A lock that another holds stops the process as a disk would that does not answer. */
static void stuck_file_stops_nobody_and_loses_nothing_it_had(void **state)
{
	int fd, listener = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0);
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	char datagram[4096], *text;
	unsigned int got = 0;
	uint64_t before;

	(void)state;
	strcpy(a.sun_path, tree_path(&tree, "socket"));
	assert_int_equal(bind(listener, (struct sockaddr *)&a, sizeof(a)), 0);
	strcpy(config.journald_socket, a.sun_path);
	config.journald_enabled = true;
	open_sink("r.jsonl");
	fd = open(tree_path(&tree, "r.jsonl"), O_RDWR);
	assert_int_equal(flock(fd, LOCK_EX), 0);
	for (unsigned int i = 0; i < SINK_QUEUE_REPORTS + 100; i++) {
		before = loop_refresh(loop).mono_ns;
		put(i, 200);
		/* Nothing waits for the file. */
		assert_true(loop_refresh(loop).mono_ns - before < NS_PER_S);
		while (recv(listener, datagram, sizeof(datagram), 0) > 0)
			got++;
	}
	assert_int_equal(got, SINK_QUEUE_REPORTS + 100);
	assert_int_equal(stats_of("journald").written, SINK_QUEUE_REPORTS + 100);
	assert_int_equal(stats_of("file").written, 0);
	assert_int_equal(stats_of("file").dropped, 100);
	/* Past the deadline: given up, and another begun. */
	while (!stats_of("file").late)
		turn(1);
	assert_int_equal(stats_of("file").last_errno, ETIMEDOUT);
	close(fd);
	wait_written("file", SINK_QUEUE_REPORTS);
	assert_int_equal(stats_of("file").dropped, 100);
	/* The first that it had been given was kept; what made room came behind it. */
	text = tree_read(&tree, "r.jsonl");
	assert_int_equal(strncmp(text, "{\"n\":0,", 7), 0);
	free(text);
	close(listener);
}

static void reopen_makes_a_moved_file_anew(void **state)
{
	char from[PATH_MAX];

	(void)state;
	open_sink("r.jsonl");
	put(0, 100);
	wait_written("file", 1);
	strcpy(from, tree_path(&tree, "r.jsonl"));
	assert_int_equal(rename(from, tree_path(&tree, "moved")), 0);
	sinks_reopen(sinks);
	for (int i = 0; i < 100 && access(from, F_OK) != 0; i++)
		turn(1);
	assert_int_equal(access(from, F_OK), 0);
	put(1, 100);
	wait_written("file", 2);
	assert_int_equal(check_lines(tree_read(&tree, "moved"), 0), 1);
	assert_int_equal(check_lines(tree_read(&tree, "r.jsonl"), 1), 1);
}

static void interval_syncs_once_it_is_over(void **state)
{
	(void)state;
	config.file_fsync_s = 1;
	open_sink("r.jsonl");
	put(0, 100);
	wait_written("file", 1);
	assert_int_equal(stats_of("file").syncs, 0);
	for (int i = 0; i < 300 && !stats_of("file").syncs; i++)
		turn(1);
	assert_int_equal(stats_of("file").syncs, 1);
	turn(15);
	/* Nothing was written since: nothing is to be synced. */
	assert_int_equal(stats_of("file").syncs, 1);
}

static void report_that_is_too_long_for_a_batch_is_counted(void **state)
{
	(void)state;
	open_sink("r.jsonl");
	put(0, 200 << 10);
	put(0, 100);
	wait_written("file", 1);
	assert_int_equal(stats_of("file").dropped, 1);
}

static void text_is_rendered(void **state)
{
	char *text;

	(void)state;
	strcpy(config.format, "text");
	open_sink("r.txt");
	put(0, 100);
	wait_written("file", 1);
	text = tree_read(&tree, "r.txt");
	assert_true(strlen(text) > 0 && text[0] != '{');
	free(text);
}

static void off_opens_none(void **state)
{
	struct sink_stats all[SINKS_MAX];

	(void)state;
	assert_int_equal(open_to("off"), 0);
	assert_int_equal(sinks_stats(sinks, all), 0);
	put(0, 100);
}

/* ---- streams ---- */

static void queue_is_bounded_in_bytes(void **state)
{
	(void)state;
	assert_int_equal(open_to("/dev/full"), 0);
	for (unsigned int i = 0; i < 10; i++)
		put(i, SINK_QUEUE_BYTES / 4);
	assert_true(stats_of("stream").queued_bytes <= SINK_QUEUE_BYTES);
	assert_int_equal(stats_of("stream").queued, 3);
	put(10, SINK_QUEUE_BYTES + 1);
	assert_true(stats_of("stream").dropped >= 8);
}

static void dev_full_is_survived(void **state)
{
	(void)state;
	assert_int_equal(open_to("/dev/full"), 0);
	put(0, 100);
	assert_int_equal(stats_of("stream").queued, 1);
	assert_int_equal(stats_of("stream").last_errno, ENOSPC);
	/* It waits before it tries again. */
	put(1, 100);
	assert_int_equal(stats_of("stream").errors, 1);
}

/* Reads what is there into `text`, without waiting. */
static size_t drain(int fd, char *text, size_t size)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	size_t len = 0;

	while (len < size - 1 && poll(&p, 1, 0) == 1) {
		ssize_t n = read(fd, text + len, size - 1 - len);

		if (n <= 0)
			break;
		len += (size_t)n;
	}
	text[len] = '\0';
	return len;
}

/* Opens the sink on a standard output that is `fd`, then restores it. */
static void open_on_stdout(int fd)
{
	int saved = dup(STDOUT_FILENO), err;

	fflush(stdout);
	dup2(fd, STDOUT_FILENO);
	err = open_to("-");
	dup2(saved, STDOUT_FILENO);
	close(saved);
	assert_int_equal(err, 0);
}

static void check_stream(int writer, int reader)
{
	size_t size = 1 << 20, len = 0;
	char *text = malloc(size);
	int flags = fcntl(writer, F_GETFL);

	assert_non_null(text);
	open_on_stdout(writer);
	/* Far more than fits: none of this may block. */
	for (unsigned int i = 0; i < 200; i++)
		put(i, 5000);
	assert_true(stats_of("stream").queued > 0);
	while (stats_of("stream").queued) {
		len += drain(reader, text + len, size - len);
		/* Room is what the loop is told of. */
		assert_int_equal(loop_once(loop, NS_PER_S), 0);
	}
	len += drain(reader, text + len, size - len);
	assert_int_equal(stats_of("stream").errors, 0);
	assert_int_equal(stats_of("stream").dropped, 0);
	/* The flag belongs to everybody who holds the same standard output. */
	assert_int_equal(fcntl(writer, F_GETFL), flags);
	assert_int_equal(check_lines(text, 0), 200);
}

static void slow_pipe_does_not_block(void **state)
{
	int p[2];

	(void)state;
	assert_int_equal(pipe(p), 0);
	check_stream(p[1], p[0]);
	close(p[0]);
	close(p[1]);
}

static void slow_socket_does_not_block(void **state)
{
	int p[2];

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, p), 0);
	check_stream(p[1], p[0]);
	close(p[0]);
	close(p[1]);
}

static void oldest_is_dropped_but_never_the_one_begun(void **state)
{
	size_t size = SINK_QUEUE_BYTES + (1 << 20), len = 0;
	char *text = calloc(1, size), *second, first[32];
	unsigned int n, many = 3 * SINK_QUEUE_REPORTS;
	int p[2];

	(void)state;
	assert_int_equal(pipe(p), 0);
	open_on_stdout(p[1]);
	for (unsigned int i = 0; i < many; i++)
		put(i, 9001);	/* pages of a pipe are such that the seventh is begun */
	assert_int_equal(stats_of("stream").queued, SINK_QUEUE_REPORTS);
	assert_true(stats_of("stream").dropped > 0);
	while (stats_of("stream").queued) {
		len += drain(p[0], text + len, size - len);
		assert_int_equal(loop_once(loop, NS_PER_S), 0);
	}
	len += drain(p[0], text + len, size - len);
	/* The last that went before the gap had begun when the pipe was full, and is whole. */
	n = (unsigned int)(many - SINK_QUEUE_REPORTS + 1);
	snprintf(first, sizeof(first), "{\"n\":%u,", n);
	second = strstr(text, first);
	assert_non_null(second);
	assert_int_equal(check_lines(strdup(second), n), SINK_QUEUE_REPORTS - 1);
	*second = '\0';
	assert_int_equal(check_lines(text, 0), stats_of("stream").written - (SINK_QUEUE_REPORTS - 1));
	close(p[0]);
	close(p[1]);
}

static void pipe_without_reader_is_survived(void **state)
{
	int p[2];

	(void)state;
	assert_int_equal(pipe(p), 0);
	open_on_stdout(p[1]);
	close(p[0]);
	close(p[1]);
	put(0, 100);
	assert_int_equal(stats_of("stream").last_errno, EPIPE);
	assert_int_equal(stats_of("stream").queued, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)
		TEST(file_is_written_by_its_process),
		TEST(what_is_wrong_with_a_file_is_told_at_the_start),
		TEST(close_delivers_what_is_queued),
		TEST(stuck_file_stops_nobody_and_loses_nothing_it_had),
		TEST(reopen_makes_a_moved_file_anew),
		TEST(interval_syncs_once_it_is_over),
		TEST(report_that_is_too_long_for_a_batch_is_counted),
		TEST(text_is_rendered),
		TEST(off_opens_none),
		TEST(queue_is_bounded_in_bytes),
		TEST(dev_full_is_survived),
		TEST(slow_pipe_does_not_block),
		TEST(slow_socket_does_not_block),
		TEST(oldest_is_dropped_but_never_the_one_begun),
		TEST(pipe_without_reader_is_survived),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
