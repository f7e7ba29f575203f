// SPDX-License-Identifier: BSD-2-Clause
#include "decode_kinds.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "common.h"
#include "memory.h"
#include "oracle.h"

#define SOME_PAGES 1024
#define HUGE_FOLIOS 4
#define AREA_PAGES 64
#define NODES_MAX 4
#define GIANT_BYTES (1ul << 30)
#define MM "/sys/kernel/mm/"
#ifndef MAP_HUGE_SHIFT
#define MAP_HUGE_SHIFT 26
#endif

/* --- pieces ---------------------------------------------------------------------- */

/* What a child is not to share is left out of it: only the range that was made last is. */
static struct range *add(struct ranges *r, char *map, size_t bytes)
{
	struct range *range = &r->range[r->n++];

	if (r->n > RANGES_MAX)
		die("more ranges than there is room for");
	*range = (struct range){ .map = map, .pages = bytes / page_bytes() };
	return range;
}

static char *try_map(size_t bytes, int flags, int fd)
{
	char *map = mmap(NULL, bytes, PROT_READ | PROT_WRITE, flags, fd, 0);

	return map == MAP_FAILED ? NULL : map;
}

/* At a border of a huge page, so that it can be one. */
static char *map_aligned(size_t bytes, int flags, int fd)
{
	char *map = mmap(NULL, bytes + THP_BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (map == MAP_FAILED)
		die_errno("cannot reserve %zu bytes", bytes);
	map = (char *)(((uintptr_t)map + THP_BYTES - 1) & ~(THP_BYTES - 1));
	map = mmap(map, bytes, PROT_READ | PROT_WRITE, flags | MAP_FIXED, fd, 0);
	if (map == MAP_FAILED)
		die_errno("cannot map %zu bytes", bytes);
	return map;
}

static void touch(char *map, size_t bytes)
{
	for (size_t at = 0; at < bytes; at += page_bytes())
		map[at] = (char)(1 + at / page_bytes());
}

static void see(const char *map, size_t bytes)
{
	volatile char sink;

	for (size_t at = 0; at < bytes; at += page_bytes())
		sink = map[at];
	(void)sink;
}

static bool none(char why[WHY_LEN], const char *text)
{
	snprintf(why, WHY_LEN, "%s", text);
	return false;
}

/* A child that shares what may be inherited, does `there` to it, and stays. */
static void share_with_child(void (*there)(char *map, size_t bytes), char *map, size_t bytes)
{
	pid_t parent = getpid();
	int ready[2];
	char word;
	pid_t child;

	if (pipe(ready) || (child = fork()) < 0)
		die_errno("cannot have a child");
	if (!child) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() != parent)
			_exit(EXIT_SETUP);
		if (there)
			there(map, bytes);
		if (write(ready[1], "r", 1) != 1)
			_exit(EXIT_SETUP);
		for (;;)
			pause();
	}
	close(ready[1]);
	if (read(ready[0], &word, 1) != 1)
		die("a child did not get ready");
	close(ready[0]);
}

static char *anonymous_pages(struct ranges *r, size_t bytes, int advice)
{
	char *map = map_aligned(bytes, MAP_PRIVATE | MAP_ANONYMOUS, -1);

	madvise(map, bytes, advice);
	touch(map, bytes);
	add(r, map, bytes);
	return map;
}

static bool is_huge(const char *map)
{
	return oracle_ask((uintptr_t)map).order;
}

/* --- small pages ------------------------------------------------------------------- */

static bool anonymous(struct ranges *r, char why[WHY_LEN])
{
	(void)why;
	anonymous_pages(r, SOME_PAGES * page_bytes(), MADV_NOHUGEPAGE);
	return true;
}

static bool anonymous_forked(struct ranges *r, char why[WHY_LEN])
{
	char *map = anonymous_pages(r, SOME_PAGES * page_bytes(), MADV_NOHUGEPAGE);

	(void)why;
	share_with_child(NULL, map, SOME_PAGES * page_bytes());
	return true;
}

