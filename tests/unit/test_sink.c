// SPDX-License-Identifier: BSD-2-Clause
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <json-c/json.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "log.h"
#include "sink.h"
#include "tree.h"

static struct tree tree;
static struct sink *sink;

static int setup(void **state)
{
	(void)state;
	/* Expected complaints would only hide real ones. */
	log_max_level = (enum log_level)0;
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN);
	tree_make(&tree);
	sink = NULL;
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	sink_close(sink);
	tree_remove(&tree);
	return 0;
}

static void open_sink(const char *name)
{
	assert_int_equal(sink_open(&sink, "json", tree_path(&tree, name)), 0);
}

static struct sink_stats stats(void)
{
	struct sink_stats s;

	sink_stats(sink, &s);
	assert_int_equal(s.accepted, s.written + s.dropped + s.queued);
	return s;
}

/* {"n":N,"pad":"xxx..."} of `len` bytes, without a line break. */
static void put(unsigned int n, size_t len)
{
	struct report r = { .kind = "test", .cause = "", .confidence = "" };
	char *line = malloc(len + 32);
	int head;

	assert_non_null(line);
	head = sprintf(line, "{\"n\":%u,\"pad\":\"", n);
	memset(line + head, 'x', len);
	strcpy(line + len - 2, "\"}");
	r.line = line;
	r.line_len = len;
	sink_put(sink, &r);
	free(line);
}

/* Every line of `text` is whole; their numbers are first, first + 1, ... Returns how many. */
static unsigned int check_lines(char *text, unsigned int first)
{
	unsigned int count = 0;
	char *save = NULL;

	assert_non_null(text);
	assert_true(!*text || text[strlen(text) - 1] == '\n');
	for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		unsigned int n;

		assert_int_equal(sscanf(line, "{\"n\":%u,", &n), 1);
		assert_int_equal(n, first + count);
		assert_string_equal(line + strlen(line) - 2, "\"}");
		assert_int_equal(strcspn(line + 1, "{"), strlen(line + 1));
		count++;
	}
	free(text);
	return count;
}

static void limit_file_size(rlim_t bytes)
{
	struct rlimit r;

	getrlimit(RLIMIT_FSIZE, &r);
	r.rlim_cur = bytes;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &r), 0);
}

static void reports_become_lines(void **state)
{
	struct stat st;

	(void)state;
	umask(0);
	open_sink("r.jsonl");
	for (unsigned int i = 0; i < 10; i++)
		put(i, 100);
	assert_int_equal(stats().written, 10);
	assert_int_equal(stat(tree_path(&tree, "r.jsonl"), &st), 0);
	assert_int_equal(st.st_mode & 0777, 0640);
	assert_int_equal(check_lines(tree_read(&tree, "r.jsonl"), 0), 10);
}

static void appends_to_what_is_there(void **state)
{
	(void)state;
	tree_write(&tree, "r.jsonl", "{\"n\":0,\"pad\":\"\"}\n");
	open_sink("r.jsonl");
	put(1, 100);
	assert_int_equal(check_lines(tree_read(&tree, "r.jsonl"), 0), 2);
	assert_int_equal(stats().repaired_bytes, 0);
}

static void torn_last_line_is_removed(void **state)
{
	char *big = malloc(10000);

	(void)state;
	memset(big, 'x', 9999);
	big[9999] = '\0';
	memcpy(big, "{\"n\":0,\"pad\":\"\"}\n{\"n\":1", 23);
	tree_write(&tree, "r.jsonl", big);
	free(big);
	open_sink("r.jsonl");
	assert_int_equal(stats().repaired_bytes, 9999 - 17);
	put(1, 100);
	assert_int_equal(check_lines(tree_read(&tree, "r.jsonl"), 0), 2);
}

static void torn_only_line_is_removed(void **state)
{
	(void)state;
	tree_write(&tree, "r.jsonl", "{\"n\":0,\"pa");
	open_sink("r.jsonl");
	put(0, 100);
	assert_int_equal(check_lines(tree_read(&tree, "r.jsonl"), 0), 1);
}

static void zeros_of_a_machine_crash_are_removed(void **state)
{
	static const char text[] = "{\"n\":0,\"pad\":\"\"}\n\0\0\0\0";
	FILE *f = fopen(tree_path(&tree, "r.jsonl"), "w");

	(void)state;
	assert_non_null(f);
	fwrite(text, 1, sizeof(text) - 1, f);
	fclose(f);
	open_sink("r.jsonl");
	assert_int_equal(stats().repaired_bytes, 4);
}

