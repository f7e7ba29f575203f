// SPDX-License-Identifier: BSD-2-Clause
/*
 * storm --how blocked|unmapped|mixed|slow: many registrations, fast or at the same time, with an exact
 * count of how they ended as one line of JSON.
 *   blocked   each thread fails --count times on a page that a first pin holds (--area says where)
 *   unmapped  each thread fails --count times on a range with a hole, --pause milliseconds apart
 *   mixed     one fails so and the next one succeeds, in turns, until stdin ends
 *   slow      all are inside their one registration at the same time, waiting for a page; a first
 *             line says so, a line on stdin lets them go; --fail makes them all fail then. Here
 *             they are processes: before 6.12 a fault inside a pin keeps the memory map locked, and
 *             a second thread would not get in
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common.h"
#include "firstpin.h"
#include "json.h"
#include "memory.h"
#include "slowdev.h"
#include "threads.h"
#include "verbs.h"

#define THREADS_MAX 128
#define SLOW_NAME "storm"
#define SLOW_BACKING "/dev/nullb0"
/* Far enough apart that reading one page never brings the next thread's. */
#define SLOW_STRIDE_PAGES 1024ul

struct options {
	const struct how *how;
	unsigned long threads, count, pause_ms;
	enum area area;
	bool fails;
};

struct worker {
	pthread_t thread;
	pid_t process;
	const struct rdma *rdma;
	char *memory;
	size_t length;
	unsigned long count, pause_ms;
	struct outcome outcome;
	bool mixed;
	_Atomic pid_t tid;
	_Atomic bool ended;
};

struct how {
	const char *name;
	void (*prepare)(const struct options *options);
	void (*start)(struct worker *worker);
	void (*join)(struct worker *worker);
	void (*middle)(const struct options *options);	/* while the threads run */
	void (*end)(void);
	int err;	/* each registration must end so */
};

static struct worker *workers;	/* THREADS_MAX of them, shared with child processes */
static struct region region;
static struct positions held;
static const char *device = "rxe0";
static _Atomic bool over;	/* of those that go on until they are told */

static void blocked_prepare(const struct options *options)
{
	struct shape shape = { .length = options->threads * page_bytes() };

	if (!region_find(&region, &shape, "all", options->area, &held))
		die("no memory in area %s was to be had", area_name(options->area));
	first_pin_plain.take(&region, &held, 1);
	for (unsigned long i = 0; i < options->threads; i++) {
		workers[i].memory = (char *)(uintptr_t)region_page(&region, (uint32_t)i);
		workers[i].length = page_bytes();
	}
}

static void blocked_end(void)
{
	first_pin_plain.give();
}

