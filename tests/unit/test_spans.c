// SPDX-License-Identifier: BSD-2-Clause
#include "spans.h"

#include <stdlib.h>
#include <string.h>

#include "support.h"
#include "tree.h"

#define AFTER_NS 1000000000ULL
#define NOW_NS (60 * AFTER_NS)
#define CALL "16 0x3 0xc0181b01 0x7ffc 0x0 0x0 0x0 "
#define STAT(user, kernel) "12 (a) S 1 b) R 1 2 3 0 -1 4194560 1 2 3 4 " user " " kernel " 0 0 20 0 1 0 99 9 9\n"
#define HERE "0x7ffd12345678 0x7f0012345678"

static struct tree tree;
static struct wire_span *table;
static struct spans_state *state;
static struct sighting seen;
static uint32_t calls;

static int setup(void **test_state)
{
	(void)test_state;
	tree_make(&tree);
	table = calloc(WIRE_SPANS, sizeof(*table));
	state = calloc(1, sizeof(*state));
	calls = 0;
	table[5] = (struct wire_span){
		.tid = 12, .tgid = 11, .id = WIRE_SPANS + 5, .seq = 1, .start_ns = AFTER_NS, .last_ns = AFTER_NS,
		.user_sp = 0x7ffd12345678, .user_pc = 0x7f0012345678, .user_args = { 3, 0xc0181b01, 0x7ffc },
	};
	return 0;
}

static int teardown(void **test_state)
{
	(void)test_state;
	free(table);
	free(state);
	tree_remove(&tree);
	return 0;
}

static void on_stuck(void *ctx, const struct wire_span *span, const struct sighting *sighting)
{
	(void)ctx;
	assert_int_equal(span->tid, 12);
	seen = *sighting;
	calls++;
}

static void scan(bool pids_ours)
{
	struct spans_opts opts = { .after_ns = AFTER_NS, .proc = tree.root, .pids_ours = pids_ours };

	spans_scan(table, &opts, NOW_NS, state, on_stuck, NULL);
}

static void waiting_in_its_call(void **test_state)
{
	(void)test_state;
	tree_write(&tree, "11/task/12/syscall", CALL HERE "\n");
	tree_write(&tree, "11/task/12/wchan", "handle_userfault");
	scan(true);
	assert_int_equal(calls, 1);
	assert_string_equal(seen.verified, "its system call");
	assert_string_equal(seen.waits_in, "handle_userfault");
	assert_int_equal(table[5].reported_id, table[5].id);
	scan(true);
	assert_int_equal(calls, 1);	/* once */
	assert_int_equal(state->in_flight, 1);
}

/* wchan cannot be read; it was asleep a moment ago and no longer is; it is stopped behind the call, if not inside. */
static void no_word_of_where_it_waits(void **test_state)
{
	static const char *const elsewhere[] = { "0", "do_signal_stop", "ptrace_stop", "do_freezer_trap" };

	(void)test_state;
	tree_write(&tree, "11/task/12/syscall", CALL HERE "\n");
	for (size_t i = 0; i < sizeof(elsewhere) / sizeof(elsewhere[0]); i++) {
		tree_write(&tree, "11/task/12/wchan", elsewhere[i]);
		scan(true);
		assert_int_equal(calls, 0);
	}
	assert_int_equal(state->ended_unseen, 0);
	remove(tree_path(&tree, "11/task/12/wchan"));
	scan(true);
	assert_int_equal(calls, 1);
	assert_string_equal(seen.waits_in, "");
}

/* Made by the kernel for a process: nothing tells one of its waits from another. */
static void never_in_user_space(void **test_state)
{
	(void)test_state;
	table[5].user_sp = table[5].user_pc = 0;
	tree_write(&tree, "11/task/12/syscall", CALL "0x0 0x0\n");
	scan(true);
	scan(true);
	assert_int_equal(calls, 0);
	assert_int_equal(state->unverified, 2);
}

/* Its end was missed: it waits elsewhere now, or runs no system call at all, or is gone. */
static void missed_end(void **test_state)
{
	static const char *const elsewhere[] = {
		CALL "0x7ffd12345678 0x7f0012345679\n", CALL "0x7ffd12345000 0x7f0012345678\n",
		"16 0x3 0xc0181b01 0x7ffd 0x0 0x0 0x0 " HERE "\n", "16 0x3 0x1b01 0x7ffc 0x0 0x0 0x0 " HERE "\n",
		"16 0x4 0xc0181b01 0x7ffc 0x0 0x0 0x0 " HERE "\n",
		"-1 " HERE "\n", NULL,
	};

	(void)test_state;
	for (size_t i = 0; i < sizeof(elsewhere) / sizeof(elsewhere[0]); i++) {
		table[5].abandoned_id = 0;
		table[5].id += WIRE_SPANS;
		if (elsewhere[i])
			tree_write(&tree, "11/task/12/syscall", elsewhere[i]);
		else
			remove(tree_path(&tree, "11/task/12/syscall"));
		scan(true);
		assert_int_equal(table[5].abandoned_id, 0);	/* one look is not enough */
		scan(true);
		assert_int_equal(table[5].abandoned_id, table[5].id);
		assert_int_equal(state->ended_unseen, i + 1);
	}
	assert_int_equal(calls, 0);
}