/* Some pinned once, some three times, some long, some referred to. */
static bool anonymous_held(struct ranges *r, char why[WHY_LEN])
{
	const size_t part = SOME_PAGES / 4 * page_bytes();
	char *map = anonymous_pages(r, SOME_PAGES * page_bytes(), MADV_NOHUGEPAGE);

	(void)why;
	hold_take((uintptr_t)map, part, PINHOLD_WRITE);
	for (int i = 0; i < 3; i++)
		hold_take((uintptr_t)(map + part), part, PINHOLD_WRITE);
	hold_take((uintptr_t)(map + 2 * part), part, PINHOLD_WRITE | PINHOLD_GET);
	hold_take((uintptr_t)(map + 3 * part), part, PINHOLD_WRITE | PINHOLD_LONGTERM);
	return true;
}

static bool merged(void)
{
	long pages = 0;
	FILE *f = fopen(MM "ksm/pages_sharing", "re");

	if (f && fscanf(f, "%ld", &pages) != 1)
		pages = 0;
	if (f)
		fclose(f);
	return pages >= SOME_PAGES / 2;
}

static bool is_merged(void *unused)
{
	(void)unused;
	return merged();
}

static bool ksm(struct ranges *r, char why[WHY_LEN])
{
	const size_t bytes = SOME_PAGES * page_bytes();
	char *map = map_aligned(bytes, MAP_PRIVATE | MAP_ANONYMOUS, -1);

	madvise(map, bytes, MADV_NOHUGEPAGE);
	memset(map, 7, bytes);
	if (madvise(map, bytes, MADV_MERGEABLE) || write_file(MM "ksm/pages_to_scan", "5000") ||
	    write_file(MM "ksm/sleep_millisecs", "10") || write_file(MM "ksm/run", "1"))
		return none(why, "this kernel merges no pages (KSM)");
	if (!poll_until(is_merged, NULL, 60000))
		die("KSM merged nothing in a minute");
	write_file(MM "ksm/run", "0");
	add(r, map, bytes);
	return true;
}

/* --- transparent huge pages --------------------------------------------------------- */

static char *huge_pages(struct ranges *r, char why[WHY_LEN])
{
	char *map = anonymous_pages(r, HUGE_FOLIOS * THP_BYTES, MADV_HUGEPAGE);

	if (is_huge(map))
		return map;
	none(why, "this kernel gave no transparent huge page");
	return NULL;
}

static bool thp(struct ranges *r, char why[WHY_LEN])
{
	return huge_pages(r, why);
}

static bool thp_held(struct ranges *r, char why[WHY_LEN])
{
	char *map = huge_pages(r, why);

	for (unsigned int i = 0; map && i < HUGE_FOLIOS - 1; i++)
		for (unsigned int n = 0; n <= i; n++)
			hold_take((uintptr_t)(map + i * THP_BYTES + n * 5 * page_bytes()), 3 * page_bytes(),
				  PINHOLD_WRITE | (n ? PINHOLD_GET : 0));
	return map;
}

static bool thp_forked(struct ranges *r, char why[WHY_LEN])
{
	char *map = huge_pages(r, why);

	if (map)
		share_with_child(NULL, map, HUGE_FOLIOS * THP_BYTES);
	return map;
}

/* One page of each that differs in its rights: mapped page by page from then on. */
static void split_mappings(char *map, size_t bytes)
{
	for (size_t at = 0; at < bytes; at += THP_BYTES)
		if (mprotect(map + at + 3 * page_bytes(), page_bytes(), PROT_READ))
			_exit(EXIT_SETUP);
}

static void lose_some(char *map, size_t bytes)
{
	split_mappings(map, bytes);
	for (size_t at = 0; at < bytes; at += THP_BYTES)
		if (munmap(map + at + 16 * page_bytes(), 100 * page_bytes()))
			_exit(EXIT_SETUP);
}

/* As a whole here, and page by page in the child. */
static bool thp_mapped_twice(struct ranges *r, char why[WHY_LEN])
{
	char *map = huge_pages(r, why);

	if (map)
		share_with_child(split_mappings, map, HUGE_FOLIOS * THP_BYTES);
	return map;
}