static char *pages_new(unsigned long pages)
{
	char *memory = mmap(NULL, pages * page_bytes(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED)
		die_errno("mmap");
	return memory;
}

static void punch(char *page)
{
	if (munmap(page, page_bytes()))
		die_errno("munmap");
}

static void unmapped_prepare(const struct options *options)
{
	for (unsigned long i = 0; i < options->threads; i++) {
		workers[i].memory = pages_new(2);
		workers[i].length = 2 * page_bytes();
		punch(workers[i].memory + page_bytes());
	}
}

static void mixed_prepare(const struct options *options)
{
	unmapped_prepare(options);
	for (unsigned long i = 0; i < options->threads; i++)
		workers[i].mixed = true;
}

static void mixed_middle(const struct options *options)
{
	(void)options;
	wait_for_word();
	atomic_store(&over, true);
}

/* Two pages: one that does not come, and one that is there or, when all shall fail, is not. */
static void slow_prepare(const struct options *options)
{
	char path[SLOWDEV_PATH_LEN];
	int fd;

	slowdev_create(SLOW_NAME, SLOW_BACKING, path);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		die_errno("cannot open %s", path);
	for (unsigned long i = 0; i < options->threads; i++) {
		char *memory = pages_new(2);

		if (mmap(memory, page_bytes(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED, fd,
			 (off_t)(i * SLOW_STRIDE_PAGES * page_bytes())) != memory ||
		    madvise(memory, page_bytes(), MADV_RANDOM))
			die_errno("cannot map %s", path);
		if (options->fails)
			punch(memory + page_bytes());
		workers[i].memory = memory;
		workers[i].length = 2 * page_bytes();
	}
	close(fd);
}

static bool has_tid(void *ctx)
{
	return atomic_load(&((struct worker *)ctx)->tid) != 0;
}

static void slow_middle(const struct options *options)
{
	for (unsigned long i = 0; i < options->threads; i++)
		if (!poll_until(has_tid, &workers[i], 10000) ||
		    !thread_sleeps_in(atomic_load(&workers[i].tid), "folio_wait", &workers[i].ended))
			die("worker %lu did not get stuck in its registration", i);
	json_open(NULL, '{');
	json_str("state", "inside");
	json_num("threads", (int64_t)options->threads);
	json_close('}');
	json_end_line();
	if (!wait_for_word())
		die("stdin ended before the word to go on came");
	slowdev_release(SLOW_NAME);
}

static void slow_end(void)
{
	for (unsigned long i = 0; i < THREADS_MAX; i++)
		if (workers[i].memory)
			munmap(workers[i].memory, page_bytes());
	slowdev_remove(SLOW_NAME);
}

static void no_middle(const struct options *options)
{
	(void)options;
}

static void no_end(void)
{
}

static void *work(void *arg)
{
	struct worker *worker = arg;

	atomic_store(&worker->tid, gettid());
	for (unsigned long i = 0; (worker->mixed || i < worker->count) && !atomic_load(&over); i++) {
		size_t length = worker->mixed && i % 2 ? page_bytes() : worker->length;

		rdma_deregister(rdma_register(worker->rdma, worker->memory, length, IBV_ACCESS_LOCAL_WRITE, &worker->outcome));
		usleep((useconds_t)worker->pause_ms * 1000);
	}
	atomic_store(&worker->ended, true);
	return NULL;
}

static void thread_start(struct worker *worker)
{
	if (pthread_create(&worker->thread, NULL, work, worker))
		die("cannot start a thread");
}

static void thread_join(struct worker *worker)
{
	pthread_join(worker->thread, NULL);
}

static void process_start(struct worker *worker)
{
	struct rdma rdma;
	pid_t process = fork();

	if (process < 0)
		die_errno("fork");
	if (process) {
		worker->process = process;
		return;
	}
	rdma_open(&rdma, device);
	worker->rdma = &rdma;
	work(worker);
	_exit(0);
}

static void process_join(struct worker *worker)
{
	int status;

	if (waitpid(worker->process, &status, 0) != worker->process || status)
		die("a child process ended with wait status 0x%x", (unsigned int)status);
}

static const struct how hows[] = {
	{ "blocked", blocked_prepare, thread_start, thread_join, no_middle, blocked_end, ENOMEM },
	{ "unmapped", unmapped_prepare, thread_start, thread_join, no_middle, no_end, EFAULT },
	{ "mixed", mixed_prepare, thread_start, thread_join, mixed_middle, no_end, EFAULT },
	{ "slow", slow_prepare, process_start, process_join, slow_middle, slow_end, 0 },
};

static void run(const struct options *options, const struct rdma *rdma)
{
	options->how->prepare(options);
	for (unsigned long i = 0; i < options->threads; i++) {
		workers[i].rdma = rdma;
		workers[i].count = options->count;
		workers[i].pause_ms = options->pause_ms;
		options->how->start(&workers[i]);
	}
	options->how->middle(options);
	for (unsigned long i = 0; i < options->threads; i++)
		options->how->join(&workers[i]);
	options->how->end();
}

/* Did one in two fail, to the unit? */
static bool mixed_well(const struct outcome *outcome)
{
	return outcome->failed == (outcome->tried + 1) / 2 && outcome->ok == outcome->tried / 2;
}

static bool judge(const struct options *options, struct outcome *ret_sum)
{
	int wanted = options->how->err ? options->how->err : (options->fails ? EFAULT : 0);
	bool expected = true, mixed = true;

	for (unsigned long i = 0; i < options->threads; i++) {
		const struct outcome *outcome = &workers[i].outcome;

		ret_sum->tried += outcome->tried;
		ret_sum->ok += outcome->ok;
		ret_sum->failed += outcome->failed;
		ret_sum->last_errno = outcome->last_errno;
		expected = expected && outcome->last_errno == wanted;
		mixed = mixed && mixed_well(outcome);
	}
	if (workers[0].mixed)
		return mixed;
	return expected && (wanted ? ret_sum->failed : ret_sum->ok) == options->threads * options->count;
}

static void print(const struct options *options, const struct outcome *sum, bool expected)
{
	json_open(NULL, '{');
	json_str("how", options->how->name);
	json_num("pid", getpid());
	json_num("threads", (int64_t)options->threads);
	outcome_json(sum);
	json_bool("as_expected", expected);
	json_close('}');
	json_end_line();
}

static const struct how *how_parse(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(hows); i++)
		if (!strcmp(hows[i].name, name))
			return &hows[i];
	die("no way is called '%s'", name);
}

static const struct option long_options[] = {
	{ "how", required_argument, NULL, 'h' },   { "threads", required_argument, NULL, 't' },
	{ "count", required_argument, NULL, 'c' }, { "area", required_argument, NULL, 'a' },
	{ "pause", required_argument, NULL, 'p' }, { "fail", no_argument, NULL, 'f' },
	{ "device", required_argument, NULL, 'd' },
	{ NULL, 0, NULL, 0 },
};

static void option_set(struct options *options, int option)
{
	switch (option) {
	case 'h': options->how = how_parse(optarg); break;
	case 't': options->threads = parse_bytes(optarg); break;
	case 'c': options->count = parse_bytes(optarg); break;
	case 'a': options->area = area_parse(optarg); break;
	case 'p': options->pause_ms = parse_bytes(optarg); break;
	case 'f': options->fails = true; break;
	case 'd': device = optarg; break;
	default: die("usage: storm --how blocked|unmapped|mixed|slow [--device NAME] [--threads N] [--count N] [--area AREA] [--pause MS] [--fail]");
	}
}

int main(int argc, char **argv)
{
	struct options options = { .threads = 1, .count = 1 };
	struct outcome sum = { 0 };
	struct rdma rdma;
	int option;
	bool expected;

	while ((option = getopt_long(argc, argv, "", long_options, NULL)) != -1)
		option_set(&options, option);
	if (!options.how || !options.threads || options.threads > THREADS_MAX)
		option_set(&options, '?');
	workers = mmap(NULL, THREADS_MAX * sizeof(*workers), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (workers == MAP_FAILED)
		die_errno("mmap");
	if (options.how->prepare == blocked_prepare)
		oracle_open();
	rdma_open(&rdma, device);
	run(&options, &rdma);
	expected = judge(&options, &sum);
	print(&options, &sum, expected);
	rdma_close(&rdma);
	return expected ? EXIT_AS_EXPECTED : EXIT_UNEXPECTED;
}
