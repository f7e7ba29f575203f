// SPDX-License-Identifier: BSD-2-Clause
/*
 * stuckreg --how uffd|slow [--end ok|fail]: a registration that stays in flight because a page
 * fault inside its pin does not end. Prints one line of JSON once the thread is inside, goes on
 * when a line comes on stdin, and prints the outcome as a second line.
 *   uffd  the missing page is a userfaultfd's to bring (refused by the kernel before 6.12)
 *   slow  the missing page is read from a block device that does not answer
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common.h"
#include "json.h"
#include "slowdev.h"
#include "threads.h"
#include "verbs.h"

#define SLOW_NAME "stuckreg"
#define SLOW_BACKING "/dev/nullb0"

struct how {
	const char *name;
	const char *sleeps_in;	/* the kernel function that waits for the page */
	void (*prepare)(char *page);
	void (*release)(char *page);
	void (*end)(char *page);
};

struct job {
	const struct rdma *rdma;
	char *memory;
	size_t length;
	struct outcome outcome;
	_Atomic pid_t tid;
	_Atomic bool ended;
};

struct options {
	const struct how *how;
	unsigned long pages, at;
	bool fails;
};

static int uffd = -1;

static void uffd_prepare(char *page)
{
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register reg = {
		.range = { (uintptr_t)page, page_bytes() },
		.mode = UFFDIO_REGISTER_MODE_MISSING,
	};

	uffd = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
	if (uffd < 0 || ioctl(uffd, UFFDIO_API, &api))
		die_errno("userfaultfd");
	/* Emptied first: what is present would not fault. */
	if (madvise(page, page_bytes(), MADV_DONTNEED) || ioctl(uffd, UFFDIO_REGISTER, &reg))
		die_errno("cannot hand a page to userfaultfd");
}

static void uffd_release(char *page)
{
	struct uffdio_zeropage zero = { .range = { (uintptr_t)page, page_bytes() } };

	if (ioctl(uffd, UFFDIO_ZEROPAGE, &zero))
		die_errno("UFFDIO_ZEROPAGE");
}

static void uffd_end(char *page)
{
	(void)page;
	close(uffd);
}

static void slow_prepare(char *page)
{
	char path[SLOWDEV_PATH_LEN];
	int fd;

	slowdev_create(SLOW_NAME, SLOW_BACKING, path);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || mmap(page, page_bytes(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED, fd, 0) != page)
		die_errno("cannot map %s", path);
	if (madvise(page, page_bytes(), MADV_RANDOM))
		die_errno("madvise against read-ahead");
	close(fd);
}

static void slow_release(char *page)
{
	(void)page;
	slowdev_release(SLOW_NAME);
}

/* A mapping keeps the device in use. */
static void slow_end(char *page)
{
	munmap(page, page_bytes());
	slowdev_remove(SLOW_NAME);
}

static const struct how hows[] = {
	{ "uffd", "handle_userfault", uffd_prepare, uffd_release, uffd_end },
	{ "slow", "folio_wait", slow_prepare, slow_release, slow_end },
};

static void *register_memory(void *arg)
{
	struct job *job = arg;

	atomic_store(&job->tid, gettid());
	rdma_deregister(rdma_register(job->rdma, job->memory, job->length, IBV_ACCESS_LOCAL_WRITE, &job->outcome));
	atomic_store(&job->ended, true);
	return NULL;
}

static bool has_tid(void *ctx)
{
	return atomic_load(&((struct job *)ctx)->tid) != 0;
}

static void print(const struct options *options, const struct job *job, const char *state)
{
	json_open(NULL, '{');
	json_str("state", state);
	json_str("how", options->how->name);
	json_num("pid", getpid());
	json_num("tid", atomic_load(&job->tid));
	json_hex("address", (uintptr_t)job->memory);
	json_num("length", (int64_t)job->length);
	json_num("slow_index", (int64_t)options->at);
	json_hex("slow_address", (uintptr_t)job->memory + options->at * page_bytes());
	outcome_json(&job->outcome);
	json_close('}');
	json_end_line();
}

static char *memory_new(const struct options *options)
{
	size_t length = options->pages * page_bytes();
	char *memory = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED || !keep_small(memory, length))
		die_errno("cannot map %zu bytes", length);
	memset(memory, 1, length);
	/* Reached only once the slow page has come: the failure at the end. */
	if (options->fails && munmap(memory + (options->at + 1) * page_bytes(), page_bytes()))
		die_errno("munmap");
	return memory;
}

/* Kernels before 6.12 refuse a fault that userfaultfd would have to serve, at once. */
static void not_stuck(const struct options *options, const struct job *job)
{
	if (uffd < 0 || !atomic_load(&job->ended) || job->outcome.last_errno != EFAULT)
		die("the registration did not get stuck in %s", options->how->sleeps_in);
	print(options, job, "refused");
	exit(EXIT_SKIP);
}

static void play(const struct options *options, struct job *job)
{
	char *slow = job->memory + options->at * page_bytes();
	pthread_t thread;

	options->how->prepare(slow);
	if (pthread_create(&thread, NULL, register_memory, job) || !poll_until(has_tid, job, 10000))
		die("cannot start a thread");
	if (!thread_sleeps_in(atomic_load(&job->tid), options->how->sleeps_in, &job->ended))
		not_stuck(options, job);
	print(options, job, "inside");
	if (!wait_for_word())
		die("stdin ended before the word to go on came");
	options->how->release(slow);
	pthread_join(thread, NULL);
	options->how->end(slow);
	print(options, job, "ended");
}

static const struct how *how_parse(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(hows); i++)
		if (!strcmp(hows[i].name, name))
			return &hows[i];
	die("no way is called '%s'", name);
}

static const struct option long_options[] = {
	{ "how", required_argument, NULL, 'h' }, { "end", required_argument, NULL, 'e' },
	{ "pages", required_argument, NULL, 'p' }, { "at", required_argument, NULL, 'a' }, { NULL, 0, NULL, 0 },
};

static void option_set(struct options *options, int option)
{
	switch (option) {
	case 'h': options->how = how_parse(optarg); break;
	case 'e': options->fails = !strcmp(optarg, "fail"); break;
	case 'p': options->pages = parse_bytes(optarg); break;
	case 'a': options->at = parse_bytes(optarg); break;
	default: die("usage: stuckreg --how uffd|slow [--end ok|fail] [--pages N] [--at PAGE]");
	}
}

int main(int argc, char **argv)
{
	struct options options = { .pages = 64, .at = 32 };
	struct job job = { 0 };
	struct rdma rdma;
	int option;
	bool expected;

	while ((option = getopt_long(argc, argv, "", long_options, NULL)) != -1)
		option_set(&options, option);
	if (!options.how || options.at + 1 >= options.pages)
		option_set(&options, '?');
	rdma_open(&rdma, "rxe0");
	job.rdma = &rdma;
	job.length = options.pages * page_bytes();
	job.memory = memory_new(&options);
	play(&options, &job);
	expected = job.outcome.last_errno == (options.fails ? EFAULT : 0);
	rdma_close(&rdma);
	return expected ? EXIT_AS_EXPECTED : EXIT_UNEXPECTED;
}