static bool thp_mapped_partly(struct ranges *r, char why[WHY_LEN])
{
	char *map = huge_pages(r, why);

	if (map)
		share_with_child(lose_some, map, HUGE_FOLIOS * THP_BYTES);
	return map;
}

/* Page by page in the only process that has it. Its tail is what is looked at: the rest differs in rights. */
static bool thp_by_page(struct ranges *r, char why[WHY_LEN])
{
	char *map = huge_pages(r, why);

	if (!map)
		return false;
	split_mappings(map, HUGE_FOLIOS * THP_BYTES);
	r->range[r->n - 1].map = map + 4 * page_bytes();
	r->range[r->n - 1].pages = THP_BYTES / page_bytes() - 4;
	return true;
}

/* Larger than a page, smaller than what one entry of an upper table maps. */
static bool thp_small(struct ranges *r, char why[WHY_LEN])
{
	char path[96];
	char *map;

	snprintf(path, sizeof(path), MM "transparent_hugepage/hugepages-%zukB/enabled", 16 * page_bytes() / 1024);
	if (write_file(path, "always"))
		return none(why, "this kernel has no huge pages of other sizes");
	map = anonymous_pages(r, SOME_PAGES * page_bytes(), MADV_NORMAL);
	write_file(path, "never");
	return is_huge(map) || none(why, "this kernel gave no small huge page");
}

/* --- files in memory ---------------------------------------------------------------- */

static int memory_file(size_t bytes, unsigned int flags)
{
	int fd = memfd_create("decode", MFD_CLOEXEC | flags);

	if (fd >= 0 && ftruncate(fd, (off_t)bytes))
		die_errno("cannot make a file of %zu bytes", bytes);
	return fd;
}

static bool shmem(struct ranges *r, char why[WHY_LEN])
{
	const size_t bytes = SOME_PAGES * page_bytes();
	char *map = try_map(bytes, MAP_SHARED, memory_file(bytes, 0));

	if (!map)
		return none(why, "no file in memory");
	touch(map, bytes);
	hold_take((uintptr_t)map, bytes / 4, PINHOLD_WRITE);
	hold_take((uintptr_t)map + bytes / 4, bytes / 4, PINHOLD_WRITE | PINHOLD_GET);
	add(r, map, bytes);
	return true;
}

static char *huge_shmem(struct ranges *r, char why[WHY_LEN])
{
	const size_t bytes = HUGE_FOLIOS * THP_BYTES;
	char *map;

	if (write_file(MM "transparent_hugepage/shmem_enabled", "advise")) {
		none(why, "this kernel has no huge pages in shmem");
		return NULL;
	}
	map = map_aligned(bytes, MAP_SHARED, memory_file(bytes, 0));
	madvise(map, bytes, MADV_HUGEPAGE);
	touch(map, bytes);
	add(r, map, bytes);
	if (is_huge(map))
		return map;
	none(why, "this kernel gave no huge page in shmem");
	return NULL;
}

static bool shmem_thp(struct ranges *r, char why[WHY_LEN])
{
	char *map = huge_shmem(r, why);

	if (map)
		hold_take((uintptr_t)(map + 7 * page_bytes()), THP_BYTES, PINHOLD_WRITE);
	return map;
}

static bool shmem_thp_mapped_twice(struct ranges *r, char why[WHY_LEN])
{
	char *map = huge_shmem(r, why), *again;

	if (!map)
		return false;
	/* Elsewhere, where no huge page fits: page by page. */
	again = mremap(map, 0, 2 * THP_BYTES, MREMAP_MAYMOVE | MREMAP_FIXED,
		       map_aligned(3 * THP_BYTES, MAP_PRIVATE | MAP_ANONYMOUS, -1) + 5 * page_bytes());
	if (again == MAP_FAILED)
		die_errno("cannot map it again");
	see(again, 2 * THP_BYTES);
	add(r, again, 2 * THP_BYTES);
	return true;
}

/* --- files -------------------------------------------------------------------------- */

