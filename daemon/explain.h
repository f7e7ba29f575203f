/* SPDX-License-Identifier: BSD-2-Clause */
/* A report as an on-call engineer wants to read it: on one screen, the most telling first. */
#ifndef PINWHY_EXPLAIN_H
#define PINWHY_EXPLAIN_H

#include <stdbool.h>
#include <stdio.h>

struct json_object;

#define EXPLAIN_WIDTH 100	/* where the terminal's width is not known */
#define EXPLAIN_WIDTH_MIN 40

struct explain_style {
	unsigned int width;	/* columns; less than EXPLAIN_WIDTH_MIN is taken as that */
	bool colour;
	bool full;		/* everything the report says, not what fits on a screen */
};

/*
 * Prints one report, ending in a newline. The report may come from anywhere: what it
 * lacks is left out, and nothing in it can steer the terminal.
 */
void explain_print(FILE *out, struct json_object *report);
void explain_print_style(FILE *out, struct json_object *report, const struct explain_style *style);

/* The width: what COLUMNS says (NULL = unset), else what the terminal says (0 = none), else EXPLAIN_WIDTH. */
unsigned int explain_width(const char *columns, unsigned int terminal_columns);
/*
 * Is colour wanted? `when` is always, never or auto: auto is a terminal that can, unless NO_COLOR
 * is set to anything. -1: `when` is none of these.
 */
int explain_colour(const char *when, const char *no_color, const char *term, bool is_terminal);

#endif
