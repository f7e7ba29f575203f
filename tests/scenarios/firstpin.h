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
	uint32_t registers;	/* registrations that it is itself, of those that are watched and end well */
	bool unfinished;	/* that one ends when it is given back */
};

extern const struct first_pin first_pin_none, first_pin_plain, first_pin_longterm, first_pin_vmsplice,
	first_pin_vmsplice_many, first_pin_odirect, first_pin_nvidia, first_pin_nvidia_longterm,
	first_pin_uring, first_pin_isolated, first_pin_registration;
extern uint32_t first_pin_tid;	/* thread that holds it, 0 = no one in particular */
extern uint64_t first_pin_charged;	/* bytes of the limit that it takes up at the registration */

#endif