static void scan_at(uint64_t now_ns)
{
	struct spans_opts opts = { .after_ns = AFTER_NS, .proc = tree.root, .pids_ours = true };

	spans_scan(table, &opts, now_ns, state, on_stuck, NULL);
}

/* In a pin, and all of its time is the kernel's. */
static void spinning(void **test_state)
{
	(void)test_state;
	table[5].in_longterm = 1;
	tree_write(&tree, "11/task/12/syscall", "running\n");
	tree_write(&tree, "11/task/12/stat", STAT("50", "1000"));
	scan_at(NOW_NS);
	tree_write(&tree, "11/task/12/stat", STAT("51", "1090"));
	scan_at(NOW_NS + 999999999);	/* too soon */
	assert_int_equal(calls, 0);
	scan_at(NOW_NS + 1000000000);
	assert_int_equal(calls, 1);
	assert_string_equal(seen.verified, "it runs in the kernel alone");
	assert_string_equal(seen.waits_in, "");
}

static void running_elsewhere(void **test_state)
{
	(void)test_state;
	tree_write(&tree, "11/task/12/syscall", "running\n");
	tree_write(&tree, "11/task/12/stat", STAT("50", "1000"));
	scan_at(NOW_NS);
	/* Not in a pin: another call may keep the kernel as busy. */
	tree_write(&tree, "11/task/12/stat", STAT("50", "1090"));
	scan_at(NOW_NS + 1000000000);
	/* Hardly on a processor at all. */
	table[5].in_longterm = 1;
	tree_write(&tree, "11/task/12/stat", STAT("50", "1095"));
	scan_at(NOW_NS + 2000000000);
	/* Both, or nonsense. */
	tree_write(&tree, "11/task/12/stat", STAT("55", "1150"));
	scan_at(NOW_NS + 3000000000);
	tree_write(&tree, "11/task/12/stat", "12 (a) R 1\n");
	scan_at(NOW_NS + 4000000000);
	assert_int_equal(calls, 0);
	assert_int_equal(state->ended_unseen, 0);
	/* In user space twice running: it has left, and its end was missed. */
	tree_write(&tree, "11/task/12/stat", STAT("75", "1150"));
	scan_at(NOW_NS + 5000000000);
	tree_write(&tree, "11/task/12/stat", STAT("95", "1150"));
	scan_at(NOW_NS + 6000000000);
	assert_int_equal(state->ended_unseen, 1);
	assert_int_equal(calls, 0);
}

static void running(void **test_state)
{
	(void)test_state;
	tree_write(&tree, "11/task/12/syscall", "running\n");
	scan(true);
	scan(true);
	assert_int_equal(calls, 0);
	assert_int_equal(state->unverified, 2);
	assert_int_equal(table[5].abandoned_id, 0);
	/* In a pin whose hooks fired a moment ago it is inside, whatever it does on its CPU. */
	table[5].in_longterm = 1;
	table[5].last_ns = NOW_NS - SPANS_FRESH_NS + 1;
	scan(true);
	assert_int_equal(calls, 1);
	assert_string_equal(seen.verified, "its hooks still fire");
}

/* What cannot be understood is no answer. */
static void bad_answers(void **test_state)
{
	static const char *const bad[] = { "", "\n", "16", "16 0x3\n", "unknown\n" };

	(void)test_state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		tree_write(&tree, "11/task/12/syscall", bad[i]);
		scan(true);
		assert_int_equal(calls, 0);
		assert_int_equal(state->outside[5], 0);
	}
}

static void not_old_enough(void **test_state)
{
	(void)test_state;
	tree_write(&tree, "11/task/12/syscall", CALL HERE "\n");
	table[5].start_ns = NOW_NS - AFTER_NS + 1;
	scan(true);
	assert_int_equal(calls, 0);
}

/* In another PID namespace 11/12 is somebody else. */
static void pids_of_another_namespace(void **test_state)
{
	(void)test_state;
	tree_write(&tree, "11/task/12/syscall", CALL HERE "\n");
	scan(false);
	assert_int_equal(calls, 0);
	assert_int_equal(state->unverified, 1);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(waiting_in_its_call), TEST(no_word_of_where_it_waits), TEST(never_in_user_space), TEST(spinning), TEST(running_elsewhere), TEST(missed_end), TEST(running), TEST(bad_answers),
		TEST(not_old_enough), TEST(pids_of_another_namespace),
	};

	return cmocka_run_group_tests_name("spans", tests, NULL, NULL);
}
