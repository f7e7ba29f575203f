// SPDX-License-Identifier: BSD-2-Clause
/* The file of reports, without the process that writes it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>

#include "sinking.h"
#include "sinks/file.h"
#include "sinks/ops.h"
#include "tree.h"

static struct tree tree;
static struct file *file;
static struct batch batch;
static struct outcome out;
static struct file_settings settings;
static uint64_t repaired;

static int setup(void **state)
{
	(void)state;
	signal(SIGXFSZ, SIG_IGN);
	tree_make(&tree);
	file = NULL;
	repaired = 0;
	settings = (struct file_settings){ .keep = 3 };
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	limit_file_size(RLIM_INFINITY);
	file_free(file);
	tree_remove(&tree);
	return 0;
}

static int open_it(const char *name)
{
	file = file_new(tree_path(&tree, name), true);
	assert_non_null(file);
	return file_open(file, 1, true, &repaired);
}

/* Reports `first` to `first + count - 1`, each of `len` bytes with its line break. */
static void write_it(unsigned int first, unsigned int count, size_t len, uint32_t flags)
{
	memset(&batch, 0, sizeof(batch));
	memset(&out, 0, sizeof(out));
	*(struct file_settings *)(void *)batch.settings.room = settings;
	batch.flags = flags;
	for (unsigned int i = 0; i < count; i++) {
		char *line = numbered_report(first + i, len - 1);

		memcpy(batch.data + batch.bytes, line, len - 1);
		batch.data[batch.bytes + len - 1] = '\n';
		batch.length[batch.count++] = (uint32_t)len;
		batch.bytes += (uint32_t)len;
		free(line);
	}
	file_write(file, &batch, &out);
}

static unsigned int lines(const char *name, unsigned int first)
{
	return check_lines(tree_read(&tree, name), first);
}

static bool exists(const char *name)
{
	return access(tree_path(&tree, name), F_OK) == 0;
}

static void move(const char *from, const char *to)
{
	char path[PATH_MAX];

	strcpy(path, tree_path(&tree, from));
	assert_int_equal(rename(path, tree_path(&tree, to)), 0);
}

static void reports_become_lines(void **state)
{
	struct stat st;

	(void)state;
	umask(0);
	assert_int_equal(open_it("r.jsonl"), 0);
	write_it(0, 10, 100, 0);
	assert_int_equal(out.done, 10);
	assert_int_equal(out.err, 0);
	assert_int_equal(stat(tree_path(&tree, "r.jsonl"), &st), 0);
	assert_int_equal(st.st_mode & 0777, 0640);
	assert_int_equal(lines("r.jsonl", 0), 10);
}

static void appends_to_what_is_there(void **state)
{
	(void)state;
	tree_write(&tree, "r.jsonl", "{\"n\":0,\"pad\":\"\"}\n");
	assert_int_equal(open_it("r.jsonl"), 0);
	write_it(1, 1, 100, 0);
	assert_int_equal(lines("r.jsonl", 0), 2);
	assert_int_equal(repaired, 0);
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
	assert_int_equal(open_it("r.jsonl"), 0);
	assert_int_equal(repaired, 9999 - 17);
	write_it(1, 1, 100, 0);
	assert_int_equal(lines("r.jsonl", 0), 2);
}

static void torn_only_line_is_removed(void **state)
{
	(void)state;
	tree_write(&tree, "r.jsonl", "{\"n\":0,\"pa");
	assert_int_equal(open_it("r.jsonl"), 0);
	write_it(0, 1, 100, 0);
	assert_int_equal(lines("r.jsonl", 0), 1);
}

static void zeros_of_a_machine_crash_are_removed(void **state)
{
	static const char text[] = "{\"n\":0,\"pad\":\"\"}\n\0\0\0\0";

	(void)state;
	tree_write_bytes(&tree, "r.jsonl", text, sizeof(text) - 1);
	assert_int_equal(open_it("r.jsonl"), 0);
	assert_int_equal(repaired, 4);
}

