/* SPDX-License-Identifier: BSD-2-Clause */
/* The test module's answers and pins; see tests/kmod/pinhold/pinhold.h for what they mean. */
#ifndef SCENARIO_ORACLE_H
#define SCENARIO_ORACLE_H

#include <stdbool.h>
#include <stdint.h>

#include "../kmod/pinhold/pinhold.h"

/* The kinds of memory that a long-term pin must leave. */
enum area { AREA_NONE, AREA_CMA, AREA_MOVABLE, AREA_MAX };

enum area area_parse(const char *name);
const char *area_name(enum area area);

void oracle_open(void);	/* dies without /dev/pinhold: no oracle, no test */
struct pinhold_resolve oracle_ask(uint64_t address);	/* dies when the module cannot say */
bool oracle_in_area(const struct pinhold_resolve *page, enum area area);
/* In no area at all: where a long-term pin may leave a page. */
bool oracle_ordinary(const struct pinhold_resolve *page);
/* Is the CMA of this boot what the module left behind, which belongs to no area? */
bool oracle_left_cma(void);
/* Has the running kernel this line in its configuration? */
bool oracle_config(const char *line);
uint64_t oracle_head_pfn(const struct pinhold_resolve *page);
void oracle_json(const char *key, const struct pinhold_resolve *page);

uint32_t hold_take(uint64_t address, uint64_t length, uint32_t flags);	/* PINHOLD_*; dies when refused */
void hold_give(uint32_t id);

/* Marks the pageblock of a page as one that is being emptied. 0 or the errno; what to give back. */
int block_isolate(uint64_t address, uint64_t *ret_block);
void block_give(uint64_t block);

#endif
