// SPDX-License-Identifier: BSD-2-Clause
/*
 * armed --area AREA [--folio-releases | --cost]: first pins by pinhold in every way, before and after this process's first failure,
 * beside a child that has had none yet; two from before by pin_user_pages(), which are seen being taken in every process, one of
 * them given back; and plain references. Says of each registration that failed who holds the page and what can be known of
 * it, and, once it has failed for the first time, waits for a word so that the hooks can be waited for. At the end a pin
 * stays that outlives the process; its id is in the last line.
 * With --cost it only says how long a pin of one page, or a reference, and its release take before that failure and after
 * the word.
 *   {"step":"fast_by_0","pid":812,"claim":812,"function":"pin_user_pages_fast","doubt":"","plain":false,"references":0,"referrer":0}
 * "references": how many were seen being taken of a page that is held by one, that of the look at where it lies included.
 */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common.h"
#include "json.h"
#include "oracle.h"
#include "verbs.h"

#define SEARCH_PAGES 16384

struct order {
	bool pin;	/* else register */
	uint32_t page;
	uint32_t flags;	/* of the pin */
};

static char *memory;
static enum area area;
static struct rdma rdma;

static char *at(uint32_t page)
{
	return memory + page * page_bytes();
}

/* One that lies in the area and that nothing was done to so far. */
static uint32_t next_page(void)
{
	static uint32_t next;

	for (; next < SEARCH_PAGES; next++) {
		struct pinhold_resolve page;

		*at(next) = 1;
		page = oracle_ask((uintptr_t)at(next));
		if (oracle_in_area(&page, area))
			return next++;
	}
	die("no page in the area any more");
}

static int register_page(uint32_t page)
{
	struct outcome outcome = { 0 };

	rdma_deregister(rdma_register(&rdma, at(page), page_bytes(), IBV_ACCESS_LOCAL_WRITE, &outcome));
	return outcome.last_errno;
}

static void expect(const char *step, uint32_t page, int err, int got)
{
	if (got == err)
		return;
	fprintf(stderr, "%s: page %u gave errno %d, and %d was due\n", step, page, got, err);
	_exit(EXIT_UNEXPECTED);
}

static void told(const char *step, pid_t pid, pid_t claim, bool slow, const char *doubt)
{
	json_open(NULL, '{');
	json_str("step", step);
	json_num("pid", pid);
	json_num("claim", claim);
	json_str("function", slow ? "pin_user_pages" : "pin_user_pages_fast");
	json_str("doubt", doubt);
	json_bool("plain", false);
	json_num("references", 0);
	json_num("referrer", 0);
	json_close('}');
	json_end_line();
}

/* Of a page that a plain reference holds: `seen` were seen being taken, one of them by `referrer`. */
static void fails_plain(const char *step, uint32_t page, uint32_t seen, pid_t referrer)
{
	expect(step, page, ENOMEM, register_page(page));
	json_open(NULL, '{');
	json_str("step", step);
	json_num("pid", getpid());
	json_num("claim", 0);
	json_str("function", "get_user_pages_fast");
	json_str("doubt", "");
	json_bool("plain", true);
	json_num("references", seen);
	json_num("referrer", referrer);
	json_close('}');
	json_end_line();
}

static void fails(const char *step, uint32_t page, pid_t claim, bool slow, const char *doubt)
{
	expect(step, page, ENOMEM, register_page(page));
	told(step, getpid(), claim, slow, doubt);
}

/* From one place, so that two pins in the same way are alike to who looks at stacks. */
static uint32_t pin(uint32_t page, uint32_t flags)
{
	return hold_take((uintptr_t)at(page), page_bytes(), PINHOLD_WRITE | flags);
}

/* --- the child ----------------------------------------------------------------------- */

static int child_socket;
static pid_t child;

static void act(int orders)
{
	struct order o;
	int err;

	oracle_open();
	rdma_open(&rdma, "rxe0");
	while (read(orders, &o, sizeof(o)) == sizeof(o)) {
		err = 0;
		/* Mapped here too, else the slow path pins it, and that is seen. */
		*at(o.page) = 1;
		if (o.pin)
			pin(o.page, o.flags);
		else
			err = register_page(o.page);
		if (write(orders, &err, sizeof(err)) != sizeof(err))
			_exit(1);
	}
	_exit(0);
}