static void foreign_file_is_left_alone(void **state)
{
	char *text;

	(void)state;
	tree_write(&tree, "notes", "root:x:0:0\nno line break");
	assert_int_equal(open_it("notes"), -EBADMSG);
	text = tree_read(&tree, "notes");
	assert_string_equal(text, "root:x:0:0\nno line break");
	free(text);
}

static void what_cannot_be_opened_is_told(void **state)
{
	(void)state;
	assert_int_equal(open_it("no/r.jsonl"), -ENOENT);
	file_free(file);
	tree_write(&tree, "dir/x", "");
	assert_int_equal(open_it("dir"), -EISDIR);
}

/* Of a daemon that was killed: its process may still be writing. */
static void who_still_writes_is_waited_for(void **state)
{
	int fd;

	(void)state;
	tree_write(&tree, "r.jsonl", "");
	fd = open(tree_path(&tree, "r.jsonl"), O_RDWR);
	assert_int_equal(flock(fd, LOCK_EX), 0);
	assert_int_equal(open_it("r.jsonl"), -EBUSY);
	file_free(file);
	close(fd);
	assert_int_equal(open_it("r.jsonl"), 0);
}

static void full_disk_leaves_whole_reports(void **state)
{
	(void)state;
	assert_int_equal(open_it("r.jsonl"), 0);
	limit_file_size(250);
	write_it(0, 6, 100, 0);
	assert_int_equal(out.done, 2);
	assert_int_equal(out.err, EFBIG);
	limit_file_size(RLIM_INFINITY);
	assert_int_equal(lines("r.jsonl", 0), 2);
	write_it(2, 4, 100, 0);
	assert_int_equal(out.done, 4);
	assert_int_equal(lines("r.jsonl", 0), 6);
}

static void moved_file_is_made_anew(void **state)
{
	(void)state;
	assert_int_equal(open_it("r.jsonl"), 0);
	write_it(0, 1, 100, 0);
	move("r.jsonl", "r.jsonl-20261201");
	write_it(0, 0, 100, 0);
	assert_true(exists("r.jsonl"));
	write_it(1, 1, 100, 0);
	assert_int_equal(lines("r.jsonl-20261201", 0), 1);
	assert_int_equal(lines("r.jsonl", 1), 1);
}

/* logrotate's copytruncate. */
static void truncated_file_is_written_from_its_begin(void **state)
{
	(void)state;
	assert_int_equal(open_it("r.jsonl"), 0);
	write_it(0, 3, 100, 0);
	assert_int_equal(truncate(tree_path(&tree, "r.jsonl"), 0), 0);
	write_it(3, 2, 100, 0);
	assert_int_equal(lines("r.jsonl", 3), 2);
}

static void what_cannot_be_opened_again_is_written_to(void **state)
{
	(void)state;
	tree_write(&tree, "dir/x", "");
	assert_int_equal(open_it("dir/r.jsonl"), 0);
	write_it(0, 1, 100, 0);
	move("dir", "moved");
	write_it(1, 1, 100, 0);
	assert_int_equal(out.done, 1);
	assert_int_equal(out.err, ENOENT);
	assert_int_equal(lines("moved/r.jsonl", 0), 2);
	tree_write(&tree, "dir/x", "");
	write_it(2, 1, 100, 0);
	assert_int_equal(out.err, 0);
	assert_int_equal(lines("dir/r.jsonl", 2), 1);
}

static void grows_to_its_limit_and_no_further(void **state)
{
	unsigned int n = 0;

	(void)state;
	settings.rotate_bytes = 1000;
	assert_int_equal(open_it("r.jsonl"), 0);
	while (n < 45) {
		write_it(n, 45 - n, 100, 0);
		assert_int_equal(out.err, 0);
		assert_true(out.done > 0);
		n += out.done;
	}
	assert_int_equal(lines("r.jsonl", 40), 5);
	assert_int_equal(lines("r.jsonl.1", 30), 10);
	assert_int_equal(lines("r.jsonl.2", 20), 10);
	assert_int_equal(lines("r.jsonl.3", 10), 10);
	assert_false(exists("r.jsonl.4"));
	settings.keep = 1;
	write_it(45, 6, 100, 0);
	write_it(45 + out.done, 6 - out.done, 100, 0);
	assert_int_equal(lines("r.jsonl.1", 40), 10);
	assert_false(exists("r.jsonl.2"));
	assert_false(exists("r.jsonl.3"));
}

