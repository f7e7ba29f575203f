/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Records of one size in chains that share the room for them. Each chain is sure of its share; of the rest, those that
 * come first have what they need, so that a few long chains take no more room than many short ones.
 */
#ifndef PINWHY_POOL_H
#define PINWHY_POOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pool;

struct chain {
	uint32_t first, last;	/* places in the pool, 0 = none */
	uint32_t n;
};

/* Room for `chains` times `share` records, and `rest` more. -ENOMEM. */
int pool_new(struct pool **ret_pool, size_t record_size, uint32_t chains, uint32_t share, uint32_t rest);
void pool_free(struct pool *p);
bool pool_has_room(const struct pool *p, const struct chain *c);
/* Appends a copy of the record; there must be room. */
void pool_add(struct pool *p, struct chain *c, const void *record);
/* The record at a place, and the place after it in its chain, 0 = none. */
const void *pool_at(const struct pool *p, uint32_t place);
uint32_t pool_next(const struct pool *p, uint32_t place);
/* Copies the records of the chain into an array, in the order of their arrival. */
void pool_copy(const struct pool *p, const struct chain *c, void *ret_records);
void pool_clear(struct pool *p, struct chain *c);

#endif
