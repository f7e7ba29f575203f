/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Paragraphs behind labels, wrapped to a width. Lines break at spaces; a word that is longer than
 * a line breaks behind a '/' or the like, never inside a character, an escape or an address.
 */
#ifndef PINWHY_WRAP_H
#define PINWHY_WRAP_H

#include <stdio.h>

#include "text.h"

#define WRAP_INDENT 9	/* two spaces, a label of five, two spaces */

/* Marks within a paragraph. text_escape() lets no control through: a quoted word cannot hold one. */
#define WRAP_HOLD "\x1f"	/* a space at which no line is broken */
#define WRAP_BOLD "\x01"
#define WRAP_DIM "\x02"
#define WRAP_GREEN "\x03"
#define WRAP_YELLOW "\x04"
#define WRAP_RED "\x05"
#define WRAP_PLAIN "\x06"	/* ends all of them */

struct wrap {
	FILE *out;
	unsigned int width;	/* columns */
	bool colour;
	char buf[8192];
	struct text text;	/* over buf: one paragraph at a time */
};

void wrap_begin(struct wrap *w);
/* Appends a word from outside. */
void wrap_quote(struct wrap *w, const char *s);
/* Prints the paragraph behind its label; nothing when it is empty. A label of NULL: from the first column. */
void wrap_flush(struct wrap *w, const char *label);
/* The same in at most this many lines (0 = any), with "..." where it was cut; `tail` comes behind it in any case. */
void wrap_flush_lines(struct wrap *w, const char *label, unsigned int lines_max, const char *tail);
/* Columns that a terminal needs for `n` bytes of valid UTF-8; marks take none. */
unsigned int wrap_columns(const char *s, size_t n);

#endif
