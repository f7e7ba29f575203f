// SPDX-License-Identifier: BSD-2-Clause
/*
 * orderings --area AREA --rounds N --seed SEED [--armed]: pins by the stand-in for NVIDIA's driver, releases, forks, exits, unmaps
 * and registrations of memory that processes share, in random order. A model knows at any time who holds which
 * page, and says so in one line of JSON for each registration that failed:
 *   {"round":3,"pid":812,"held":[{"index":4,"owners":[811,805],"claim":0},...]}
 * With --armed the pins are those of tests/kmod/pinhold, taken and given back by functions at random. A process is watched
 * after its first failure; "claim" is whom a watcher can know to hold the page: all its pins are of one process, taken in one way
 * while that was watched, and were from when nobody held it. The watcher's hooks must be there before and stay.
 * Rounds go on past N, up to ten times as many, until N registrations have failed and, with --armed, CLAIMS_LEAST over a page
 * with a claim: a seed need not give that.
 * Exits 0 only when each registration ended as the model says.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../kmod/nvidia/nvidia_standin.h"
#include "common.h"
#include "json.h"
#include "oracle.h"
#include "verbs.h"

#define ACTORS 3
#define WINDOW 16	/* pages that a round is about */
#define LOCKS 64
#define STEPS 24	/* of one round */
#define SEARCH_PAGES 32768
#define CLAIMS_LEAST 3

enum step { LOCK, UNLOCK, UNMAP, FORK, LEAVE, REGISTER, STEP_MAX };

struct order {
	enum step step;
	uint32_t first, count;	/* pages of the window */
	uint32_t flags;		/* of pinhold */
	uint64_t lock;
};

struct answer {
	pid_t pid;
	int err;		/* of the registration, positive */
	uint64_t lock;
};

struct actor {
	pid_t pid;
	int socket;
};

struct lock {
	bool held;
	uint32_t actor;		/* whose descriptor it belongs to */
	pid_t owner;		/* who took it; may be gone */
	uint32_t first, count;
	uint64_t id;
};

/* What is known of a page's pins since nobody held it. */
struct known {
	pid_t taker;		/* 0 = nobody holds it */
	bool slow, doubtful;
};

static int memory_fd;
static uint64_t window_at;	/* offset in the file */
static char *window;		/* where this process has it */
static struct actor actors[ACTORS];
static struct lock locks[LOCKS];
static struct known known[WINDOW];
static pid_t watched[ACTORS];	/* the process that had a failure, if it is still the one */
static bool armed;
static unsigned long failures, claims;	/* over a page whose holder could be known */
static uint64_t seed;
static int nvidia = -1;

static uint32_t below(uint32_t n)
{
	seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
	return (uint32_t)(seed >> 33) % n;
}

/* --- an actor ------------------------------------------------------------------------ */

static char *map_window(void)
{
	char *at = mmap(NULL, WINDOW * page_bytes(), PROT_READ | PROT_WRITE, MAP_SHARED, memory_fd, (off_t)window_at);

	if (at == MAP_FAILED)
		die_errno("cannot map the shared memory");
	return at;
}

static uint64_t lock_pages(const struct order *o)
{
	if (armed)
		return hold_take((uintptr_t)window + o->first * page_bytes(), o->count * page_bytes(), o->flags);
	struct nvidia_standin_lock lock = { .address = (uintptr_t)window + o->first * page_bytes(), .pages = o->count, .write = 1 };

	if (ioctl(nvidia, NVIDIA_STANDIN_LOCK, &lock) || lock.status)
		die_errno("the stand-in locked nothing (status 0x%x)", lock.status);
	return lock.id;
}

static int register_pages(const struct order *o)
{
	struct outcome outcome = { 0 };
	struct rdma rdma;

	rdma_open(&rdma, "rxe0");
	rdma_deregister(rdma_register(&rdma, window + o->first * page_bytes(), o->count * page_bytes(), IBV_ACCESS_LOCAL_WRITE, &outcome));
	rdma_close(&rdma);
	return outcome.last_errno;
}

/* Its pins stay with the descriptor, which the child has as well. */
static void go_on_as_child(void)
{
	pid_t pid = fork();

	if (pid < 0)
		die_errno("fork");
	if (pid > 0)
		_exit(0);
}

