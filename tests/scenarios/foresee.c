// SPDX-License-Identifier: BSD-2-Clause
/*
 * foresee --kind NAME: memory of one kind, some of its pages in an area and held if that is wanted, for somebody else to
 * say whether a registration of it would succeed; and then that registration. Prints what the memory is, with the test
 * module's word on each page that was asked for, as one line of JSON; waits for a line on its input; registers the
 * memory, and prints what came of it as a second line. With --no-register it waits and ends. A kind may do something
 * more at a line of its own before that.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <signal.h>
#include <unistd.h>

#include "common.h"
#include "json.h"
#include "memory.h"
#include "oracle.h"
#include "verbs.h"

#define POOL_FILE "/proc/sys/vm/nr_hugepages"
#define POOL_PAGES 16		/* and as many to move to */
#define POOL_PAGES_MANY 320	/* so many that the areas of the guests have no room for all of them */
#define SHARED_BYTES (256ul << 20)
#ifndef MADV_GUARD_INSTALL
#define MADV_GUARD_INSTALL 102	/* include/uapi/asm-generic/mman-common.h, v6.13 */
#endif

struct options {
	const struct kind *kind;
	struct shape shape;
	enum area area;
	const char *hold, *dir;
	uint32_t flags;		/* PINHOLD_* */
	bool holds, no_register;
};

static struct region region;
static struct positions positions;

struct kind {
	const char *name;
	bool (*make)(const struct options *o);	/* fills region and positions; false: this guest has none */
	bool there;	/* its pages may be asked about; of the others the question would bring them */
	void (*late)(void);	/* after a first word, and it is told when it is done */
};

static void place_at(char *map, size_t length)
{
	region.map = map;
	region.map_length = length;
	region.address = region.first_page = (uintptr_t)map;
	region.length = length;
	region.pages = (uint32_t)(length / page_bytes());
}

static char *must_map(size_t length, int prot, int flags, int fd, off_t offset)
{
	char *map = mmap(NULL, length, prot, flags, fd, offset);

	if (map == MAP_FAILED)
		die_errno("cannot map %zu bytes", length);
	return map;
}

static bool in_place(const struct options *o)
{
	for (uint32_t i = 0; i < positions.count; i++) {
		struct pinhold_resolve page = oracle_ask(region_page(&region, positions.index[i]));

		if (!oracle_in_area(&page, o->area))
			return false;
	}
	return true;
}

static bool anonymous(const struct options *o)
{
	return region_find(&region, &o->shape, o->hold, o->area, &positions);
}

static bool huge(const struct options *o)
{
	struct options thp = *o;

	thp.shape.huge = true;
	return anonymous(&thp);
}

/* Windows of a large file in memory, until one lies where it should; in no area: it is moved there. */
static bool shmem(const struct options *o)
{
	int fd = memfd_create("foresee", MFD_CLOEXEC);

	if (fd < 0 || ftruncate(fd, (off_t)SHARED_BYTES))
		die_errno("memfd");
	for (size_t at = 0; at + o->shape.length <= SHARED_BYTES; at += o->shape.length) {
		char *map = must_map(o->shape.length, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)at);

		memset(map, 1, o->shape.length);
		place_at(map, o->shape.length);
		positions_parse(o->hold, region.pages, &positions);
		if (o->area == AREA_NONE && !in_place(o))
			hold_give(hold_take(region.first_page, region.length, PINHOLD_WRITE | PINHOLD_LONGTERM));
		if (in_place(o))
			return true;
		/* It stays where it is in the file, so that the next window lies elsewhere. */
		munmap(map, o->shape.length);
	}
	return false;
}

static void pool_close(void)
{
	write_file(POOL_FILE, "0");
}

