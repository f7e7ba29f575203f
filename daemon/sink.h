/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where reports go. A sink is one file in sinks/ and one row of sinks.def; each
 * has a bounded queue of rendered reports, so that a slow or full target never
 * blocks the pipeline: what cannot be written is kept, retried, and when the
 * queue is full dropped oldest first and counted. A report whose first bytes are
 * out is never dropped and never begun again: its rest follows.
 */
#ifndef PINWHY_SINK_H
#define PINWHY_SINK_H

#include <stdbool.h>
#include <stdint.h>

#include "pipeline.h"

#define SINK_QUEUE_REPORTS 256
#define SINK_QUEUE_BYTES (4U << 20)

/* accepted = written + dropped + queued */
struct sink_stats {
	uint64_t accepted, written, dropped;
	uint64_t errors;	/* failed attempts to write or reopen */
	uint64_t repaired_bytes;	/* of reports a crash had cut short, removed at open */
	uint64_t queued, queued_bytes;
	int last_errno;		/* positive, 0 = the last attempt went well */
};

struct sink;

/* `target` is a path or "-"; `format` "json" or "text". -errno with a message logged. */
int sink_open(struct sink **ret_sink, const char *format, const char *target);
void sink_put(struct sink *s, const struct report *report);
/* Tries to write what is queued, and to reopen if that is due. Returns the number still queued. */
uint32_t sink_flush(struct sink *s);
/* Opens the target again, for logrotate. Until that works the old file is written to. */
void sink_reopen(struct sink *s);
/* The descriptor to watch for EPOLLOUT|EPOLLET, changed by a reopen; -1 = nothing to wait for. */
int sink_fd(const struct sink *s);
void sink_stats(const struct sink *s, struct sink_stats *ret_stats);
/* Flushes once, counts what is left as dropped, closes. NULL-safe. */
void sink_close(struct sink *s);

#endif
