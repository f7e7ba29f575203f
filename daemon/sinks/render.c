// SPDX-License-Identifier: BSD-2-Clause
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "explain.h"
#include "sinks/ops.h"

int render_line(const struct report *report, char **ret_data, size_t *ret_len)
{
	char *line = malloc(report->line_len + 1);

	if (!line)
		return -ENOMEM;
	memcpy(line, report->line, report->line_len);
	line[report->line_len] = '\n';
	*ret_data = line;
	*ret_len = report->line_len + 1;
	return 0;
}

int render_text(const struct report *report, char **ret_data, size_t *ret_len)
{
	char *text = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&text, &len);

	if (!f)
		return -ENOMEM;
	explain_print(f, report->json);
	if (fclose(f) != 0 || !len) {
		free(text);
		return -ENOMEM;
	}
	*ret_data = text;
	*ret_len = len;
	return 0;
}
