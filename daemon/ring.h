/* SPDX-License-Identifier: BSD-2-Clause */
/* The consumer of the events ring: records in the order the kernel reserved them. */
#ifndef PINWHY_RING_H
#define PINWHY_RING_H

#include <stddef.h>

struct ring;

/* `data` is valid during the call only. */
typedef void (*ring_fn)(void *ctx, const void *data, size_t size);

/* -errno, or 0. `map_fd` stays the caller's. */
int ring_open(struct ring **ret_ring, int map_fd, ring_fn fn, void *ctx);
int ring_fd(const struct ring *r);	/* readable when records wait; level-triggered */
/* Hands out at most `budget` records. Returns how many; call again when it equals the budget. */
unsigned int ring_consume(struct ring *r, unsigned int budget);
void ring_free(struct ring *r);	/* NULL-safe */

#endif
