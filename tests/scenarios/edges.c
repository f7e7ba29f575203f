// SPDX-License-Identifier: BSD-2-Clause
/*
 * edges --case NAME --area AREA: a registration that fails on one held page, in memory of a shape
 * that makes the page's address or its counts easy to get wrong. Prints as one line of JSON the
 * outcome and, by the test module, which page blocked it. Exits 0 only when the kernel refused the
 * registration, left the page where it was, and granted the same registration once the page was
 * given back; EXIT_SKIP when no such page came to lie in the area.
 */
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "common.h"
#include "json.h"
#include "memory.h"
#include "oracle.h"
#include "verbs.h"

/* What a pin of a small folio adds to its reference count: the kernel's GUP_PIN_COUNTING_BIAS. */
#define PIN_BIAS 1024

#define DEVICE "rxe0"
#define RANGE_PAGES 16		/* where the shape needs no other number */
#define DROPPED_PAGES 10	/* of a huge page, from its start */
#define VMA_PAGES 4
#define VMAS 6			/* more than a report describes */
#define SHARED_BYTES (256ul << 20)
#define POOL_PAGES 16		/* hugetlb pages mapped; as many again are there to migrate to */
#define POOL_FILE "/proc/sys/vm/nr_hugepages"

struct scene {
	char *start;	/* of the range to register */
	uint32_t pages;
	uint32_t held;	/* index of the page that the first reference is taken on */
};

struct edge {
	const char *name;
	bool (*set)(struct scene *ret_scene, enum area area);	/* false: no such page lies in the area */
	uint32_t hold;		/* PINHOLD_* */
	uint32_t mapcount;	/* the held folio must have; 0: how kernels count this one differs */
};

struct folio {	/* the held one */
	struct pinhold_resolve before, after;
	uint32_t first_index;	/* its first page that is mapped in the range */
};

struct result {
	struct folio folio;
	struct outcome held, given_back;
};

struct options {
	const struct edge *edge;
	enum area area;
	bool stay;	/* until stdin ends: facts about a process go with it */
};

static char *page_at(char *start, size_t index)
{
	return start + index * page_bytes();
}

static void touch(char *start, size_t pages)
{
	for (size_t i = 0; i < pages; i++)
		*(volatile char *)page_at(start, i) = 1;
}

static struct pinhold_resolve ask(char *page)
{
	return oracle_ask((uintptr_t)page);
}

static bool lies_in(char *page, enum area area)
{
	struct pinhold_resolve answer = ask(page);

	return oracle_in_area(&answer, area);
}

static bool anonymous_set(struct scene *ret_scene, const struct shape *shape, const char *positions, enum area area)
{
	struct positions found;
	struct region region;

	if (!region_find(&region, shape, positions, area, &found))
		return false;
	ret_scene->start = (char *)(uintptr_t)region.first_page;
	ret_scene->pages = region.pages;
	ret_scene->held = found.index[0];
	return true;
}

/*
 * The pages at the start of the range are small ones: whoever takes the folio's first page for the
 * range's first names a page that has moved without trouble.
 */
static bool partial_set(struct scene *ret_scene, enum area area)
{
	const struct shape shape = { .length = THP_BYTES, .huge = true };

	if (!anonymous_set(ret_scene, &shape, "300", area))
		return false;
	if (madvise(ret_scene->start, DROPPED_PAGES * page_bytes(), MADV_DONTNEED))
		die_errno("madvise");
	touch(ret_scene->start, DROPPED_PAGES);
	return true;
}

/* Neighbours that differ in a flag are not merged into one VMA. */
static void apart(char *start, uint32_t n)
{
	if (madvise(start, VMA_PAGES * page_bytes(), n % 2 ? MADV_DONTDUMP : MADV_DONTFORK))
		die_errno("madvise");
}

/*
 * The first VMA moves to the end of the range and keeps its page offsets; a new one takes its place
 * and has the same offsets. The offset of the held page fits both, and the VMA that it is in lies
 * behind those that a report describes.
 */