static void start_child(void)
{
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends))
		die_errno("socketpair");
	child = fork();
	if (child < 0)
		die_errno("fork");
	if (child == 0) {
		close(ends[0]);
		act(ends[1]);
	}
	close(ends[1]);
	child_socket = ends[0];
}

static int ask_for(struct order o)
{
	int err;

	if (write(child_socket, &o, sizeof(o)) != sizeof(o) || read(child_socket, &err, sizeof(err)) != sizeof(err))
		die("the child died");
	return err;
}

static int ask(bool pins, uint32_t page)
{
	return ask_for((struct order){ .pin = pins, .page = page });
}

/* --- what happens ------------------------------------------------------------------------ */

/* Taken in both ways and given back in each: named, and gone. */
static void each_way(uint32_t ways)
{
	for (uint32_t i = 0; i < 2 * ways; i++) {
		bool slow = i % 2;
		uint32_t page = next_page(), id;
		char step[32];

		snprintf(step, sizeof(step), "%s_by_%u", slow ? "slow" : "fast", i / 2);
		id = pin(page, (slow ? PINHOLD_SLOW : 0) | i / 2 << PINHOLD_BY_SHIFT);
		fails(step, page, getpid(), slow, "");
		hold_give(id);
		expect(step, page, 0, register_page(page));
	}
}

static void twice(uint32_t by)
{
	uint32_t page = next_page(), ids[2];

	for (int i = 0; i < 2; i++)
		ids[i] = pin(page, by << PINHOLD_BY_SHIFT);
	fails("twice", page, getpid(), false, "");
	hold_give(ids[1]);
	fails("one_left", page, getpid(), false, "");
	hold_give(ids[0]);
	expect("none_left", page, 0, register_page(page));
}

static void two_takers(void)
{
	uint32_t page = next_page(), fast = pin(page, 0), slow = pin(page, PINHOLD_SLOW);

	fails("two_ways", page, 0, false, "mixed");
	hold_give(fast);
	fails("two_ways_one_left", page, 0, false, "mixed");
	hold_give(slow);
	expect("two_ways_none_left", page, 0, register_page(page));
	page = next_page();
	/* One that is not watched makes the count differ, and hides the owner. */
	pin(page, 0);
	ask(true, page);
	fails("beside_unwatched", page, 0, false, "count");
}

#define COME_BACK_TRIES 256

/*
 * A page that was referenced, let go of and freed, and is another place of the same memory now. Its frame is looked for:
 * the allocator gives what was freed last.
 */
static uint32_t came_back(void)
{
	for (int i = 0; i < COME_BACK_TRIES; i++) {
		uint32_t gone = next_page(), page;
		uint64_t pfn = oracle_ask((uintptr_t)at(gone)).pfn;

		hold_give(pin(gone, PINHOLD_GET));
		if (madvise(at(gone), page_bytes(), MADV_REMOVE))
			die_errno("MADV_REMOVE");
		page = next_page();
		if (oracle_ask((uintptr_t)at(page)).pfn == pfn)
			return page;
	}
	die("no page came back to another place");
}

/* The look at where a page lies takes a reference too, and drops it: nobody can tell which of the two is left. */
static void references(void)
{
	uint32_t page = next_page(), id = pin(page, PINHOLD_GET);

	fails_plain("referenced", page, 2, getpid());
	hold_give(id);
	expect("dropped", page, 0, register_page(page));
	page = next_page();
	ask_for((struct order){ .pin = true, .page = page, .flags = PINHOLD_GET });
	fails_plain("referenced_unwatched", page, 1, getpid());
	page = came_back();
	ask_for((struct order){ .pin = true, .page = page, .flags = PINHOLD_GET });
	fails_plain("came_back", page, 1, getpid());
}

