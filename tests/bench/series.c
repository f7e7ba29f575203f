// SPDX-License-Identifier: BSD-2-Clause
#include "series.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "common.h"
#include "verbs.h"

/*
 * rxe numbers its MRs upwards in an xarray, which gets a level deeper at 4,096 and at 262,144
 * registrations since the device came up; each costs 1,400 to 3,400 instructions more from
 * then on. All that is measured lies between these two, with room for registrations that fail.
 */
#define REGISTRATIONS_FIRST 4096u
#define REGISTRATIONS_LAST 260000u

/* A whole number of ticks whatever CONFIG_HZ is, and time enough for RCU to do what is due. */
#define ROUND_START_NS 40000000u
#define AFTER_TICK_NS 200000u

#define ACCESS (IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ)

static struct rdma rdma;
static struct outcome outcome;
static char *buffer, *hole;

static void register_times(size_t size, unsigned int times)
{
	for (unsigned int i = 0; i < times; i++) {
		struct ibv_mr *mr = rdma_register(&rdma, buffer, size, ACCESS, &outcome);

		if (!mr)
			die_errno("ibv_reg_mr of %zu bytes", size);
		rdma_deregister(mr);
	}
	if (outcome.ok > REGISTRATIONS_LAST)
		die("more than %u registrations: rxe's index has grown on the way; measure less", REGISTRATIONS_LAST);
}

static void register_setup(size_t buffer_bytes)
{
	rdma_open(&rdma, "rxe0");
	buffer = mmap(NULL, buffer_bytes + 2 * page_bytes(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (buffer == MAP_FAILED)
		die_errno("cannot map a buffer of %zu bytes", buffer_bytes);
	/* A huge page would come and go with the memory there is, and with it the cost of a pin. */
	if (!keep_small(buffer, buffer_bytes))
		die_errno("MADV_NOHUGEPAGE");
	memset(buffer, 1, buffer_bytes);
	hole = buffer + buffer_bytes + page_bytes();
	if (munmap(hole, page_bytes()))
		die_errno("munmap");
	register_times(page_bytes(), REGISTRATIONS_FIRST);
}

uint64_t thread_instructions(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

void series_register_hole(void)
{
	struct outcome failed = { 0 };

	if (rdma_register(&rdma, hole, page_bytes(), ACCESS, &failed))
		die("ibv_reg_mr of an unmapped page succeeded");
}

uint64_t series_registrations(void)
{
	return outcome.ok;
}

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

uint64_t median_of(const uint64_t *values, size_t count)
{
	static uint64_t sorted[ROUNDS_MAX];

	memcpy(sorted, values, count * sizeof(*values));
	qsort(sorted, count, sizeof(*sorted), by_value);
	return count % 2 ? sorted[count / 2] : (sorted[count / 2 - 1] + sorted[count / 2]) / 2;
}

static uint64_t mean_of(const uint64_t *values, size_t count)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < count; i++)
		sum += values[i];
	return sum / count;
}

/*
 * Each round starts at the same place between two ticks, with everything done that earlier rounds
 * left to RCU. Without that a round costs up to a third more or less, depending on where
 * in it the tick falls and how much freed memory is still waiting.
 */
static void wait_for_round(void)
{
	struct timespec at;
	uint64_t ns;

	clock_gettime(CLOCK_MONOTONIC, &at);
	ns = (uint64_t)at.tv_sec * 1000000000 + (uint64_t)at.tv_nsec;
	ns = (ns / ROUND_START_NS + 2) * ROUND_START_NS + AFTER_TICK_NS;
	at.tv_sec = (time_t)(ns / 1000000000);
	at.tv_nsec = (long)(ns % 1000000000);
	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL);
}

static uint64_t round_run(const struct operation *op, const struct series_shape *shape, size_t size)
{
	uint64_t before;

	if (shape->between)
		shape->between();
	wait_for_round();
	before = thread_instructions();
	op->times(size, shape->ops);
	return (thread_instructions() - before) / shape->ops;
}

void series_run(const struct operation *op, const struct series_shape *shape, size_t size, struct series *ret_series)
{
	round_run(op, shape, size);
	ret_series->rounds = shape->rounds - 1;
	for (unsigned int i = 0; i < ret_series->rounds; i++)
		ret_series->round[i] = round_run(op, shape, size);
	ret_series->mean = mean_of(ret_series->round, ret_series->rounds);
	ret_series->median = median_of(ret_series->round, ret_series->rounds);
}

const struct operation op_register = { "register", register_setup, register_times };