static void act(int orders)
{
	struct order o;

	if (armed)
		oracle_open();
	else
		nvidia = open(NVIDIA_STANDIN_DEVICE, O_RDWR | O_CLOEXEC);
	if (!armed && nvidia < 0)
		die_errno("cannot open " NVIDIA_STANDIN_DEVICE);
	window = map_window();
	while (read(orders, &o, sizeof(o)) == sizeof(o)) {
		struct answer a = { 0 };

		switch (o.step) {
		case LOCK: a.lock = lock_pages(&o); break;
		case UNLOCK:
			if (armed)
				hold_give((uint32_t)o.lock);
			else if (ioctl(nvidia, NVIDIA_STANDIN_UNLOCK, &o.lock))
				die_errno("cannot unlock");
			break;
		case UNMAP:
			munmap(window, WINDOW * page_bytes());
			window = map_window();
			break;
		case FORK: go_on_as_child(); break;
		case REGISTER: a.err = register_pages(&o); break;
		default: _exit(0);
		}
		a.pid = getpid();
		if (write(orders, &a, sizeof(a)) != sizeof(a))
			_exit(1);
	}
	_exit(0);
}

/* --- the model ------------------------------------------------------------------------- */

static void start(uint32_t i)
{
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends))
		die_errno("socketpair");
	actors[i].pid = fork();
	if (actors[i].pid < 0)
		die_errno("fork");
	if (actors[i].pid == 0) {
		close(ends[0]);
		act(ends[1]);
	}
	close(ends[1]);
	actors[i].socket = ends[0];
}

static struct answer ask(uint32_t i, struct order o)
{
	struct answer a;

	if (write(actors[i].socket, &o, sizeof(o)) != sizeof(o) || read(actors[i].socket, &a, sizeof(a)) != sizeof(a))
		die("an actor died");
	return a;
}

static void leave(uint32_t i)
{
	struct order o = { .step = LEAVE };

	if (write(actors[i].socket, &o, sizeof(o)) != sizeof(o))
		die("an actor died before");
	while (waitpid(actors[i].pid, NULL, 0) < 0 && errno == EINTR)
		;
	close(actors[i].socket);
	for (uint32_t k = 0; k < LOCKS; k++)
		locks[k].held &= locks[k].actor != i;
}

static bool in_area(uint32_t page, enum area area)
{
	struct pinhold_resolve p = oracle_ask((uintptr_t)window + page * page_bytes());

	return oracle_in_area(&p, area);
}

static bool covers(const struct lock *l, uint32_t page)
{
	return l->held && page >= l->first && page < l->first + l->count;
}

static uint32_t owners_of(uint32_t page)
{
	uint32_t n = 0;

	for (uint32_t k = 0; k < LOCKS; k++)
		n += covers(&locks[k], page);
	return n;
}

static void print_held(unsigned long round, pid_t pid, const struct order *o, const bool *placed)
{
	bool claimed = false;

	json_open(NULL, '{');
	json_unum("round", round);
	json_num("pid", pid);
	json_open("held", '[');
	for (uint32_t page = o->first; page < o->first + o->count; page++) {
		if (!placed[page] || !owners_of(page))
			continue;
		json_open(NULL, '{');
		json_unum("index", page - o->first);
		json_open("owners", '[');
		for (uint32_t k = 0; k < LOCKS; k++)
			if (covers(&locks[k], page))
				json_num(NULL, locks[k].owner);
		json_close(']');
		json_num("claim", known[page].doubtful ? 0 : known[page].taker);
		claimed |= !known[page].doubtful;
		json_close('}');
	}
	failures++;
	claims += claimed;
	json_close(']');
	json_close('}');
	json_end_line();
}

static void try_register(unsigned long round, uint32_t i, struct order o, enum area area)
{
	bool placed[WINDOW], must_fail = false;
	struct answer a;

	for (uint32_t page = 0; page < WINDOW; page++)
		placed[page] = in_area(page, area);
	for (uint32_t page = o.first; page < o.first + o.count; page++)
		must_fail |= placed[page] && owners_of(page);
	a = ask(i, o);
	if (a.err != (must_fail ? ENOMEM : 0)) {
		fprintf(stderr, "round %lu: pages %u to %u gave errno %d, and %s was due\n", round, o.first, o.first + o.count - 1, a.err,
			must_fail ? "ENOMEM" : "success");
		exit(EXIT_UNEXPECTED);
	}
	if (!must_fail)
		return;
	print_held(round, a.pid, &o, placed);
	watched[i] = a.pid;
}

static void know(struct known *k, pid_t pid, bool seen, bool slow)
{
	if (!k->taker)
		*k = (struct known){ pid, slow, !seen };
	else
		k->doubtful |= !seen || k->taker != pid || k->slow != slow;
}

/* What nobody holds any more is as if it had never been held. */
static void know_free(void)
{
	for (uint32_t page = 0; page < WINDOW; page++)
		if (!owners_of(page))
			known[page] = (struct known){ 0 };
}

