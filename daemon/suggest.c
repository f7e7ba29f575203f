// SPDX-License-Identifier: BSD-2-Clause
#include <stdio.h>
#include <string.h>

#include "suggest.h"

#define WORD_MAX 48

static unsigned int min3(unsigned int a, unsigned int b, unsigned int c)
{
	unsigned int m = a < b ? a : b;

	return m < c ? m : c;
}

/* Number of letters to insert, delete or replace; words are cut at WORD_MAX. */
static unsigned int distance(const char *a, const char *b)
{
	size_t la = strnlen(a, WORD_MAX), lb = strnlen(b, WORD_MAX);
	unsigned int row[WORD_MAX + 1];

	for (size_t j = 0; j <= lb; j++)
		row[j] = (unsigned int)j;
	for (size_t i = 1; i <= la; i++) {
		unsigned int diagonal = row[0];

		row[0] = (unsigned int)i;
		for (size_t j = 1; j <= lb; j++) {
			unsigned int replace = diagonal + (a[i - 1] != b[j - 1]);

			diagonal = row[j];
			row[j] = min3(replace, row[j] + 1, row[j - 1] + 1);
		}
	}
	return row[lb];
}

void suggest_init(struct suggest *s, const char *word)
{
	*s = (struct suggest){ .word = word };
}

void suggest_offer(struct suggest *s, const char *candidate)
{
	unsigned int d = distance(s->word, candidate);
	size_t len = strlen(candidate);

	/* A word of which more than a third must change is another word. */
	if (d > len / 3 + 1 || d >= len)
		return;
	if (!s->best || d < s->distance) {
		s->best = candidate;
		s->distance = d;
	}
}

const char *suggest_text(const struct suggest *s, char *buf, size_t size)
{
	if (s->best)
		snprintf(buf, size, "; did you mean '%s'?", s->best);
	else
		snprintf(buf, size, "%s", "");
	return buf;
}
