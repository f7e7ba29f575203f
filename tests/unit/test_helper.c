// SPDX-License-Identifier: BSD-2-Clause
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <signal.h>
#include <sys/wait.h>

#include "enrich/enrich.h"
#include "helper.h"
#include "tree.h"

#define NS_PER_MS 1000000ULL
#define DEADLINE_NS (1000 * NS_PER_MS)	/* two guests may be busy on the same processors */
#define GIVE_UP_NS (20000 * NS_PER_MS)	/* for a machine that is very busy */
#define DEVICE_BLOCKS "blocks"	/* its link_layer is a FIFO nobody writes to */

static struct tree tree;
static struct enrich enrich;
static struct loop *loop;
static struct helper *helper;
static uint64_t answered_id;
static unsigned int answers;
static struct facts answer;

static void work(void *ctx, const void *request, void *ret_facts)
{
	facts_unknown(ret_facts, FACT_NOT_ASKED);
	enrich_read(ctx, request, ret_facts);
}

static void on_answer(void *ctx, uint64_t id, const void *facts, struct clock_pair now)
{
	(void)ctx;
	(void)now;
	answered_id = id;
	answer = *(const struct facts *)facts;
	answers++;
}

static const struct helper_ops ops = HELPER_FACTS(work, on_answer);

static int setup(void **state)
{
	(void)state;
	tree_make(&tree);
	enrich = (struct enrich){ .root = tree.root, .ticks_per_s = 100, .page_bytes = 4096 };
	tree_write(&tree, "proc/meminfo", "MemTotal: 7 kB\n");
	tree_write(&tree, "sys/class/infiniband/fine/ports/1/link_layer", "InfiniBand\n");
	tree_parents(&tree, "sys/class/infiniband/" DEVICE_BLOCKS "/ports/1/link_layer");
	if (mkfifo(tree_path(&tree, "sys/class/infiniband/" DEVICE_BLOCKS "/ports/1/link_layer"), 0600) < 0)
		return -1;
	answers = 0;
	if (loop_new(&loop) || helper_start(&helper, &ops, &enrich, DEADLINE_NS) ||
	    helper_attach(helper, loop))
		return -1;
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	helper_stop(helper);
	loop_free(loop);
	tree_remove(&tree);
	return 0;
}

static struct helper_stats stats(void)
{
	struct helper_stats s;

	helper_stats(helper, &s);
	return s;
}

/* in = out + lost + held, at any time. */
static void ledger_holds(void)
{
	struct helper_stats s = stats();

	assert_int_equal(s.asked, s.answered + s.late + s.expired + s.queued);
}

#define WAIT_FOR(condition) do { \
	uint64_t until = loop_clock().mono_ns + GIVE_UP_NS; \
	while (!(condition)) { \
		if (loop_clock().mono_ns > until) \
			fail_msg("never: %s", #condition); \
		loop_once(loop, 10 * NS_PER_MS); \
		ledger_holds(); \
	} \
} while (0)

static int ask(uint64_t id, const char *device)
{
	struct facts_request req = { .id = id };

	strcpy(req.device, device);
	return helper_ask(helper, id, &req, loop_clock());
}

static void answers_come(void **state)
{
	(void)state;
	for (uint64_t id = 1; id <= 5; id++)
		assert_int_equal(ask(id, "fine"), 0);
	WAIT_FOR(answers == 5);
	assert_int_equal(answered_id, 5);
	assert_int_equal(answer.mem_total_bytes, 7 * 1024);
	assert_string_equal(answer.link_layer, "InfiniBand");
	assert_int_equal(stats().restarts, 0);
}

static void blocked_worker_is_given_up(void **state)
{
	pid_t first;

	(void)state;
	ask(1, "fine");
	WAIT_FOR(answers == 1);
	first = helper_worker_pid(helper);
	ask(2, DEVICE_BLOCKS);
	WAIT_FOR(stats().late == 1);
	assert_int_equal(answers, 1);
	ask(3, "fine");
	WAIT_FOR(answers == 2);
	assert_int_equal(answered_id, 3);
	assert_int_not_equal(helper_worker_pid(helper), first);
	assert_int_equal(stats().restarts, 1);
}

static void requests_behind_a_blocked_one_expire(void **state)
{
	(void)state;
	ask(1, DEVICE_BLOCKS);
	ask(2, DEVICE_BLOCKS);
	ask(3, "fine");
	WAIT_FOR(stats().queued == 0);
	assert_int_equal(stats().late + stats().expired + stats().answered, 3);
	assert_true(stats().late >= 1);
	ask(4, "fine");
	WAIT_FOR(answered_id == 4);
}

static void worker_killed_from_outside_is_replaced(void **state)
{
	pid_t first;

	(void)state;
	WAIT_FOR(stats().alive);
	first = helper_worker_pid(helper);
	assert_int_equal(kill(first, SIGKILL), 0);
	WAIT_FOR(stats().alive && helper_worker_pid(helper) != first);
	ask(1, "fine");
	WAIT_FOR(answers == 1);
	assert_int_equal(stats().restarts, 1);
}

