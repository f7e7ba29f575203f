// SPDX-License-Identifier: BSD-2-Clause
/* First pins that are long-term themselves: a buffer of io_uring's, and another registration that is not through yet. */
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common.h"
#include "firstpin.h"
#include "oracle.h"
#include "otherpins.h"
#include "slowdev.h"
#include "threads.h"
#include "verbs.h"

#define SLOW_NAME "longpin"
#define SLOW_BACKING "/dev/nullb0"

uint32_t first_pin_tid;
uint64_t first_pin_charged;

/* --- io_uring ------------------------------------------------------------------------ */

static int ring = -1;

/* One buffer from the first held page to the last. */
static void uring_take(const struct region *region, const struct positions *positions, uint32_t references)
{
	uint64_t first = region_page(region, positions->index[0]);
	uint64_t last = region_page(region, positions->index[positions->count - 1]);
	int err;

	(void)references;
	ring = uring_new();
	err = uring_register(ring, (void *)(uintptr_t)first, last + page_bytes() - first);
	if (err)
		die("io_uring refused the buffer: %s", errno_name(err));
}

static void uring_give(void)
{
	close(ring);
}

/* --- the same, in a block of memory that began to be emptied later -------------------------- */

static uint64_t emptied;

/* What the kernel counts against this process. io_uring on 6.1 charges a huge page as a whole for a part of it. */
static uint64_t pinned_bytes(void)
{
	unsigned long long kib = 0;
	char line[256];
	FILE *f = fopen("/proc/self/status", "re");

	if (!f)
		die_errno("/proc/self/status");
	while (fgets(line, sizeof(line), f) && sscanf(line, "VmPin: %llu kB", &kib) != 1)
		;
	fclose(f);
	return kib * 1024;
}

static void isolated_take(const struct region *region, const struct positions *positions, uint32_t references)
{
	uint64_t address = region_page(region, positions->index[0]);
	int err;

	uring_take(region, positions, references);
	first_pin_charged = pinned_bytes();
	err = block_isolate(address, &emptied);
	if (err)
		die("the block of the page cannot be marked: %s", errno_name(err));
}

static void isolated_give(void)
{
	block_give(emptied);
	uring_give();
}

/* --- another registration -------------------------------------------------------------- */

static struct {
	struct rdma rdma;
	pthread_t thread;
	char *from, *slow;
	struct outcome outcome;
	_Atomic pid_t tid;
	_Atomic bool ended;
} other;

/*
 * The page behind the region is read from a device that does not answer: a pin that comes to it has pinned what lies
 * before it, and has not looked yet where that lies.
 */
static void map_slow_page(char *at)
{
	char path[SLOWDEV_PATH_LEN];
	int fd;

	slowdev_create(SLOW_NAME, SLOW_BACKING, path);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	other.slow = at;
	if (fd < 0 || mmap(at, page_bytes(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED_NOREPLACE, fd, 0) != at)
		die_errno("cannot map %s behind the region", path);
	if (madvise(at, page_bytes(), MADV_RANDOM))
		die_errno("madvise against read-ahead");
	close(fd);
}

static void *register_through(void *arg)
{
	(void)arg;
	first_pin_charged = (uint64_t)(other.slow - other.from) + page_bytes();
	other.tid = (pid_t)syscall(SYS_gettid);
	rdma_deregister(rdma_register(&other.rdma, other.from, first_pin_charged, IBV_ACCESS_LOCAL_WRITE, &other.outcome));
	other.ended = true;
	return NULL;
}

static void registration_take(const struct region *region, const struct positions *positions, uint32_t references)
{
	(void)references;
	rdma_open(&other.rdma, "rxe0");
	map_slow_page((char *)region->map + region->map_length);
	other.from = (char *)(uintptr_t)region_page(region, positions->index[0]);
	if (pthread_create(&other.thread, NULL, register_through, NULL))
		die("pthread_create failed");
	while (!other.tid)
		sched_yield();
	first_pin_tid = (uint32_t)other.tid;
	if (!thread_sleeps_in(other.tid, "folio_wait", &other.ended))
		die("the other registration does not wait for its page");
}

static void registration_give(void)
{
	slowdev_release(SLOW_NAME);
	pthread_join(other.thread, NULL);
	if (other.outcome.ok != 1)
		die("the other registration failed in the end: %s", errno_name(other.outcome.last_errno));
	munmap(other.slow, page_bytes());
	slowdev_remove(SLOW_NAME);
	rdma_close(&other.rdma);
}

const struct first_pin first_pin_uring = { "io_uring", 1, uring_take, uring_give, 1, false };
const struct first_pin first_pin_isolated = { "io_uring, isolated", 1, isolated_take, isolated_give, 1, false };
const struct first_pin first_pin_registration = { "registration", 1, registration_take, registration_give, 1, true };
