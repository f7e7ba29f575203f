/* SPDX-License-Identifier: BSD-2-Clause */
/* Where this kernel keeps its per-CPU batches of pages: found by their type, whatever they are called. */
#ifndef PINWHY_LOADER_BATCHES_H
#define PINWHY_LOADER_BATCHES_H

#include "kfacts.h"
#include "wire_look.h"

#define BATCH_NAME_LEN 64

struct batch_table {
	uint32_t n;		/* 0 = none found, or not all of them: then none is read */
	struct {
		char variable[BATCH_NAME_LEN];
		struct wire_lru_batch batch;	/* its address is the offset in the variable until batches_place() */
	} rows[WIRE_LRU_BATCHES];
};

/* Asks BTF for every per-CPU variable that has batches in it, and has kallsyms asked for their addresses. */
void batches_find(struct batch_table *ret_table, struct kfacts *kf);
/* Puts in the addresses. After kfacts_refresh(). Returns the address of __per_cpu_offset[], 0: no batch can be read. */
uint64_t batches_place(struct batch_table *t, const struct kfacts *kf);

#endif
