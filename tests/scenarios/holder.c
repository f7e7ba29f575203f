// SPDX-License-Identifier: BSD-2-Clause
/*
 * holder [--until-refused]: holds memory regions, some of another thread, and io_uring buffers, then
 * registers more than its limit allows; or registers pages one by one until it is refused. Prints as one
 * line of JSON what it holds, for comparison with what a report says it holds.
 */
#include <errno.h>
#include <getopt.h>
#include <grp.h>
#include <linux/io_uring.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "common.h"
#include "json.h"
#include "verbs.h"

#define LIMIT (6ul << 20)	/* not what anybody else has */
#define NOBODY 65534
#define REGIONS_MAX 1000

struct holding {
	struct rdma rdma;
	struct outcome outcome;
	uint64_t mrs, mr_pages, ring_pages;
};

static char *memory(size_t length)
{
	char *p = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

	if (p == MAP_FAILED)
		die_errno("mmap");
	return p;
}

/* Whole pages from the start of one: there the length alone tells how many. */
static bool hold(struct holding *h, size_t length)
{
	if (!rdma_register(&h->rdma, memory(length), length, IBV_ACCESS_LOCAL_WRITE, &h->outcome))
		return false;
	h->mrs++;
	h->mr_pages += length / page_bytes();
	return true;
}

static pthread_barrier_t held;

/* Stays: a region of a thread that has ended has no owner any more. */
static void *hold_in_thread(void *arg)
{
	if (!hold(arg, 64 << 10))
		die("the thread's region was refused");
	pthread_barrier_wait(&held);
	for (;;)
		pause();
}

/* Three buffers; the second begins within a page. A second descriptor of the ring adds none. */
static void hold_in_ring(struct holding *h)
{
	struct io_uring_params params = { 0 };
	int ring = (int)syscall(SYS_io_uring_setup, 4, &params);
	char *p = memory(64 << 10);
	struct iovec buffers[] = { { p, 16 << 10 }, { p + (32 << 10) + 4000, 8192 }, { p + (60 << 10), 1 } };

	if (ring < 0)
		die_errno("io_uring_setup");
	if (syscall(SYS_io_uring_register, ring, IORING_REGISTER_BUFFERS, buffers, 3) < 0)
		die_errno("io_uring_register");
	if (dup(ring) < 0)
		die_errno("dup");
	h->ring_pages = 4 + 3 + 1;
}

static void become_ordinary(void)
{
	struct rlimit limit = { LIMIT, LIMIT };

	if (setrlimit(RLIMIT_MEMLOCK, &limit) || setgroups(0, NULL) || setresgid(NOBODY, NOBODY, NOBODY) ||
	    setresuid(NOBODY, NOBODY, NOBODY))
		die_errno("cannot become an ordinary user");
}

static void over_limit(struct holding *h)
{
	pthread_t thread;

	pthread_barrier_init(&held, NULL, 2);
	if (!hold(h, 1 << 20) || !hold(h, 12 << 10))
		die("a region within the limit was refused");
	if (pthread_create(&thread, NULL, hold_in_thread, h))
		die("pthread_create failed");
	pthread_barrier_wait(&held);
	hold_in_ring(h);
	hold(h, 2 * LIMIT);
}

static void until_refused(struct holding *h)
{
	while (h->mrs < REGIONS_MAX && hold(h, page_bytes()))
		;
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "until-refused", no_argument, NULL, 'u' }, { "stay", no_argument, NULL, 's' }, { NULL, 0, NULL, 0 },
	};
	bool until = false, stay = false, expected;
	struct holding h = { 0 };
	int option;

	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		until |= option == 'u';
		stay |= option == 's';
		if (option == '?')
			die("usage: holder [--until-refused] [--stay]");
	}
	become_ordinary();
	rdma_open(&h.rdma, "rxe0");
	if (until)
		until_refused(&h);
	else
		over_limit(&h);
	expected = h.outcome.failed == 1 && (until || h.outcome.last_errno == ENOMEM);
	json_open(NULL, '{');
	json_num("pid", getpid());
	json_str("comm", program_invocation_short_name);
	json_num("mrs", (int64_t)h.mrs);
	json_num("mr_pages", (int64_t)h.mr_pages);
	json_num("ring_pages", (int64_t)h.ring_pages);
	json_num("limit", LIMIT);
	outcome_json(&h.outcome);
	json_bool("as_expected", expected);
	json_close('}');
	json_end_line();
	if (stay)
		wait_for_word();
	return expected ? EXIT_AS_EXPECTED : EXIT_UNEXPECTED;
}
