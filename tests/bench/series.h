/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Series of one operation, on one buffer of one process. Under `tests/vm/run --icount` the clock
 * advances one nanosecond per instruction, so nanoseconds of this thread are instructions.
 */
#ifndef BENCH_SERIES_H
#define BENCH_SERIES_H

#include <stddef.h>
#include <stdint.h>

#define ROUNDS_MAX 1000

struct series_shape {
	unsigned int rounds;	/* the first is dropped */
	unsigned int ops;	/* operations per round */
	void (*between)(void);	/* called between rounds, not measured; or NULL */
};

/* What is measured: done and undone again, so that it can be repeated. */
struct operation {
	const char *name;
	void (*setup)(size_t buffer_bytes);
	void (*times)(size_t size, unsigned int times);
};
/*
 * ibv_reg_mr + ibv_dereg_mr; lock + unlock by the stand-in for NVIDIA's driver; pin_user_pages() + unpin by a module;
 * a direct read into memory that is not there.
 */
extern const struct operation op_register, op_pin, op_module, op_direct;

/* Where the memory lies that op_pin pins: "none" (the default), "cma" or "movable". Before its setup. */
void pin_area(const char *name);

/* Instructions per operation. */
struct series {
	uint64_t mean, median;
	unsigned int rounds;
	uint64_t round[ROUNDS_MAX];	/* in the order they were measured */
};

void series_run(const struct operation *op, const struct series_shape *shape, size_t size, struct series *ret_series);
/* A registration that fails because nothing is mapped there. */
void series_register_hole(void);

/* Made since the start, failures not included. */
uint64_t series_registrations(void);
uint64_t thread_instructions(void);

uint64_t median_of(const uint64_t *values, size_t count);

#endif