static void two_processes(void)
{
	uint32_t page = next_page(), theirs = next_page();

	ask(true, theirs);
	expect("child", theirs, ENOMEM, ask(false, theirs));
	told("child_unwatched", child, 0, false, "");
	pin(page, 0);
	expect("child", page, ENOMEM, ask(false, page));
	told("by_parent", child, getpid(), false, "");
	page = next_page();
	ask(true, page);
	fails("by_child", page, child, false, "");
	pin(page, 0);
	fails("by_both", page, 0, false, "mixed");
	page = next_page();
	ask_for((struct order){ .pin = true, .page = page, .flags = PINHOLD_GET });
	fails_plain("referenced_by_child", page, 2, child);
}

#define COST_TIMES 500
#define COST_ROUNDS 7

/* The least of some rounds, in nanoseconds a pair: with --icount of tests/vm/run that is instructions. */
static void cost(const char *state, uint32_t flags)
{
	uint32_t page = next_page();
	uint64_t least = UINT64_MAX;

	for (int round = 0; round < COST_ROUNDS; round++) {
		struct timespec from, to;
		uint64_t ns;

		clock_gettime(CLOCK_MONOTONIC, &from);
		for (int i = 0; i < COST_TIMES; i++)
			hold_give(pin(page, flags));
		clock_gettime(CLOCK_MONOTONIC, &to);
		ns = (uint64_t)(to.tv_sec - from.tv_sec) * 1000000000 + (uint64_t)to.tv_nsec - (uint64_t)from.tv_nsec;
		if (ns < least)
			least = ns;
	}
	json_open(NULL, '{');
	json_str("state", state);
	json_unum("ns", least / COST_TIMES);
	json_close('}');
	json_end_line();
}

static int costs(void)
{
	const uint32_t by_page = PINHOLD_BY_PAGE << PINHOLD_BY_SHIFT;
	uint32_t old;

	cost("before", by_page);
	cost("reference_before", PINHOLD_GET);
	old = next_page();
	pin(old, 0);
	expect("first", old, ENOMEM, register_page(old));
	told("first", getpid(), 0, false, "");
	wait_for_word();
	cost("after", by_page);
	cost("reference_after", PINHOLD_GET);
	return EXIT_AS_EXPECTED;
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "area", required_argument, NULL, 'a' }, { "folio-releases", no_argument, NULL, 'f' },
		{ "cost", no_argument, NULL, 'c' }, { 0 },
	};
	uint32_t old, slow, other, referenced, ways = PINHOLD_BY_CLEAN + 1;
	bool only_cost = false;
	int c;

	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (c == 'a')
			area = area_parse(optarg);
		else if (c == 'f')
			ways = PINHOLD_BY_FOLIOS + 1;
		else if (c == 'c')
			only_cost = true;
		else
			die("usage: armed --area AREA [--folio-releases | --cost]");
	}
	memory = mmap(NULL, SEARCH_PAGES * page_bytes(), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (memory == MAP_FAILED)
		die_errno("mmap");
	if (!only_cost)
		start_child();
	oracle_open();
	rdma_open(&rdma, "rxe0");
	if (only_cost)
		return costs();
	old = next_page();
	pin(old, 0);
	slow = next_page();
	pin(slow, PINHOLD_SLOW);
	/* Held by the second, which is not seen, and not by the first. */
	other = next_page();
	hold_give(pin(other, PINHOLD_SLOW));
	pin(other, 0);
	referenced = next_page();
	pin(referenced, PINHOLD_GET);
	fails("unwatched_slow", slow, 0, true, "unwatched");
	fails("unwatched", old, 0, false, "");
	wait_for_word();
	fails("from_before", old, 0, false, "");
	fails("slow_from_before", slow, 0, true, "unwatched");
	fails("slow_given_back", other, 0, true, "unwatched");
	fails_plain("reference_from_before", referenced, 0, 0);
	each_way(ways);
	twice(PINHOLD_BY_DIRTY_LOCK);
	twice(PINHOLD_BY_CLEAN);
	two_takers();
	references();
	two_processes();
	/* Another process that has the same at the same address did not take it. */
	expect("child", slow, ENOMEM, ask(false, slow));
	told("slow_of_parent", child, 0, false, "");
	close(child_socket);
	waitpid(child, NULL, 0);
	printf("%u\n", pin(next_page(), PINHOLD_KEEP));
	return EXIT_AS_EXPECTED;
}
