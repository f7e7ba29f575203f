// SPDX-License-Identifier: BSD-2-Clause
/* Reports as a person reads them, the same as `pinwhy explain` prints. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "explain.h"
#include "sinks/ops.h"
#include "sinks/target.h"

static int text_open(void **ret_priv, const char *path, uint64_t *ret_repaired)
{
	return target_open(ret_priv, path, false, ret_repaired);
}

static int text_render(const struct report *report, char **ret_data, size_t *ret_len)
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

const struct sink_ops sink_text = {
	.open = text_open,
	.render = text_render,
	.write = target_write,
	.reopen = target_reopen,
	.fd = target_fd,
	.close = target_close,
};