static bool hugetlb(const struct options *o)
{
	uint32_t pages = o->area == AREA_NONE ? POOL_PAGES_MANY : POOL_PAGES;
	char pool[16];
	char *map;

	snprintf(pool, sizeof(pool), "%d", o->area == AREA_NONE ? POOL_PAGES_MANY : 2 * POOL_PAGES);
	if (write_file(POOL_FILE, pool))
		return false;
	atexit(pool_close);
	map = mmap(NULL, pages * THP_BYTES, PROT_READ | PROT_WRITE,
		   MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB | MAP_NORESERVE, -1, 0);
	for (uint32_t i = 0; map != MAP_FAILED && i < pages; i++) {
		if (madvise(map + i * THP_BYTES, THP_BYTES, MADV_POPULATE_WRITE))
			return false;
		place_at(map + i * THP_BYTES, THP_BYTES);
		positions_parse(o->hold, region.pages, &positions);
		if (in_place(o))
			return true;
	}
	return false;
}

/* A private file mapping shows the file's pages until it is written to; a shared one always. */
static bool file_of(const struct options *o, int sharing, size_t length)
{
	char path[256];
	volatile char sink;
	char *map;
	int fd;

	snprintf(path, sizeof(path), "%s/foresee", o->dir);
	fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd < 0 || ftruncate(fd, (off_t)length))
		die_errno("%s", path);
	map = must_map(o->shape.length, PROT_READ | PROT_WRITE, sharing, fd, 0);
	for (size_t at = 0; at < length; at += page_bytes())
		sink = map[at];
	(void)sink;
	place_at(map, o->shape.length);
	positions_parse("first", region.pages, &positions);
	return true;
}

static bool file_shared(const struct options *o)
{
	return file_of(o, MAP_SHARED, o->shape.length);
}

static bool file_private(const struct options *o)
{
	return file_of(o, MAP_PRIVATE, o->shape.length);
}

/* Half of it lies behind the end of the file. */
static bool file_short(const struct options *o)
{
	return file_of(o, MAP_PRIVATE, o->shape.length / 2);
}

static bool untouched(const struct options *o)
{
	place_at(must_map(o->shape.length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), o->shape.length);
	positions_parse("first", region.pages, &positions);
	return true;
}

static bool zero(const struct options *o)
{
	volatile char sink;

	untouched(o);
	madvise(region.map, region.map_length, MADV_NOHUGEPAGE);
	for (size_t at = 0; at < region.length; at += page_bytes())
		sink = ((char *)region.map)[at];
	(void)sink;
	return true;
}

static bool read_only(const struct options *o)
{
	if (!anonymous(o))
		return false;
	if (mprotect(region.map, region.map_length, PROT_READ))
		die_errno("mprotect");
	return true;
}

/* A child shares its pages until one of them writes. */
static void share_with_child(void)
{
	pid_t parent = getpid(), child = fork();

	if (child < 0)
		die_errno("fork");
	if (child)
		return;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(EXIT_SETUP);
	for (;;)
		pause();
}

static bool forked(const struct options *o)
{
	if (!anonymous(o))
		return false;
	share_with_child();
	return true;
}

static bool hugetlb_forked(const struct options *o)
{
	if (!hugetlb(o))
		return false;
	share_with_child();
	return true;
}

/*
 * What is advised away waits for that in a batch of this CPU. Any unmapping empties these, so the suite is on another;
 * and who starts may empty those of all CPUs, so it is advised away at a word, when pinwhy has started.
 */
static bool lazy_free(const struct options *o)
{
	cpu_set_t second;

	CPU_ZERO(&second);
	CPU_SET(1, &second);
	return !sched_setaffinity(0, sizeof(second), &second) && anonymous(o);
}

static void lazy_free_late(void)
{
	if (madvise((void *)(uintptr_t)region_page(&region, positions.index[0]), page_bytes(), MADV_FREE))
		die_errno("MADV_FREE");
	json_open(NULL, '{');
	json_bool("advised", true);
	json_close('}');
	json_end_line();
	fflush(stdout);
}