static uint32_t random_flags(void)
{
	return PINHOLD_WRITE | (below(3) ? 0 : PINHOLD_SLOW) | below(PINHOLD_BY_CLEAN + 1) << PINHOLD_BY_SHIFT;
}

static void take(uint32_t i, struct order o)
{
	struct answer a = ask(i, o);

	for (uint32_t k = 0; k < LOCKS; k++) {
		if (locks[k].held)
			continue;
		locks[k] = (struct lock){ true, i, a.pid, o.first, o.count, a.lock };
		for (uint32_t page = o.first; page < o.first + o.count; page++)
			know(&known[page], a.pid, watched[i] == a.pid, o.flags & PINHOLD_SLOW);
		return;
	}
	die("more locks than the model has room for");
}

static void give_back(void)
{
	uint32_t from = below(LOCKS);

	for (uint32_t n = 0; n < LOCKS; n++) {
		struct lock *l = &locks[(from + n) % LOCKS];

		if (!l->held)
			continue;
		ask(l->actor, (struct order){ .step = UNLOCK, .lock = l->id });
		l->held = false;
		return;
	}
}

static void step(unsigned long round, enum area area)
{
	static const enum step often[] = { LOCK, LOCK, LOCK, UNLOCK, UNLOCK, UNMAP, FORK, LEAVE, REGISTER, REGISTER, REGISTER };
	uint32_t i = below(ACTORS);
	struct order o = { .step = often[below(ARRAY_SIZE(often))], .first = below(WINDOW) };
	pid_t before = actors[i].pid;

	o.count = 1 + below(WINDOW - o.first);
	o.flags = armed ? random_flags() : 0;
	switch (o.step) {
	case LOCK: take(i, o); break;
	case UNLOCK: give_back(); break;
	case REGISTER: try_register(round, i, o, area); break;
	case FORK:
		actors[i].pid = ask(i, o).pid;
		waitpid(before, NULL, 0);
		break;
	case LEAVE:
		leave(i);
		start(i);
		break;
	default: ask(i, o); break;
	}
	know_free();
}

/* A window of pages that all lie in the area: what was registered before has left it. */
static bool find_window(enum area area)
{
	static uint32_t next;
	size_t bytes = WINDOW * page_bytes();

	for (; next + WINDOW <= SEARCH_PAGES; next += WINDOW) {
		uint32_t good = 0;

		window_at = next * page_bytes();
		window = map_window();
		memset(window, 1, bytes);
		while (good < WINDOW && in_area(good, area))
			good++;
		if (good == WINDOW) {
			next += WINDOW;
			return true;
		}
		munmap(window, bytes);
	}
	return false;
}

/* All but the last actor have had their failure. */
static void watch_most(unsigned long round, enum area area)
{
	for (uint32_t i = 0; i + 1 < ACTORS; i++) {
		take(i, (struct order){ .step = LOCK, .first = i, .count = 1, .flags = PINHOLD_WRITE });
		try_register(round, i, (struct order){ .step = REGISTER, .first = i, .count = 1 }, area);
		give_back();
		know_free();
	}
}

static void play(unsigned long round, enum area area)
{
	if (!find_window(area))
		die("no %u pages of shared memory in the area any more", WINDOW);
	for (uint32_t i = 0; i < ACTORS; i++)
		start(i);
	if (armed)
		watch_most(round, area);
	for (uint32_t n = 0; n < STEPS; n++)
		step(round, area);
	for (uint32_t i = 0; i < ACTORS; i++)
		leave(i);
	munmap(window, WINDOW * page_bytes());
}

static bool enough(unsigned long rounds)
{
	return failures >= rounds && (!armed || claims >= CLAIMS_LEAST);
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "area", required_argument, NULL, 'a' }, { "rounds", required_argument, NULL, 'n' }, { "seed", required_argument, NULL, 's' },
		{ "armed", no_argument, NULL, 'm' }, { 0 },
	};
	unsigned long rounds = 10;
	enum area area = AREA_NONE;
	int c;

	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (c) {
		case 'a': area = area_parse(optarg); break;
		case 'n': rounds = strtoul(optarg, NULL, 0); break;
		case 's': seed = strtoull(optarg, NULL, 0); break;
		case 'm': armed = true; break;
		default: die("usage: orderings --area AREA --rounds N --seed SEED [--armed]");
		}
	}
	oracle_open();
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	memory_fd = memfd_create("orderings", MFD_CLOEXEC);
	if (memory_fd < 0 || ftruncate(memory_fd, (off_t)(SEARCH_PAGES * page_bytes())))
		die_errno("no shared memory");
	for (unsigned long round = 0; round < rounds || (!enough(rounds) && round < 10 * rounds); round++)
		play(round, area);
	return EXIT_AS_EXPECTED;
}
