// SPDX-License-Identifier: BSD-2-Clause
/* How explain prints: what the user, the environment and the terminal say. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "explain.h"

unsigned int explain_width(const char *columns, unsigned int terminal_columns)
{
	unsigned long n = 0;
	char *end;

	if (columns && isdigit((unsigned char)*columns)) {
		n = strtoul(columns, &end, 10);
		if (*end || n > 10000)
			n = 0;
	}
	if (n == 0)
		n = terminal_columns;
	if (n == 0)
		n = EXPLAIN_WIDTH;
	return n < EXPLAIN_WIDTH_MIN ? EXPLAIN_WIDTH_MIN : (unsigned int)n;
}

int explain_colour(const char *when, const char *no_color, const char *term, bool is_terminal)
{
	if (strcmp(when, "always") == 0)
		return true;
	if (strcmp(when, "never") == 0)
		return false;
	if (strcmp(when, "auto") != 0)
		return -1;
	/* A file gets plain text, and so does a terminal that does not say what it is. */
	return is_terminal && !(no_color && *no_color) && term && *term && strcmp(term, "dumb") != 0;
}