/* A row of deaths must not become a fork bomb: each next start waits longer. */
static void restarts_are_rate_limited(void **state)
{
	uint64_t begin;
	pid_t last = 0;

	(void)state;
	begin = loop_clock().mono_ns;
	for (int i = 0; i < 5; i++) {
		WAIT_FOR(stats().alive && helper_worker_pid(helper) != last);
		last = helper_worker_pid(helper);
		kill(last, SIGKILL);
	}
	/* Nothing, 100, 200 and 400 ms. */
	assert_true(loop_clock().mono_ns - begin >= 700 * NS_PER_MS);
	assert_int_equal(stats().restarts, 4);
}

/* The parent of `pid`, from /proc. */
static pid_t parent_of(pid_t pid)
{
	char path[64], line[256] = "";
	const char *p;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	f = fopen(path, "r");
	assert_non_null(f);
	assert_non_null(fgets(line, sizeof(line), f));
	fclose(f);
	p = strrchr(line, ')');
	assert_non_null(p);
	return (pid_t)strtol(p + 4, NULL, 10);
}

static void zygote_killed_from_outside_is_replaced(void **state)
{
	pid_t worker, zygote;

	(void)state;
	WAIT_FOR(stats().alive);
	worker = helper_worker_pid(helper);
	zygote = parent_of(worker);
	assert_int_not_equal(zygote, getpid());
	kill(zygote, SIGKILL);
	WAIT_FOR(stats().alive && helper_worker_pid(helper) != worker);
	assert_int_not_equal(parent_of(helper_worker_pid(helper)), zygote);
	ask(1, "fine");
	WAIT_FOR(answers == 1);
	/* A worker dies with its parent. */
	for (int i = 0; i < 2000 && kill(worker, 0) == 0; i++)
		loop_once(loop, NS_PER_MS);
	assert_int_equal(kill(worker, 0), -1);
}

static void queue_is_bounded(void **state)
{
	unsigned int taken = 0;

	(void)state;
	while (ask(taken + 1, "fine") == 0)
		assert_true(++taken < 1000);
	assert_int_equal(stats().refused, 1);
	WAIT_FOR(stats().queued == 0);
	assert_int_equal(stats().answered + stats().expired + stats().late, taken);
}

/* Number of descriptors that `pid` holds. */
static unsigned int count_fds(pid_t pid)
{
	char path[64];
	unsigned int n = 0;

	for (int fd = 0; fd < 256; fd++) {
		snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)pid, fd);
		n += access(path, F_OK) == 0;
	}
	return n;
}

/* A helper that kept the lock or a listening socket open would outlive its daemon's claim to them. */
static void processes_hold_nothing_of_the_daemon(void **state)
{
	(void)state;
	ask(1, "fine");
	WAIT_FOR(answers == 1);
	/* On a busy machine the worker may have been late, and its successor is being made and has yet to close what it inherited. */
	WAIT_FOR(helper_worker_pid(helper) > 0 && count_fds(helper_worker_pid(helper)) == 4 &&
		 count_fds(parent_of(helper_worker_pid(helper))) == 4);
}

static void stop_ends_both_processes(void **state)
{
	pid_t worker, zygote;

	(void)state;
	WAIT_FOR(stats().alive);
	worker = helper_worker_pid(helper);
	zygote = parent_of(worker);
	ask(1, DEVICE_BLOCKS);
	helper_stop(helper);
	helper = NULL;
	for (int i = 0; i < 2000 && (kill(worker, 0) == 0 || kill(zygote, 0) == 0); i++)
		usleep(1000);
	assert_int_equal(kill(worker, 0), -1);
	assert_int_equal(kill(zygote, 0), -1);
}

/* Its deadline passes when it is gone. */
static void loop_goes_on_without_it(void **state)
{
	struct facts_request req = { .id = 1 };

	(void)state;
	assert_int_equal(helper_ask(helper, 1, &req, loop_clock()), 0);
	helper_stop(helper);
	helper = NULL;
	for (uint64_t end = loop_clock().mono_ns + 2 * DEADLINE_NS; loop_clock().mono_ns < end;)
		assert_int_equal(loop_once(loop, 100 * NS_PER_MS), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)
		TEST(answers_come),
		TEST(blocked_worker_is_given_up),
		TEST(requests_behind_a_blocked_one_expire),
		TEST(worker_killed_from_outside_is_replaced),
		TEST(restarts_are_rate_limited),
		TEST(zygote_killed_from_outside_is_replaced),
		TEST(queue_is_bounded),
		TEST(processes_hold_nothing_of_the_daemon),
		TEST(stop_ends_both_processes),
		TEST(loop_goes_on_without_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
