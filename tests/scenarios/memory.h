/* SPDX-License-Identifier: BSD-2-Clause */
/* Anonymous memory of a wanted shape in a wanted place, and page positions in it. */
#ifndef SCENARIO_MEMORY_H
#define SCENARIO_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "oracle.h"

#define THP_BYTES (2ul << 20)
#define POSITIONS_MAX 4096	/* pages a first pin may hold */

struct region {
	uint64_t address, length;	/* the bytes to register */
	uint64_t first_page;		/* address of the page that holds `address` */
	uint32_t pages;
	bool huge;
	void *map;			/* what to give back */
	size_t map_length;
};

struct positions {
	uint32_t count;
	uint32_t index[POSITIONS_MAX];	/* ascending page indexes */
};

/* "first", "middle", "last", "many" (up to 16, evenly spread), "all", or numbers "0,37". */
void positions_parse(const char *text, uint32_t pages, struct positions *ret_positions);

struct shape {
	size_t length, offset;	/* offset of the first registered byte from a page or huge page border */
	bool huge;
};

/*
 * Touches memory until the pages at `positions` lie in `area`, or, with AREA_NONE, lie in no
 * area. False when memory ran out before such pages came.
 */
bool region_find(struct region *ret_region, const struct shape *shape, const char *positions, enum area area,
		 struct positions *ret_positions);
void region_free(struct region *region);

uint64_t region_page(const struct region *region, uint32_t index);	/* address of a page */

#endif