static bool mremap_set(struct scene *ret_scene, enum area area)
{
	const struct shape shape = { .length = VMAS * VMA_PAGES * page_bytes() };
	size_t vma_bytes = VMA_PAGES * page_bytes(), before_last = (VMAS - 1) * vma_bytes;
	char *start;

	if (!anonymous_set(ret_scene, &shape, "2", area))
		return false;
	start = ret_scene->start;
	if (mremap(start, vma_bytes, vma_bytes, MREMAP_MAYMOVE | MREMAP_FIXED, start + before_last) == MAP_FAILED)
		die_errno("mremap");
	for (uint32_t i = 0; i < VMAS - 1; i++) {
		char *vma = start + i * vma_bytes;

		if (mmap(vma, vma_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != vma)
			die_errno("mmap");
		apart(vma, i);
		touch(vma, VMA_PAGES);
	}
	ret_scene->held += (VMAS - 1) * VMA_PAGES;
	return true;
}

/* A range in shared memory whose middle page lies in the area. Sets where it is in the file. */
static bool shared_set(struct scene *ret_scene, int fd, off_t *ret_offset, enum area area)
{
	size_t pages = SHARED_BYTES / page_bytes();
	char *map = mmap(NULL, SHARED_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (map == MAP_FAILED)
		die_errno("cannot map %lu bytes of shared memory", SHARED_BYTES);
	for (size_t i = 0; i + RANGE_PAGES <= pages; i++) {
		touch(page_at(map, i), RANGE_PAGES);
		if (!lies_in(page_at(map, i + RANGE_PAGES / 2), area))
			continue;
		*ret_scene = (struct scene){ page_at(map, i), RANGE_PAGES, RANGE_PAGES / 2 };
		*ret_offset = (off_t)(i * page_bytes());
		return true;
	}
	return false;
}

static int shared_open(void)
{
	int fd = memfd_create("edges", MFD_CLOEXEC);

	if (fd < 0 || ftruncate(fd, (off_t)SHARED_BYTES))
		die_errno("memfd");
	return fd;
}

/* Mapped a second time, and registered there. */
static bool shmem_set(struct scene *ret_scene, enum area area)
{
	int fd = shared_open();
	off_t offset;

	if (!shared_set(ret_scene, fd, &offset, area))
		return false;
	ret_scene->start = mmap(NULL, RANGE_PAGES * page_bytes(), PROT_READ | PROT_WRITE, MAP_SHARED, fd, offset);
	if (ret_scene->start == MAP_FAILED)
		die_errno("mmap");
	touch(ret_scene->start, RANGE_PAGES);
	close(fd);
	return true;
}

static void child_run(const struct scene *scene, int told)
{
	/* It must not outlive this program, whatever way that ends. */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	touch(scene->start, scene->pages);
	if (write(told, "", 1) != 1)
		_exit(EXIT_SETUP);
	for (;;)
		pause();
}

/*
 * Mapped by a child as well. Shared memory, since of anonymous memory a pin for writing would get
 * a copy of its own, and the held page would not be in its way.
 */
static bool fork_set(struct scene *ret_scene, enum area area)
{
	int fd = shared_open(), told[2];
	off_t offset;
	pid_t child;
	char byte;

	if (!shared_set(ret_scene, fd, &offset, area))
		return false;
	close(fd);
	if (pipe(told))
		die_errno("pipe");
	child = fork();
	if (child < 0)
		die_errno("fork");
	if (!child)
		child_run(ret_scene, told[1]);
	close(told[1]);
	if (read(told[0], &byte, 1) != 1)
		die("the child did not touch the pages");
	close(told[0]);
	return true;
}

static void pool_close(void)
{
	write_file(POOL_FILE, "0");
}

/* With the huge page before it where there is one, so that the held folio is not the range's first. */
static bool hugetlb_set(struct scene *ret_scene, enum area area)
{
	uint32_t folio_pages = (uint32_t)(THP_BYTES / page_bytes());
	char pool[16];
	char *map;

	snprintf(pool, sizeof(pool), "%d", 2 * POOL_PAGES);
	if (write_file(POOL_FILE, pool))
		return false;
	atexit(pool_close);
	/* Unreserved: a reservation would keep the other half from the migration, too. */
	map = mmap(NULL, POOL_PAGES * THP_BYTES, PROT_READ | PROT_WRITE,
		   MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB | MAP_NORESERVE, -1, 0);
	if (map == MAP_FAILED)
		return false;
	for (uint32_t i = 0; i < POOL_PAGES; i++) {
		uint32_t before = i ? 1 : 0;

		/* What is not there raises SIGBUS, so it is not touched but asked for. */
		if (madvise(map + i * THP_BYTES, THP_BYTES, MADV_POPULATE_WRITE))
			return false;
		if (!lies_in(map + i * THP_BYTES, area))
			continue;
		*ret_scene = (struct scene){ map + (i - before) * THP_BYTES, (before + 1) * folio_pages,
					     before * folio_pages + 7 };
		return true;
	}
	return false;
}

static bool mlocked_set(struct scene *ret_scene, enum area area)
{
	const struct shape shape = { .length = RANGE_PAGES * page_bytes() };

	if (!anonymous_set(ret_scene, &shape, "5", area))
		return false;
	if (mlock(ret_scene->start, ret_scene->pages * page_bytes()))
		die_errno("mlock");
	return true;
}

static const struct edge edges[] = {
	{ "partial", partial_set, PINHOLD_WRITE, 0 },
	{ "mremap", mremap_set, PINHOLD_WRITE | PINHOLD_GET, 1 },
	{ "shmem-pin", shmem_set, PINHOLD_WRITE, 2 },
	{ "shmem-reference", shmem_set, PINHOLD_WRITE | PINHOLD_GET, 2 },
	{ "hugetlb", hugetlb_set, PINHOLD_WRITE | PINHOLD_GET, 1 },
	{ "fork", fork_set, PINHOLD_WRITE | PINHOLD_GET, 2 },
	{ "mlocked", mlocked_set, PINHOLD_WRITE | PINHOLD_GET, 1 },
};

static const struct edge *edge_parse(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(edges); i++)
		if (!strcmp(edges[i].name, name))
			return &edges[i];
	die("no case is called '%s'", name);
}

/* Per-CPU batches of the LRU and of mlock hold references of their own, which nobody could expect. */
static void batches_drain(void)
{
	if (write_file("/proc/sys/vm/drop_caches", "1"))
		die("cannot drain the batches of the LRU");
}

static uint32_t first_of_folio(const struct scene *scene, const struct pinhold_resolve *held)
{
	for (uint32_t i = 0; i < scene->held; i++) {
		struct pinhold_resolve page = ask(page_at(scene->start, i));

		if (oracle_head_pfn(&page) == oracle_head_pfn(held))
			return i;
	}
	return scene->held;
}

static void register_range(const struct scene *scene, const struct rdma *rdma, struct outcome *outcome)
{
	rdma_deregister(rdma_register(rdma, scene->start, scene->pages * page_bytes(), IBV_ACCESS_LOCAL_WRITE, outcome));
}

static void play(const struct scene *scene, uint32_t hold, const struct rdma *rdma, struct result *ret_result)
{
	struct folio *folio = &ret_result->folio;
	char *held = page_at(scene->start, scene->held);
	uint32_t id;

	batches_drain();
	folio->before = ask(held);
	folio->first_index = first_of_folio(scene, &folio->before);
	id = hold_take((uintptr_t)held, page_bytes(), hold);
	register_range(scene, rdma, &ret_result->held);
	folio->after = ask(held);
	hold_give(id);
	register_range(scene, rdma, &ret_result->given_back);
}

static bool as_expected(const struct options *options, const struct result *result)
{
	const struct pinhold_resolve *page = &result->folio.before;

	if (!oracle_in_area(page, options->area) || page->pfn != result->folio.after.pfn)
		return false;
	if (options->edge->mapcount && page->mapcount != options->edge->mapcount)
		return false;
	return result->held.last_errno == ENOMEM && result->given_back.ok == 1;
}

static int references(const struct options *options, const struct folio *folio)
{
	return options->edge->hold & PINHOLD_GET || folio->before.order ? 1 : PIN_BIAS;
}

static void print_folio(const struct scene *scene, const struct folio *folio)
{
	json_num("held_index", scene->held);
	json_num("folio_index", folio->first_index);
	json_hex("folio_address", (uintptr_t)page_at(scene->start, folio->first_index));
	oracle_json("before", &folio->before);
	oracle_json("after", &folio->after);
}

static void print(const struct options *options, const struct scene *scene, const struct result *result, bool expected)
{
	json_open(NULL, '{');
	json_str("case", options->edge->name);
	json_num("pid", getpid());
	json_str("comm", program_invocation_short_name);
	json_str("device", DEVICE);
	json_hex("address", (uintptr_t)scene->start);
	json_num("length", (int64_t)(scene->pages * page_bytes()));
	json_str("area", area_name(options->area));
	access_json("access", IBV_ACCESS_LOCAL_WRITE);
	json_bool("pinned", !(options->edge->hold & PINHOLD_GET));
	json_num("references", references(options, &result->folio));
	outcome_json(&result->held);
	json_open("given_back", '{');
	outcome_json(&result->given_back);
	json_close('}');
	print_folio(scene, &result->folio);
	json_bool("as_expected", expected);
	json_close('}');
	json_end_line();
}

static const struct option long_options[] = {
	{ "case", required_argument, NULL, 'c' },
	{ "area", required_argument, NULL, 'a' },
	{ "stay", no_argument, NULL, 's' },
	{ NULL, 0, NULL, 0 },
};

static void option_set(struct options *options, int option)
{
	switch (option) {
	case 'c': options->edge = edge_parse(optarg); break;
	case 'a': options->area = area_parse(optarg); break;
	case 's': options->stay = true; break;
	default: die("usage: edges --case NAME --area cma|movable [--stay]");
	}
}

int main(int argc, char **argv)
{
	struct options options = { .area = AREA_NONE };
	struct result result = { 0 };
	struct scene scene;
	struct rdma rdma;
	int option;
	bool expected;

	while ((option = getopt_long(argc, argv, "", long_options, NULL)) != -1)
		option_set(&options, option);
	if (!options.edge || options.area == AREA_NONE)
		option_set(&options, '?');
	oracle_open();
	rdma_open(&rdma, DEVICE);
	if (!options.edge->set(&scene, options.area)) {
		fprintf(stderr, "no page for %s came to lie in area %s\n", options.edge->name, area_name(options.area));
		return EXIT_SKIP;
	}
	play(&scene, options.edge->hold, &rdma, &result);
	expected = as_expected(&options, &result);
	print(&options, &scene, &result, expected);
	if (options.stay)
		wait_for_word();
	rdma_close(&rdma);
	return expected ? EXIT_AS_EXPECTED : EXIT_UNEXPECTED;
}
