// SPDX-License-Identifier: BSD-2-Clause
/* One report per line of JSON. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sinks/ops.h"
#include "sinks/target.h"

static int jsonl_open(void **ret_priv, const char *path, uint64_t *ret_repaired)
{
	return target_open(ret_priv, path, true, ret_repaired);
}

static int jsonl_render(const struct report *report, char **ret_data, size_t *ret_len)
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

const struct sink_ops sink_jsonl = {
	.open = jsonl_open,
	.render = jsonl_render,
	.write = target_write,
	.reopen = target_reopen,
	.fd = target_fd,
	.close = target_close,
};
