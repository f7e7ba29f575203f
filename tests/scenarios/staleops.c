// SPDX-License-Identifier: BSD-2-Clause
/*
 * staleops --regions N [--keep]: N regions of a page each, whose pages are unmapped one by one while they
 *   live, as below a registration cache that is not told; --keep leaves the pages alone
 * staleops --cost NAME: processor time of the calls that [watch] stale hooks, per call, as lines of JSON;
 *   with a name that ends in "region" the process has a live region, beside one of them
 */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "common.h"
#include "json.h"
#include "verbs.h"

#define ROUNDS 15
#define CALLS 2000

static char *map(size_t length, int flags, void *where)
{
	char *at = mmap(where, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);

	if (at == MAP_FAILED)
		die_errno("mmap");
	return at;
}

static int make_regions(unsigned long n, bool keep)
{
	char *memory = map(n * page_bytes(), 0, NULL);
	struct ibv_mr **regions = calloc(n, sizeof(struct ibv_mr *));
	struct outcome outcome = { 0 };
	struct rdma rdma;
	unsigned long i;

	if (!regions)
		die("out of memory");
	rdma_open(&rdma, "rxe0");
	for (i = 0; i < n; i++) {
		regions[i] = rdma_register(&rdma, memory + i * page_bytes(), page_bytes(), IBV_ACCESS_LOCAL_WRITE, &outcome);
		if (!regions[i])
			die_errno("ibv_reg_mr");
	}
	for (i = 0; i < n && !keep; i++)
		if (munmap(memory + i * page_bytes(), page_bytes()))
			die_errno("munmap");
	for (i = 0; i < n; i++)
		rdma_deregister(regions[i]);
	rdma_close(&rdma);
	free(regions);
	return EXIT_AS_EXPECTED;
}

/* --- cost --------------------------------------------------------------------------- */

static void *place;	/* a page to map over */
static char *touched;	/* two pages */
static char *beside;	/* the page behind the region */

static void map_and_unmap(void)
{
	char *at = map(page_bytes(), 0, NULL);

	if (munmap(at, page_bytes()))
		die_errno("munmap");
}

static void map_over(void)
{
	map(page_bytes(), MAP_FIXED, place);
}

static void map_and_unmap_beside(void)
{
	map(page_bytes(), MAP_FIXED, beside);
	if (munmap(beside, page_bytes()))
		die_errno("munmap");
}

static void give_back(void)
{
	if (madvise(touched, page_bytes(), MADV_DONTNEED))
		die_errno("MADV_DONTNEED");
}

static void advise(void)
{
	if (madvise(touched, page_bytes(), MADV_WILLNEED))
		die_errno("MADV_WILLNEED");
}

static void shrink_and_grow(void)
{
	if (mremap(touched, 2 * page_bytes(), page_bytes(), 0) != touched ||
	    mremap(touched, page_bytes(), 2 * page_bytes(), 0) != touched)
		die_errno("mremap");
}

static const struct op {
	const char *name;
	void (*call)(void);
} ops[] = {
	{ "mmap + munmap", map_and_unmap },
	{ "the same, beside the region", map_and_unmap_beside },
	{ "mmap, MAP_FIXED", map_over },
	{ "madvise, DONTNEED", give_back },
	{ "madvise, other", advise },
	{ "mremap, twice", shrink_and_grow },
};

static uint64_t thread_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* The median of the rounds: ticks and RCU hit some of them. */
static void measure(const char *mode, const struct op *op)
{
	uint64_t rounds[ROUNDS], start;

	for (int r = 0; r < ROUNDS; r++) {
		start = thread_ns();
		for (int i = 0; i < CALLS; i++)
			op->call();
		rounds[r] = (thread_ns() - start) / CALLS;
	}
	qsort(rounds, ROUNDS, sizeof(rounds[0]), by_value);
	json_open(NULL, '{');
	json_str("mode", mode);
	json_str("op", op->name);
	json_num("each", (int64_t)rounds[ROUNDS / 2]);
	json_close('}');
	json_end_line();
}

/* The same memory map with and without a region, as far as can be. */
static int measure_all(const char *mode)
{
	struct outcome outcome = { 0 };
	struct ibv_mr *mr;
	struct rdma rdma;
	/* Inside a mapping of other rights, so that none of these is merged with its neighbours. */
	char *room = mmap(NULL, 64 << 20, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char *memory;

	if (room == MAP_FAILED)
		die_errno("mmap");
	place = room + (16 << 20);
	map_over();
	touched = map(2 * page_bytes(), MAP_FIXED, room + (32 << 20));
	memory = map(8 * page_bytes(), MAP_FIXED, room + (48 << 20));
	beside = memory + 8 * page_bytes();
	if (munmap(touched + 2 * page_bytes(), page_bytes()))
		die_errno("munmap");
	rdma_open(&rdma, "rxe0");
	mr = rdma_register(&rdma, memory, 8 * page_bytes(), IBV_ACCESS_LOCAL_WRITE, &outcome);
	if (!mr)
		die_errno("ibv_reg_mr");
	if (!strstr(mode, "region")) {
		rdma_deregister(mr);
		mr = NULL;
	}
	for (size_t i = 0; i < ARRAY_SIZE(ops); i++)
		measure(mode, &ops[i]);
	rdma_deregister(mr);
	rdma_close(&rdma);
	return EXIT_AS_EXPECTED;
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "regions", required_argument, NULL, 'r' },
		{ "keep", no_argument, NULL, 'k' },
		{ "cost", required_argument, NULL, 'c' },
		{ 0 },
	};
	unsigned long regions = 0;
	bool keep = false;
	int c;

	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (c == 'r')
			regions = strtoul(optarg, NULL, 10);
		else if (c == 'k')
			keep = true;
		else if (c == 'c')
			return measure_all(optarg);
	}
	if (!regions)
		die("usage: staleops --regions N [--keep] | --cost NAME");
	return make_regions(regions, keep);
}