static char *file_pages(struct ranges *r, int sharing)
{
	const size_t bytes = SOME_PAGES * page_bytes();
	char *data = malloc(bytes), *map;
	int fd = open("/mnt/ext4/decode", O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	if (fd < 0 || !data)
		die_errno("/mnt/ext4/decode");
	memset(data, 3, bytes);
	if (write(fd, data, bytes) != (ssize_t)bytes || fsync(fd))
		die_errno("cannot write a file");
	free(data);
	map = try_map(bytes, sharing, fd);
	if (!map)
		die_errno("cannot map a file");
	see(map, bytes);
	add(r, map, bytes);
	return map;
}

static bool file(struct ranges *r, char why[WHY_LEN])
{
	(void)why;
	file_pages(r, MAP_PRIVATE);
	return true;
}

/* --- hugetlb ------------------------------------------------------------------------- */

static bool pool(size_t bytes, unsigned int pages)
{
	char path[96], text[16];

	snprintf(path, sizeof(path), MM "hugepages/hugepages-%zukB/nr_hugepages", bytes / 1024);
	snprintf(text, sizeof(text), "%u", pages);
	return !write_file(path, text);
}

/* `all`: with those of the kinds before. */
static char *hugetlb_pages(struct ranges *r, size_t size, unsigned int pages, unsigned int all, char why[WHY_LEN])
{
	int order = __builtin_ctzl(size);
	char *map = pool(size, all) ? try_map(pages * size, MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB | order << MAP_HUGE_SHIFT, -1)
				      : NULL;

	if (!map) {
		none(why, "no such huge page was to be had");
		return NULL;
	}
	for (unsigned int i = 0; i < pages; i++)
		map[i * size] = 1;
	add(r, map, pages * size);
	return map;
}

static bool hugetlb(struct ranges *r, char why[WHY_LEN])
{
	char *map = hugetlb_pages(r, THP_BYTES, HUGE_FOLIOS, HUGE_FOLIOS, why);

	if (!map)
		return false;
	hold_take((uintptr_t)(map + 7 * page_bytes()), THP_BYTES, PINHOLD_WRITE);
	hold_take((uintptr_t)(map + 2 * THP_BYTES), page_bytes(), PINHOLD_WRITE | PINHOLD_GET);
	return true;
}

static bool hugetlb_forked(struct ranges *r, char why[WHY_LEN])
{
	char *map = hugetlb_pages(r, THP_BYTES, HUGE_FOLIOS, 2 * HUGE_FOLIOS, why);

	if (map)
		share_with_child(NULL, map, HUGE_FOLIOS * THP_BYTES);
	return map;
}

static bool hugetlb_shared(struct ranges *r, char why[WHY_LEN])
{
	const size_t bytes = 2 * THP_BYTES;
	int fd = pool(THP_BYTES, 3 * HUGE_FOLIOS) ? memory_file(bytes, MFD_HUGETLB) : -1;
	char *map = fd < 0 ? NULL : try_map(bytes, MAP_SHARED, fd), *again;

	if (!map)
		return none(why, "no such huge page was to be had");
	map[0] = map[THP_BYTES] = 1;
	again = try_map(bytes, MAP_SHARED, fd);
	if (!again)
		die_errno("cannot map it again");
	again[0] = again[THP_BYTES] = 1;
	hold_take((uintptr_t)(again + THP_BYTES), 3 * page_bytes(), PINHOLD_WRITE);
	add(r, map, bytes);
	return true;
}

/* The first pages, some in the middle, and the last ones. */
static bool hugetlb_giant(struct ranges *r, char why[WHY_LEN])
{
	const size_t part = SOME_PAGES * page_bytes();
	char *map = hugetlb_pages(r, GIANT_BYTES, 1, 1, why);

	if (!map)
		return false;
	madvise(map, GIANT_BYTES, MADV_DONTFORK);
	hold_take((uintptr_t)(map + 1234567), 17 * page_bytes(), PINHOLD_WRITE);
	r->range[r->n - 1].pages = SOME_PAGES;
	add(r, map + GIANT_BYTES / 2 + 5 * page_bytes(), part);
	add(r, map + GIANT_BYTES - part, part);
	return true;
}

/* --- blocks of a zone and a type ------------------------------------------------------- */

static bool blocks_of(struct ranges *r, uint32_t whole, char why[WHY_LEN])
{
	int fd = open(PINHOLD_DEVICE, O_RDWR | O_CLOEXEC);
	uint32_t made = 0;

	for (uint32_t i = 0; i < NODES_MAX * PINHOLD_ZONE_MAX * PINHOLD_TYPE_MAX; i++) {
		struct pinhold_block ask = {
			.type = i % PINHOLD_TYPE_MAX, .zone = i / PINHOLD_TYPE_MAX % PINHOLD_ZONE_MAX,
			.node = i / PINHOLD_TYPE_MAX / PINHOLD_ZONE_MAX, .whole = whole,
		};
		struct range *range;
		size_t bytes;
		char *map;

		if (ioctl(fd, PINHOLD_BLOCK, &ask)) {
			if (errno != ENOMEM && errno != ENXIO && errno != EOPNOTSUPP)
				die_errno("cannot have a block");
			continue;
		}
		bytes = ask.pages * page_bytes();
		map = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, (off_t)(ask.id * page_bytes()));
		if (map == MAP_FAILED)
			die_errno("cannot map a block");
		range = add(r, map, bytes);
		range->cma_known = ask.type == PINHOLD_TYPE_ISOLATE || ask.type == PINHOLD_TYPE_ISOLATE_CMA;
		range->cma = ask.type == PINHOLD_TYPE_ISOLATE_CMA;
		made++;
	}
	return made || none(why, "no block is free");
}

