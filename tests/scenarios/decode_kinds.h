/* SPDX-License-Identifier: BSD-2-Clause */
/* Memory of every kind that a process can have, for decode.c. */
#ifndef SCENARIO_DECODE_KINDS_H
#define SCENARIO_DECODE_KINDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RANGES_MAX 256
#define WHY_LEN 96

/* Neighbouring pages that are all there, and stay. */
struct range {
	const char *kind;
	char *map;
	size_t pages;
	bool cma_known, cma;	/* the block is CMA under its isolation, which the kernel's own function does not tell */
};

struct ranges {
	struct range range[RANGES_MAX];
	uint32_t n;
};

struct kind {
	const char *name;
	/* Adds ranges of this name. False: this guest has no such memory, and `why` says so. */
	bool (*make)(struct ranges *r, char why[WHY_LEN]);
};

extern const struct kind decode_kinds[];
extern const size_t decode_nkinds;

#endif