static bool advised(const struct options *o, int advice, const char *name)
{
	if (!anonymous(o))
		return false;
	if (!madvise((void *)(uintptr_t)region_page(&region, region.pages / 2), page_bytes(), advice))
		return true;
	if (errno != EINVAL)
		die_errno("%s", name);
	return false;
}

static bool guarded(const struct options *o)
{
	return advised(o, MADV_GUARD_INSTALL, "MADV_GUARD_INSTALL");
}

static void take_signal(int number)
{
	(void)number;
}

/* The kernel tells the process by a signal that it had better not be killed by. */
static bool poisoned(const struct options *o)
{
	signal(SIGBUS, take_signal);
	return advised(o, MADV_HWPOISON, "MADV_HWPOISON");
}

static void *allow_writes(void *fd)
{
	struct uffd_msg message;

	while (read((int)(intptr_t)fd, &message, sizeof(message)) == sizeof(message)) {
		struct uffdio_writeprotect allow = { .range = { message.arg.pagefault.address & ~(page_bytes() - 1), page_bytes() } };

		if (ioctl((int)(intptr_t)fd, UFFDIO_WRITEPROTECT, &allow))
			die_errno("UFFDIO_WRITEPROTECT");
	}
	return NULL;
}

/* A thread allows the write when it comes. */
static bool write_protected(const struct options *o)
{
	struct uffdio_api api = { .api = UFFD_API, .features = UFFD_FEATURE_PAGEFAULT_FLAG_WP };
	int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
	struct uffdio_writeprotect protect = { .mode = UFFDIO_WRITEPROTECT_MODE_WP };
	struct uffdio_register reg = { .mode = UFFDIO_REGISTER_MODE_WP };
	pthread_t thread;

	if (fd < 0 || ioctl(fd, UFFDIO_API, &api) || !anonymous(o))
		return false;
	reg.range = (struct uffdio_range){ region.address, region.length };
	protect.range = (struct uffdio_range){ region_page(&region, region.pages / 2), page_bytes() };
	if (ioctl(fd, UFFDIO_REGISTER, &reg) || ioctl(fd, UFFDIO_WRITEPROTECT, &protect))
		die_errno("cannot have a page write-protected by userfaultfd");
	if (pthread_create(&thread, NULL, allow_writes, (void *)(intptr_t)fd))
		die("no thread");
	return true;
}

/* --dir names the device. */
static bool device_dax(const struct options *o)
{
	int fd = open(o->dir, O_RDWR | O_CLOEXEC);

	if (fd < 0)
		return false;
	place_at(must_map(o->shape.length, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0), o->shape.length);
	memset(region.map, 1, region.length);
	positions_parse("first", region.pages, &positions);
	return true;
}

static bool hole(const struct options *o)
{
	untouched(o);
	munmap((char *)region.map + region.map_length / 2, page_bytes());
	return true;
}

static const struct kind kinds[] = {
	{ "anonymous", anonymous, true, NULL },
	{ "thp", huge, true, NULL },
	{ "shmem", shmem, true, NULL },
	{ "hugetlb", hugetlb, true, NULL },
	{ "forked", forked, true, NULL },
	{ "read-only", read_only, true, NULL },
	{ "hugetlb-forked", hugetlb_forked, true, NULL },
	{ "lazy-free", lazy_free, true, lazy_free_late },
	{ "guarded", guarded, false, NULL },
	{ "poisoned", poisoned, false, NULL },
	{ "write-protected", write_protected, false, NULL },
	{ "device-dax", device_dax, false, NULL },
	{ "file-shared", file_shared, false, NULL },
	{ "file-private", file_private, false, NULL },
	{ "file-short", file_short, false, NULL },
	{ "untouched", untouched, false, NULL },
	{ "zero", zero, false, NULL },
	{ "hole", hole, false, NULL },
};