static bool driver_pages(struct ranges *r, char why[WHY_LEN])
{
	return blocks_of(r, 0, why);
}

static bool driver_blocks(struct ranges *r, char why[WHY_LEN])
{
	return blocks_of(r, 1, why);
}

/* Small pages of a process that all lie in an area. */
static char *in_area(struct ranges *r, enum area area)
{
	struct shape shape = { .length = AREA_PAGES * page_bytes() };
	struct positions positions;
	struct region region;

	if (!region_find(&region, &shape, "all", area, &positions))
		return NULL;
	add(r, (char *)(uintptr_t)region.first_page, AREA_PAGES * page_bytes());
	return (char *)(uintptr_t)region.first_page;
}

static bool has_cma(void)
{
	char line[128];
	unsigned long kib = 0;
	FILE *f = fopen("/proc/meminfo", "re");

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "CmaTotal: %lu", &kib) == 1)
			break;
	if (f)
		fclose(f);
	return kib || oracle_left_cma();
}

/* With the kernel's own function for that, over CMA as memory is taken from there. */
static bool isolated_cma(struct ranges *r, char why[WHY_LEN])
{
	char *page = has_cma() ? in_area(r, AREA_CMA) : NULL;
	uint64_t block;
	int err;

	if (!page)
		return none(why, "no page came to lie in CMA");
	err = block_isolate((uintptr_t)page, &block);
	if (err)
		return none(why, strerror(err));
	r->range[r->n - 1].cma_known = r->range[r->n - 1].cma = true;
	return true;
}

const struct kind decode_kinds[] = {
	/* Before the rest takes the memory that is in one piece. */
	{ "hugetlb-giant", hugetlb_giant },
	/* And before others of these kinds pin pages in its block. */
	{ "isolated-cma", isolated_cma },
	{ "anonymous", anonymous },
	{ "anonymous-forked", anonymous_forked },
	{ "anonymous-held", anonymous_held },
	{ "ksm", ksm },
	{ "thp", thp },
	{ "thp-held", thp_held },
	{ "thp-forked", thp_forked },
	{ "thp-mapped-twice", thp_mapped_twice },
	{ "thp-mapped-partly", thp_mapped_partly },
	{ "thp-by-page", thp_by_page },
	{ "thp-small", thp_small },
	{ "shmem", shmem },
	{ "shmem-thp", shmem_thp },
	{ "shmem-thp-mapped-twice", shmem_thp_mapped_twice },
	{ "file", file },
	{ "hugetlb", hugetlb },
	{ "hugetlb-forked", hugetlb_forked },
	{ "hugetlb-shared", hugetlb_shared },
	{ "driver-pages", driver_pages },
	{ "driver-blocks", driver_blocks },
};
const size_t decode_nkinds = ARRAY_SIZE(decode_kinds);
