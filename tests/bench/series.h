/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Series of registrations on one buffer of one process. Under `tests/vm/run --icount` the clock
 * advances one nanosecond per instruction, so nanoseconds of this thread are instructions.
 */
#ifndef BENCH_SERIES_H
#define BENCH_SERIES_H

#include <stddef.h>
#include <stdint.h>

#define ROUNDS_MAX 1000

struct series_shape {
	unsigned int rounds;	/* the first is dropped */
	unsigned int ops;	/* registrations per round */
};

/* Instructions per ibv_reg_mr + ibv_dereg_mr. */
struct series {
	uint64_t mean, median;
	unsigned int rounds;
	uint64_t round[ROUNDS_MAX];	/* in the order they were measured */
};

void series_setup(size_t buffer_bytes);
void series_run(const struct series_shape *shape, size_t size, struct series *ret_series);
void series_register(size_t size, unsigned int times);	/* without measuring */
/* A registration that fails because nothing is mapped there. */
void series_register_hole(void);

/* Made since the start, failures not included. */
uint64_t series_registrations(void);
uint64_t thread_instructions(void);

uint64_t median_of(const uint64_t *values, size_t count);

#endif
