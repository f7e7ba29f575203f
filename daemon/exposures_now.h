/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What this node is exposed to, kept up to date for whoever shows it: read at the start and every ten minutes by a helper
 * process, since files of /proc and /sys may block, and judged when the values are there.
 */
#ifndef PINWHY_EXPOSURES_NOW_H
#define PINWHY_EXPOSURES_NOW_H

#include "exposures/exposures.h"
#include "loop.h"

struct exposed;

/* Forks: early. */
int exposed_start(struct exposed **ret_exposed);
/* `pins_stay`: as struct node has it. */
int exposed_attach(struct exposed *x, struct loop *loop, bool pins_stay);
/* NULL = not read yet. */
const struct exposures *exposed_now(const struct exposed *x);
/* NULL-safe. */
void exposed_stop(struct exposed *x);

#endif