static void report_longer_than_the_limit_is_alone(void **state)
{
	(void)state;
	settings.rotate_bytes = 150;
	assert_int_equal(open_it("r.jsonl"), 0);
	write_it(0, 1, 100, 0);
	write_it(1, 1, 500, 0);
	assert_int_equal(out.done, 1);
	assert_int_equal(out.rotations, 1);
	assert_int_equal(lines("r.jsonl", 1), 1);
	assert_int_equal(lines("r.jsonl.1", 0), 1);
}

static void old_file_is_rotated_and_an_empty_one_never(void **state)
{
	(void)state;
	settings.rotate_ns = 1;
	assert_int_equal(open_it("r.jsonl"), 0);
	write_it(0, 1, 100, 0);
	assert_int_equal(out.rotations, 0);
	write_it(1, 1, 100, 0);
	assert_int_equal(out.rotations, 1);
	assert_int_equal(lines("r.jsonl.1", 0), 1);
	assert_int_equal(lines("r.jsonl", 1), 1);
	settings.rotate_ns = 3600ULL * 1000000000;
	write_it(2, 1, 100, 0);
	assert_int_equal(out.rotations, 0);
	assert_int_equal(lines("r.jsonl", 1), 2);
}

static void what_cannot_be_rotated_grows_on(void **state)
{
	(void)state;
	tree_write(&tree, "r.jsonl.1/x", "");
	settings.rotate_bytes = 250;
	settings.keep = 1;
	assert_int_equal(open_it("r.jsonl"), 0);
	write_it(0, 2, 100, 0);
	write_it(2, 2, 100, 0);
	assert_int_equal(out.done, 2);
	assert_true(out.err != 0);
	assert_int_equal(lines("r.jsonl", 0), 4);
}

/* The process that had the batch was killed after some of it: nothing twice, nothing left out. */
static void what_is_written_already_is_not_written_again(void **state)
{
	(void)state;
	assert_int_equal(open_it("r.jsonl"), 0);
	write_it(0, 3, 100, 0);
	write_it(1, 4, 100, BATCH_AGAIN);
	assert_int_equal(out.done, 4);
	assert_int_equal(lines("r.jsonl", 0), 5);
	write_it(5, 2, 100, BATCH_AGAIN);
	assert_int_equal(out.done, 2);
	assert_int_equal(lines("r.jsonl", 0), 7);
	write_it(5, 2, 100, BATCH_AGAIN);
	assert_int_equal(out.done, 2);
	assert_int_equal(lines("r.jsonl", 0), 7);
}

static void syncs_as_it_is_told(void **state)
{
	(void)state;
	assert_int_equal(open_it("r.jsonl"), 0);
	write_it(0, 1, 100, 0);
	assert_int_equal(out.syncs, 0);
	assert_true(out.dirty);
	settings.sync_now = 1;
	write_it(1, 0, 100, 0);
	assert_int_equal(out.syncs, 1);
	assert_false(out.dirty);
	settings.sync_now = 0;
	settings.fsync = FILE_FSYNC_EACH;
	write_it(1, 1, 100, 0);
	assert_int_equal(out.syncs, 1);
	assert_false(out.dirty);
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
		TEST(what_cannot_be_opened_is_told),
		TEST(who_still_writes_is_waited_for),
		TEST(full_disk_leaves_whole_reports),
		TEST(moved_file_is_made_anew),
		TEST(truncated_file_is_written_from_its_begin),
		TEST(what_cannot_be_opened_again_is_written_to),
		TEST(grows_to_its_limit_and_no_further),
		TEST(report_longer_than_the_limit_is_alone),
		TEST(old_file_is_rotated_and_an_empty_one_never),
		TEST(what_cannot_be_rotated_grows_on),
		TEST(what_is_written_already_is_not_written_again),
		TEST(syncs_as_it_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
