// SPDX-License-Identifier: BSD-2-Clause
/*
 * overflow: eight registrations that wait for a page of a device that does not answer, in threads
 * whose ids ask for the same slot of pinwhy's table of registrations in flight, and a ninth that
 * finds no slot and fails five times. Prints one line of JSON while the eight still wait, lets them
 * go when stdin ends or a line comes (with --stay) or at once, and exits 0 when all have then succeeded.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common.h"
#include "json.h"
#include "slowdev.h"
#include "threads.h"
#include "verbs.h"

#define TABLE_SLOTS 1024	/* WIRE_SPANS of bpf/include/wire.h */
#define SLOTS_TRIED 8		/* SPAN_PROBES of bpf/include/probe.bpf.h */
#define FIRST_TID 5000		/* far above what a guest has used, all nine far below pid_max */
#define FAILURES 5
#define SLOW_NAME "overflow"
#define SLOW_BACKING "/dev/nullb0"
/* Far enough apart that reading one page never brings the next one's. */
#define SLOW_STRIDE_PAGES 1024ul

struct worker {	/* shared with its process */
	pid_t process;
	char *memory;
	unsigned long count;
	struct outcome outcome;
	_Atomic bool ended;
};

static struct worker *workers;	/* the last one is the ninth */

static void work(struct worker *worker)
{
	struct rdma rdma;

	rdma_open(&rdma, "rxe0");
	for (unsigned long i = 0; i < worker->count; i++)
		rdma_deregister(rdma_register(&rdma, worker->memory, page_bytes(), IBV_ACCESS_LOCAL_WRITE,
					      &worker->outcome));
	atomic_store(&worker->ended, true);
	rdma_close(&rdma);
}

/* Processes: before 6.12 a fault inside a pin keeps the memory map locked, and a second thread would not get in. */
static void start(uint32_t n)
{
	pid_t tid = (pid_t)(FIRST_TID + n * TABLE_SLOTS);
	struct clone_args args = { .exit_signal = SIGCHLD, .set_tid = (uintptr_t)&tid, .set_tid_size = 1 };
	long pid = syscall(SYS_clone3, &args, sizeof(args));

	if (pid < 0)
		die_errno("no process with the id %d", tid);
	if (!pid) {
		work(&workers[n]);
		_exit(0);
	}
	workers[n].process = tid;
}

static void reap(const struct worker *worker)
{
	int status;

	if (waitpid(worker->process, &status, 0) != worker->process || status)
		die("process %d ended with wait status 0x%x", worker->process, (unsigned int)status);
}

static void slow_prepare(void)
{
	char path[SLOWDEV_PATH_LEN];
	int fd;

	slowdev_create(SLOW_NAME, SLOW_BACKING, path);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		die_errno("cannot open %s", path);
	for (uint32_t i = 0; i < SLOTS_TRIED; i++) {
		char *memory = mmap(NULL, page_bytes(), PROT_READ | PROT_WRITE, MAP_PRIVATE, fd,
				    (off_t)(i * SLOW_STRIDE_PAGES * page_bytes()));

		if (memory == MAP_FAILED || madvise(memory, page_bytes(), MADV_RANDOM))
			die_errno("cannot map %s", path);
		workers[i].memory = memory;
		workers[i].count = 1;
	}
	close(fd);
}

static void slow_start(void)
{
	for (uint32_t i = 0; i < SLOTS_TRIED; i++)
		start(i);
	for (uint32_t i = 0; i < SLOTS_TRIED; i++)
		if (!thread_sleeps_in(workers[i].process, "folio_wait", &workers[i].ended))
			die("worker %u did not get stuck in its registration", i);
}

static void slow_end(void)
{
	slowdev_release(SLOW_NAME);
	for (uint32_t i = 0; i < SLOTS_TRIED; i++) {
		reap(&workers[i]);
		/* A mapping keeps the device in use. */
		munmap(workers[i].memory, page_bytes());
	}
	slowdev_remove(SLOW_NAME);
}

static struct worker *ninth_run(void)
{
	struct worker *ninth = &workers[SLOTS_TRIED];

	/* The second page of all: a hole anywhere else could be filled by what libibverbs maps. */
	ninth->memory = (char *)page_bytes();
	ninth->count = FAILURES;
	start(SLOTS_TRIED);
	reap(ninth);
	return ninth;
}

static void print(const struct worker *ninth, bool expected)
{
	json_open(NULL, '{');
	json_num("waiting", SLOTS_TRIED);
	json_num("pid", ninth->process);
	json_hex("address", (uintptr_t)ninth->memory);
	outcome_json(&ninth->outcome);
	json_bool("as_expected", expected);
	json_close('}');
	json_end_line();
}

static bool all_waiting(void)
{
	for (uint32_t i = 0; i < SLOTS_TRIED; i++)
		if (atomic_load(&workers[i].ended))
			return false;
	return true;
}

static bool all_ok(void)
{
	for (uint32_t i = 0; i < SLOTS_TRIED; i++)
		if (workers[i].outcome.ok != 1)
			return false;
	return true;
}

int main(int argc, char **argv)
{
	bool stay = argc == 2 && !strcmp(argv[1], "--stay"), expected;
	const struct worker *ninth;

	if (argc != 1 && !stay)
		die("usage: overflow [--stay]");
	workers = mmap(NULL, (SLOTS_TRIED + 1) * sizeof(*workers), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		       -1, 0);
	if (workers == MAP_FAILED)
		die_errno("mmap");
	slow_prepare();
	slow_start();
	ninth = ninth_run();
	expected = ninth->outcome.failed == FAILURES && ninth->outcome.last_errno == EFAULT && all_waiting();
	print(ninth, expected);
	if (stay)
		wait_for_word();
	slow_end();
	return expected && all_ok() ? EXIT_AS_EXPECTED : EXIT_UNEXPECTED;
}
