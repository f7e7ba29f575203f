// SPDX-License-Identifier: BSD-2-Clause
/* Any bytes as a recording. */
#include <stdio.h>
#include <stdlib.h>

#include "capture.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void emit(void *ctx, const struct report *report)
{
	(void)ctx;
	if (!report->line_len)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct pipeline_stats stats = { 0 };
	struct capture_error error;
	FILE *in;
	int rc;

	if (size == 0)
		return 0;
	in = fmemopen((void *)(uintptr_t)data, size, "r");
	if (!in)
		abort();
	rc = capture_replay(in, emit, NULL, &stats, &error);
	/* Whatever is wrong must be said. */
	if (pipeline_ledger(&stats) || (rc && !error.text[0]))
		abort();
	fclose(in);
	return 0;
}
