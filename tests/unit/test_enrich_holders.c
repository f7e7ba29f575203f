// SPDX-License-Identifier: BSD-2-Clause
/* Open files that may tell who holds a page: what is read of them, and what becomes of hostile ones. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "crosscheck.h"
#include "enrich_tree.h"

static struct crosscheck check;

static int setup(void **state)
{
	(void)state;
	enrich_tree_make();
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	tree_remove(&tree);
	return 0;
}

static void look(void)
{
	run();
	crosscheck_read(&facts, &check);
}

#define RING(text) tree_write(&tree, "proc/123/fdinfo/5", text)

static void buffers_of_the_range(void **state)
{
	(void)state;
	req.length = 0x10000;
	/* The last page before the range, its first byte, its last, and the first one behind it. */
	RING("UserBufs:\t5\n    0: 0x7effffff0000/65536\n    1: 0x7effffff0000/65537\n    2: <none>\n"
	     "    3: 0x7f000000ffff/1\n    4: 0x7f0000010000/4096\nPollList:\n");
	look();
	assert_int_equal(check.nbuffers, 2);
	assert_int_equal(check.buffers[0].fd, 5);
	assert_true(check.buffers[0].start == 0x7effffff0000);
	assert_int_equal(check.buffers[0].bytes, 65537);
	assert_true(check.buffers[1].start == 0x7f000000ffff);
	assert_string_equal(check.cut, "");
	assert_ptr_equal(crosscheck_buffer_at(&check, 0x7f000000ffff, 0x7f0000010000), &check.buffers[1]);
	assert_null(crosscheck_buffer_at(&check, 0x7f0000001000, 0x7f000000ffff));
	assert_null(crosscheck_buffer_at(&check, 0x7f0000010000, 0x7f0000011000));
}

/* Buffers of the kernel's own are shown at 0, which is no address of the process. */
static void buffers_of_the_kernel(void **state)
{
	(void)state;
	req.address = 0x400000;
	RING("UserBufs:\t1\n    0: 0x0/1073741824\n");
	look();
	KNOWN(holder_buffers);
	assert_int_equal(check.nbuffers, 0);
}

static void more_buffers_than_room(void **state)
{
	char text[4096], *at = text;

	(void)state;
	at += sprintf(at, "UserBufs:\t20\n");
	for (int i = 0; i < 20; i++)
		at += sprintf(at, "%5d: 0x7f0000000000/%d\n", i, 16 + i);
	RING(text);
	look();
	assert_int_equal(check.nbuffers, CROSSCHECK_MAX);
	assert_string_equal(check.cut, "buffers");
}

/* A registered file whose name goes on in lines that look like buffers: the kernel's own come last. */
static void names_that_look_like_buffers(void **state)
{
	(void)state;
	RING("UserFiles:\t1\n    0: x\nUserBufs:\t1\n    0: 0x7f0000000000/4096\nUserBufs:\t1\n    0: 0x10000/4096\n");
	look();
	assert_int_equal(check.nbuffers, 0);
	RING("UserFiles:\t1\n    0: x\nUserBufs:\t2\n    0: 0x7f0000000000/4096\nnonsense\n");
	look();
	UNKNOWN(holder_buffers, -EBUSY);
	assert_int_equal(check.nbuffers, 0);
	RING("UserBufs:\t1\n    0: 0xffffffffffffffff/4096\n");
	look();
	UNKNOWN(holder_buffers, -EBUSY);
	KNOWN(holder_files);
}

static void files_and_pipes(void **state)
{
	(void)state;
	tree_link("proc/123/fd/10", "/dev/nvidia0");
	tree_link("proc/123/fd/11", "/dev/nvidia0");
	tree_link("proc/123/fd/12", "/dev/nvidia-uvm");
	tree_link("proc/123/fd/13", "/dev/vfio/vfio");
	tree_link("proc/123/fd/14", "pipe:[4711]");
	tree_link("proc/123/fd/15", "/tmp/dev/nvidia0");
	tree_link("proc/123/fd/16", "/dev/null");
	look();
	assert_int_equal(check.nfiles, 3);
	assert_int_equal(crosscheck_file(&check, "/dev/nvidia0")->count, 2);
	assert_int_equal(crosscheck_file(&check, "/dev/nvidia-uvm")->count, 1);
	assert_int_equal(crosscheck_file(&check, "/dev/vfio/")->count, 1);
	assert_int_equal(facts.holder_pipes, 1);
	assert_string_equal(check.cut, "");
}

static void names_that_would_be_lines(void **state)
{
	(void)state;
	tree_link("proc/123/fd/10", "/dev/nvidia\n9 /dev/kfd");
	tree_link("proc/123/fd/11", "/dev/nvidia-with-a-name-that-is-longer-than-any");
	look();
	assert_int_equal(check.nfiles, 1);
	assert_string_equal(check.files[0].name, "/dev/nvidia?9?/dev/kfd");
	assert_int_equal(check.files[0].count, 1);
}

