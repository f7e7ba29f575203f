/* SPDX-License-Identifier: BSD-2-Clause */
/* The ways in which somebody else can hold pages before a registration asks for them. */
#ifndef SCENARIO_FIRSTPIN_H
#define SCENARIO_FIRSTPIN_H

#include <stdint.h>

#include "memory.h"

struct first_pin {
	const char *name;	/* as the table of the matrix shows it */
	uint32_t references;	/* taken on each held page */
	void (*take)(const struct region *region, const struct positions *positions, uint32_t references);
	void (*give)(void);
};

extern const struct first_pin first_pin_none, first_pin_plain, first_pin_longterm, first_pin_vmsplice,
	first_pin_vmsplice_many, first_pin_odirect;

#endif
