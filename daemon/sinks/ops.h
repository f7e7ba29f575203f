/* SPDX-License-Identifier: BSD-2-Clause */
/* What one kind of sink must do; sink.c does the queueing. */
#ifndef PINWHY_SINKS_OPS_H
#define PINWHY_SINKS_OPS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "pipeline.h"

struct sink_ops {
	/* `ret_repaired` bytes of an unfinished report were removed from the target. -errno, logged. */
	int (*open)(void **ret_priv, const char *target, uint64_t *ret_repaired);
	/* The report as it will be written, malloc'ed. -ENOMEM. */
	int (*render)(const struct report *report, char **ret_data, size_t *ret_len);
	/* Bytes taken from the front, at least 1, or -errno. Never blocks for long. */
	ssize_t (*write)(void *priv, const char *data, size_t len);
	/*
	 * Opens the target again. 0: it is another one now, and `begun` bytes at the end of the
	 * old, of a report that will be written anew, were taken back. 1: it is the same. -errno:
	 * all stays as it was.
	 */
	int (*reopen)(void *priv, size_t begun);
	/* To wait on for room, or -1. */
	int (*fd)(const void *priv);
	/* `begun` bytes at the end are of a report that will not be finished: taken back. */
	void (*close)(void *priv, size_t begun);
};

#define SINK(format, ops) extern const struct sink_ops ops;
#include "sinks.def"
#undef SINK

#endif
