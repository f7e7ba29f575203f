// SPDX-License-Identifier: BSD-2-Clause
#include "memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "common.h"

#define MANY 16

static void add_position(struct positions *positions, uint32_t index, uint32_t pages)
{
	if (index >= pages)
		die("page %u is outside the range of %u pages", index, pages);
	if (positions->count && positions->index[positions->count - 1] >= index)
		return;
	if (positions->count == POSITIONS_MAX)
		die("more than %d page positions", POSITIONS_MAX);
	positions->index[positions->count++] = index;
}

static void spread(struct positions *positions, uint32_t count, uint32_t pages)
{
	if (count > pages)
		count = pages;
	for (uint32_t i = 0; i < count; i++)
		add_position(positions, count > 1 ? i * (pages - 1) / (count - 1) : 0, pages);
}

static void add_numbers(struct positions *positions, const char *text, uint32_t pages)
{
	char *end;

	for (; *text; text = end + (*end == ',')) {
		unsigned long index = strtoul(text, &end, 10);

		if (end == text || (*end && *end != ','))
			die("'%s' names no page positions", text);
		add_position(positions, (uint32_t)index, pages);
	}
}

void positions_parse(const char *text, uint32_t pages, struct positions *ret_positions)
{
	ret_positions->count = 0;
	if (!strcmp(text, "first"))
		add_position(ret_positions, 0, pages);
	else if (!strcmp(text, "middle"))
		add_position(ret_positions, pages / 2, pages);
	else if (!strcmp(text, "last"))
		add_position(ret_positions, pages - 1, pages);
	else if (!strcmp(text, "many"))
		spread(ret_positions, MANY, pages);
	else if (!strcmp(text, "all"))
		spread(ret_positions, pages, pages);
	else
		add_numbers(ret_positions, text, pages);
}

uint64_t region_page(const struct region *region, uint32_t index)
{
	return region->first_page + index * page_bytes();
}

/* Three quarters of what is available: enough to reach an area, too little for the OOM killer. */
static size_t search_bytes(void)
{
	unsigned long kib = 0;
	char line[128];
	FILE *f = fopen("/proc/meminfo", "re");

	if (!f)
		die_errno("cannot read /proc/meminfo");
	while (fgets(line, sizeof(line), f))
		if (sscanf(line, "MemAvailable: %lu kB", &kib) == 1)
			break;
	fclose(f);
	return (kib << 10) / 4 * 3;
}

static void touch(char *from, size_t length)
{
	for (size_t i = 0; i < length; i += page_bytes())
		*(volatile char *)(from + i) = 1;
}

/*
 * A page that was just touched lies wherever the allocator put it. For ordinary memory the kernel
 * itself can be asked to choose: a long-term pin moves the page out of every area, and once it is
 * given back nothing but the place remains of it.
 */
static void settle(const struct region *region)
{
	hold_give(hold_take(region->first_page, region->pages * page_bytes(), PINHOLD_WRITE | PINHOLD_LONGTERM));
}

static bool placed(const struct region *region, const struct positions *positions, enum area area)
{
	for (uint32_t i = 0; i < positions->count; i++) {
		struct pinhold_resolve page = oracle_ask(region_page(region, positions->index[i]));

		if (!oracle_in_area(&page, area) || (page.order != 0) != region->huge)
			return false;
	}
	return true;
}

static void trim(struct region *region, char *map, size_t map_length, char *window, size_t step)
{
	if (window > map)
		munmap(map, (size_t)(window - map));
	munmap(window + step, (size_t)(map + map_length - (window + step)));
	region->map = window;
	region->map_length = step;
}

static char *reserve(size_t length, size_t border, bool huge)
{
	char *map = mmap(NULL, length + border, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	char *start;

	if (map == MAP_FAILED)
		die_errno("cannot reserve %zu bytes", length);
	start = (char *)(((uintptr_t)map + border - 1) & ~(uintptr_t)(border - 1));
	if (start > map)
		munmap(map, (size_t)(start - map));
	if (start < map + border)
		munmap(start + length, (size_t)(map + border - start));
	if (huge && !has_thp()) {
		fprintf(stderr, "this kernel has no transparent huge pages\n");
		exit(EXIT_SKIP);
	}
	if (huge ? madvise(start, length, MADV_HUGEPAGE) : !keep_small(start, length))
		die_errno("madvise on huge pages");
	return start;
}

static void place(struct region *region, const struct shape *shape, char *window)
{
	uint64_t mask = page_bytes() - 1;

	region->address = (uintptr_t)window + shape->offset;
	region->length = shape->length;
	region->first_page = region->address & ~mask;
	region->pages = (uint32_t)(((region->address + region->length + mask) & ~mask) - region->first_page) /
			(uint32_t)page_bytes();
	region->huge = shape->huge;
}

bool region_find(struct region *ret_region, const struct shape *shape, const char *positions, enum area area,
		 struct positions *ret_positions)
{
	size_t border = shape->huge ? THP_BYTES : page_bytes();
	size_t step = (shape->offset + shape->length + border - 1) & ~(border - 1);
	size_t length = search_bytes() / step * step;
	char *map;

	if (!step || !length)
		return false;
	map = reserve(length, border, shape->huge);
	for (char *window = map; window < map + length; window += step) {
		place(ret_region, shape, window);
		positions_parse(positions, ret_region->pages, ret_positions);
		touch(window, step);
		if (area == AREA_NONE && !placed(ret_region, ret_positions, area))
			settle(ret_region);
		if (placed(ret_region, ret_positions, area)) {
			trim(ret_region, map, length, window, step);
			return true;
		}
	}
	munmap(map, length);
	return false;
}

void region_free(struct region *region)
{
	munmap(region->map, region->map_length);
}