static void print_memory(const struct options *o)
{
	json_open(NULL, '{');
	json_str("kind", o->kind->name);
	json_str("area", area_name(o->area));
	json_num("pid", getpid());
	json_hex("address", region.address);
	json_num("length", (int64_t)region.length);
	json_num("held", o->holds ? positions.count : 0);
	json_open("pages", '[');
	for (uint32_t i = 0; o->kind->there && i < positions.count; i++) {
		struct pinhold_resolve page = oracle_ask(region_page(&region, positions.index[i]));

		json_open(NULL, '{');
		json_num("index", positions.index[i]);
		oracle_json("is", &page);
		json_close('}');
	}
	json_close(']');
	json_bool("ready", true);
	json_close('}');
	json_end_line();
	fflush(stdout);
}

static void register_it(void)
{
	struct outcome outcome = { 0 };
	struct rdma rdma;

	rdma_open(&rdma, "rxe0");
	rdma_deregister(rdma_register(&rdma, (void *)(uintptr_t)region.address, region.length, IBV_ACCESS_LOCAL_WRITE, &outcome));
	json_open(NULL, '{');
	outcome_json(&outcome);
	json_close('}');
	json_end_line();
	rdma_close(&rdma);
}

static const struct kind *kind_parse(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		if (!strcmp(kinds[i].name, name))
			return &kinds[i];
	die("no kind is called '%s'", name);
}

static void pin_parse(struct options *o, const char *name)
{
	static const struct {
		const char *name;
		uint32_t flags;
		bool holds;
	} pins[] = {
		{ "none", 0, false }, { "pin", PINHOLD_WRITE, true }, { "reference", PINHOLD_WRITE | PINHOLD_GET, true },
		{ "longterm", PINHOLD_WRITE | PINHOLD_LONGTERM, true },
	};

	for (size_t i = 0; i < ARRAY_SIZE(pins); i++) {
		if (strcmp(pins[i].name, name))
			continue;
		o->flags = pins[i].flags;
		o->holds = pins[i].holds;
		return;
	}
	die("no pin is called '%s'", name);
}

static void options_parse(struct options *o, int argc, char **argv)
{
	static const struct option options[] = {
		{ "kind", required_argument, NULL, 'k' }, { "size", required_argument, NULL, 's' },
		{ "area", required_argument, NULL, 'a' }, { "hold", required_argument, NULL, 'h' },
		{ "pin", required_argument, NULL, 'p' },  { "dir", required_argument, NULL, 'd' },
		{ "no-register", no_argument, NULL, 'n' }, { NULL, 0, NULL, 0 },
	};
	int c;

	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (c) {
		case 'k': o->kind = kind_parse(optarg); break;
		case 's': o->shape.length = parse_bytes(optarg); break;
		case 'a': o->area = area_parse(optarg); break;
		case 'h': o->hold = optarg; break;
		case 'p': pin_parse(o, optarg); break;
		case 'd': o->dir = optarg; break;
		case 'n': o->no_register = true; break;
		default: o->kind = NULL; optind = argc; break;
		}
	}
	if (!o->kind)
		die("usage: foresee --kind NAME [--size N] [--area cma|movable|none] [--hold POSITIONS] "
		    "[--pin none|pin|reference|longterm] [--dir PATH] [--no-register]");
}

int main(int argc, char **argv)
{
	struct options options = { .shape = { .length = 65536 }, .hold = "first", .dir = "/tmp" };

	options_parse(&options, argc, argv);
	oracle_open();
	if (!options.kind->make(&options)) {
		fprintf(stderr, "foresee: no such memory was to be had\n");
		return EXIT_SKIP;
	}
	for (uint32_t i = 0; options.holds && i < positions.count; i++)
		hold_take(region_page(&region, positions.index[i]), page_bytes(), options.flags);
	print_memory(&options);
	if (options.kind->late && wait_for_word())
		options.kind->late();
	if (wait_for_word() && !options.no_register)
		register_it();
	return 0;
}