static void foreign_file_is_left_alone(void **state)
{
	char *text;

	(void)state;
	tree_write(&tree, "notes", "root:x:0:0\nno line break");
	assert_int_equal(sink_open(&sink, "json", tree_path(&tree, "notes")), -EBADMSG);
	text = tree_read(&tree, "notes");
	assert_string_equal(text, "root:x:0:0\nno line break");
	free(text);
}

static void missing_directory_is_refused(void **state)
{
	(void)state;
	assert_int_equal(sink_open(&sink, "json", tree_path(&tree, "no/r.jsonl")), -ENOENT);
	assert_int_equal(sink_open(&sink, "yaml", tree_path(&tree, "r")), -EINVAL);
}

/* A file size limit behaves as a disk that fills up in the middle of a write. */
static void full_disk_keeps_order_and_lines(void **state)
{
	(void)state;
	open_sink("r.jsonl");
	limit_file_size(250);
	for (unsigned int i = 0; i < 6; i++)
		put(i, 100);
	assert_int_equal(stats().written, 2);
	assert_int_equal(stats().queued, 4);
	assert_true(stats().errors > 0);
	assert_int_equal(stats().last_errno, EFBIG);
	limit_file_size(470);
	sink_flush(sink);
	assert_int_equal(stats().written, 4);
	limit_file_size(RLIM_INFINITY);
	assert_int_equal(sink_flush(sink), 0);
	assert_int_equal(stats().last_errno, 0);
	assert_int_equal(stats().dropped, 0);
	assert_int_equal(check_lines(tree_read(&tree, "r.jsonl"), 0), 6);
}

static void oldest_is_dropped_but_never_the_one_begun(void **state)
{
	char *text, *rest;
	unsigned int n;

	(void)state;
	open_sink("r.jsonl");
	limit_file_size(50);
	for (unsigned int i = 0; i < SINK_QUEUE_REPORTS + 10; i++)
		put(i, 100);
	assert_int_equal(stats().queued, SINK_QUEUE_REPORTS);
	assert_int_equal(stats().dropped, 10);
	limit_file_size(RLIM_INFINITY);
	sink_flush(sink);
	text = tree_read(&tree, "r.jsonl");
	assert_non_null(text);
	/* 0 had begun; 1 to 10 made room. */
	assert_int_equal(sscanf(text, "{\"n\":%u,", &n), 1);
	assert_int_equal(n, 0);
	rest = strdup(strchr(text, '\n') + 1);
	free(text);
	assert_int_equal(check_lines(rest, 11), SINK_QUEUE_REPORTS - 1);
}

static void queue_is_bounded_in_bytes(void **state)
{
	(void)state;
	assert_int_equal(sink_open(&sink, "json", "/dev/full"), 0);
	for (unsigned int i = 0; i < 10; i++)
		put(i, SINK_QUEUE_BYTES / 4);
	assert_true(stats().queued_bytes <= SINK_QUEUE_BYTES);
	assert_int_equal(stats().queued, 3);
	put(10, SINK_QUEUE_BYTES + 1);
	assert_true(stats().dropped >= 8);
}

static void dev_full_is_survived(void **state)
{
	(void)state;
	assert_int_equal(sink_open(&sink, "json", "/dev/full"), 0);
	put(0, 100);
	assert_int_equal(stats().queued, 1);
	assert_int_equal(stats().last_errno, ENOSPC);
}

static void reopen_follows_logrotate(void **state)
{
	char from[PATH_MAX];

	(void)state;
	open_sink("r.jsonl");
	put(0, 100);
	strcpy(from, tree_path(&tree, "r.jsonl"));
	assert_int_equal(rename(from, tree_path(&tree, "r.jsonl.1")), 0);
	put(1, 100);
	sink_reopen(sink);
	put(2, 100);
	assert_int_equal(check_lines(tree_read(&tree, "r.jsonl.1"), 0), 2);
	assert_int_equal(check_lines(tree_read(&tree, "r.jsonl"), 2), 1);
}

static void reopen_of_the_same_file_changes_nothing(void **state)
{
	(void)state;
	open_sink("r.jsonl");
	limit_file_size(150);
	put(0, 100);
	put(1, 100);
	sink_reopen(sink);
	limit_file_size(RLIM_INFINITY);
	sink_reopen(sink);
	assert_int_equal(check_lines(tree_read(&tree, "r.jsonl"), 0), 2);
}