static void more_names_than_room(void **state)
{
	char name[64], target[64];

	(void)state;
	for (int i = 10; i < 30; i++) {
		snprintf(name, sizeof(name), "proc/123/fd/%d", i);
		snprintf(target, sizeof(target), "/dev/nvidia%d", i);
		tree_link(name, target);
	}
	look();
	assert_int_equal(check.nfiles, CROSSCHECK_MAX);
	assert_string_equal(check.cut, "names");
}

static void more_descriptors_than_are_read(void **state)
{
	char name[64];

	(void)state;
	for (int i = 10; i < 4200; i++) {
		snprintf(name, sizeof(name), "proc/123/fd/%d", i);
		tree_link(name, "/dev/null");
	}
	look();
	assert_string_equal(check.cut, "descriptors");
	UNKNOWN(holder_pipes, -E2BIG);
}

/* --- other processes -------------------------------------------------------------- */

static void process(const char *pid, const char *comm, const char *target)
{
	char name[64];

	snprintf(name, sizeof(name), "proc/%s/comm", pid);
	tree_write(&tree, name, comm);
	snprintf(name, sizeof(name), "proc/%s/fd/3", pid);
	tree_link(name, target);
}

static void other_processes(void **state)
{
	(void)state;
	process("200", "python 3\n", "/dev/nvidia0");
	process("201", "shell\n", "/dev/tty");
	process("202", "\x1b[2J\nx", "anon_inode:[io_uring]");
	tree_link("proc/self/fd/3", "/dev/nvidia0");
	look();
	assert_int_equal(check.nothers, 2);
	for (uint32_t i = 0; i < check.nothers; i++) {
		const struct crosscheck_other *o = &check.others[i];

		assert_true(o->pid == 200 || o->pid == 202);
		assert_string_equal(o->comm, o->pid == 200 ? "python?3" : "?[2J");
		assert_string_equal(o->name, o->pid == 200 ? "/dev/nvidia0" : "anon_inode:[io_uring]");
	}
	assert_string_equal(check.others_cut, "");
	/* Memory that is the process's alone is held by no other. */
	req.held = FACTS_HELD_ALONE;
	look();
	UNKNOWN(holder_others, FACT_NOT_ASKED);
	assert_int_equal(check.nothers, 0);
	KNOWN(holder_files);
	req.held = FACTS_HELD_NOT;
	look();
	UNKNOWN(holder_files, FACT_NOT_ASKED);
	UNKNOWN(holder_buffers, FACT_NOT_ASKED);
	UNKNOWN(holder_pipes, FACT_NOT_ASKED);
}

static void more_processes_than_are_told(void **state)
{
	char pid[16];

	(void)state;
	for (int i = 200; i < 220; i++) {
		snprintf(pid, sizeof(pid), "%d", i);
		process(pid, "trainer\n", "/dev/kfd");
	}
	look();
	assert_int_equal(check.nothers, 6);
	assert_string_equal(check.others_cut, "processes");
}

static void more_processes_than_are_read(void **state)
{
	char pid[16];

	(void)state;
	for (int i = 1000; i < 1600; i++) {
		snprintf(pid, sizeof(pid), "%d", i);
		process(pid, "sleep\n", "/dev/null");
	}
	look();
	assert_int_equal(check.nothers, 0);
	assert_string_equal(check.others_cut, "processes");
}

/* --- lists from a capture ----------------------------------------------------------- */

static void lists_that_nobody_wrote(void **state)
{
	(void)state;
	facts_unknown(&facts, 0);
	memset(facts.holder_files, 'x', sizeof(facts.holder_files));
	memset(facts.holder_buffers, '\n', sizeof(facts.holder_buffers));
	strcpy(facts.holder_others, "1 a\n-\n+ ");
	crosscheck_read(&facts, &check);
	assert_int_equal(check.nfiles + check.nbuffers + check.nothers, 0);
	assert_string_equal(check.cut, "entries");
	assert_string_equal(check.others_cut, "");
	strcpy(facts.holder_files, "1 /dev/kfd\n2 /dev/nvidia\xff\n+ names\n");
	strcpy(facts.holder_buffers, "3 0xfffffffffffffff0 32\n");
	crosscheck_read(&facts, &check);
	assert_int_equal(check.nfiles, 2);
	assert_string_equal(check.files[1].name, "/dev/nvidia?");
	assert_string_equal(check.cut, "names");
	assert_int_equal(check.nbuffers, 0);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(buffers_of_the_range), TEST(buffers_of_the_kernel), TEST(more_buffers_than_room),
		TEST(names_that_look_like_buffers), TEST(files_and_pipes), TEST(names_that_would_be_lines),
		TEST(more_names_than_room), TEST(more_descriptors_than_are_read), TEST(other_processes),
		TEST(more_processes_than_are_told), TEST(more_processes_than_are_read), TEST(lists_that_nobody_wrote),
	};

	return cmocka_run_group_tests_name("enrich_holders", tests, NULL, NULL);
}
