/* SPDX-License-Identifier: BSD-2-Clause */
/* "Did you mean ...": the nearest of a list of words, for error messages. */
#ifndef PINWHY_SUGGEST_H
#define PINWHY_SUGGEST_H

#include <stddef.h>

struct suggest {
	const char *word;	/* what was written */
	const char *best;	/* nearest candidate so far, NULL = none is near */
	unsigned int distance;
};

void suggest_init(struct suggest *s, const char *word);
/* `candidate` must outlive `s`. */
void suggest_offer(struct suggest *s, const char *candidate);
/* Writes "; did you mean 'X'?" or "". Returns `buf`. */
const char *suggest_text(const struct suggest *s, char *buf, size_t size);

#endif