static void report_begun_before_a_reopen_is_written_once(void **state)
{
	char from[PATH_MAX];

	(void)state;
	open_sink("r.jsonl");
	limit_file_size(150);
	put(0, 100);
	put(1, 100);
	strcpy(from, tree_path(&tree, "r.jsonl"));
	assert_int_equal(rename(from, tree_path(&tree, "r.jsonl.1")), 0);
	sink_reopen(sink);
	limit_file_size(RLIM_INFINITY);
	sink_flush(sink);
	assert_int_equal(check_lines(tree_read(&tree, "r.jsonl.1"), 0), 1);
	assert_int_equal(check_lines(tree_read(&tree, "r.jsonl"), 1), 1);
}

static void failed_reopen_keeps_the_old_file(void **state)
{
	char from[PATH_MAX];

	(void)state;
	tree_write(&tree, "dir/x", "");
	open_sink("dir/r.jsonl");
	put(0, 100);
	strcpy(from, tree_path(&tree, "dir"));
	assert_int_equal(rename(from, tree_path(&tree, "moved")), 0);
	sink_reopen(sink);
	put(1, 100);
	assert_int_equal(check_lines(tree_read(&tree, "moved/r.jsonl"), 0), 2);
	tree_write(&tree, "dir/x", "");
	sink_flush(sink);
	put(2, 100);
	assert_int_equal(check_lines(tree_read(&tree, "dir/r.jsonl"), 2), 1);
}

static void close_takes_a_half_report_back(void **state)
{
	(void)state;
	open_sink("r.jsonl");
	limit_file_size(150);
	put(0, 100);
	put(1, 100);
	sink_close(sink);
	sink = NULL;
	limit_file_size(RLIM_INFINITY);
	assert_int_equal(check_lines(tree_read(&tree, "r.jsonl"), 0), 1);
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
	err = sink_open(&sink, "json", "-");
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
	assert_true(stats().queued > 0);
	assert_true(sink_fd(sink) >= 0);
	while (stats().queued) {
		len += drain(reader, text + len, size - len);
		sink_flush(sink);
	}
	len += drain(reader, text + len, size - len);
	assert_int_equal(stats().errors, 0);
	assert_int_equal(stats().dropped, 0);
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

static void pipe_without_reader_is_survived(void **state)
{
	int p[2];

	(void)state;
	assert_int_equal(pipe(p), 0);
	open_on_stdout(p[1]);
	close(p[0]);
	close(p[1]);
	put(0, 100);
	assert_int_equal(stats().last_errno, EPIPE);
	assert_int_equal(stats().queued, 1);
}

static void text_is_rendered(void **state)
{
	struct report r = { .kind = "registration_failed", .cause = "", .confidence = "" };
	char *text;

	(void)state;
	assert_int_equal(sink_open(&sink, "text", tree_path(&tree, "r.txt")), 0);
	r.json = json_tokener_parse("{\"schema\":1,\"kind\":\"registration_failed\",\"report_id\":\"x\"}");
	r.line = json_object_to_json_string(r.json);
	r.line_len = strlen(r.line);
	sink_put(sink, &r);
	assert_int_equal(stats().written, 1);
	text = tree_read(&tree, "r.txt");
	assert_non_null(text);
	assert_true(strlen(text) > 0 && text[0] != '{');
	free(text);
	json_object_put(r.json);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)
		TEST(reports_become_lines),
		TEST(appends_to_what_is_there),
		TEST(torn_last_line_is_removed),
		TEST(torn_only_line_is_removed),
		TEST(zeros_of_a_machine_crash_are_removed),
		TEST(foreign_file_is_left_alone),
		TEST(missing_directory_is_refused),
		TEST(full_disk_keeps_order_and_lines),
		TEST(oldest_is_dropped_but_never_the_one_begun),
		TEST(queue_is_bounded_in_bytes),
		TEST(dev_full_is_survived),
		TEST(reopen_follows_logrotate),
		TEST(reopen_of_the_same_file_changes_nothing),
		TEST(report_begun_before_a_reopen_is_written_once),
		TEST(failed_reopen_keeps_the_old_file),
		TEST(close_takes_a_half_report_back),
		TEST(slow_pipe_does_not_block),
		TEST(slow_socket_does_not_block),
		TEST(pipe_without_reader_is_survived),
		TEST(text_is_rendered),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
