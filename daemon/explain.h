/* SPDX-License-Identifier: BSD-2-Clause */
/* A report as an on-call engineer wants to read it. */
#ifndef PINWHY_EXPLAIN_H
#define PINWHY_EXPLAIN_H

#include <stdio.h>

struct json_object;

#define EXPLAIN_WIDTH 110
#define EXPLAIN_WIDTH_MIN 40

/*
 * Prints one report, ending in a newline. The report may come from anywhere: what it
 * lacks is left out, and nothing in it can steer the terminal.
 */
void explain_print(FILE *out, struct json_object *report);
void explain_print_width(FILE *out, struct json_object *report, unsigned int width);

#endif
