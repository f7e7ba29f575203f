/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where reports go. A sink is one file in sinks/ and one row of sinks.def; each that the settings want has a bounded
 * queue of rendered reports of its own, so that a slow, full or dead target neither blocks the pipeline nor another
 * sink: what cannot be delivered is kept, retried ever more seldom, and when the queue is full dropped oldest first and
 * counted.
 *
 * A target that can never block is written to from here. Any other is served by a process of its own (helper.h), which
 * is given batches and is killed when it does not answer in time; the next one begins when it is really gone.
 */
#ifndef PINWHY_SINK_H
#define PINWHY_SINK_H

#include <stdbool.h>
#include <stdint.h>

#include "config.h"
#include "loop.h"
#include "pipeline.h"

#define SINK_QUEUE_REPORTS 3072
#define SINK_QUEUE_BYTES (32U << 20)	/* of a storm whose reports are not folded; allocated as they come */
#define SINKS_MAX 8

/* accepted = written + dropped + queued */
struct sink_stats {
	const char *name;	/* of sinks.def */
	uint64_t accepted, written, dropped;
	uint64_t errors;	/* failed attempts */
	uint64_t late;		/* processes given up because they did not answer in time, or died */
	uint64_t repaired_bytes;	/* of reports a crash had cut short, removed when the file was opened */
	uint64_t rotations, syncs;
	uint64_t queued, queued_bytes;
	int last_errno;		/* positive, 0 = the last attempt went well */
};

struct sinks;

/* Those that `config` wants, which must stay valid. Forks: before threads exist. -errno with a message logged. */
int sinks_open(struct sinks **ret_sinks, const struct config *config, struct loop *loop);
void sinks_put(struct sinks *s, const struct report *report);
/* Tries what is due again, and periodic work. Call every second or so. */
void sinks_tick(struct sinks *s);
/* Has targets looked at now, for logrotate: a file that was moved is made anew. */
void sinks_reopen(struct sinks *s);
/* Fills at most SINKS_MAX; returns how many there are. */
uint32_t sinks_stats(const struct sinks *s, struct sink_stats *ret_stats);
/*
 * Runs the loop until all is delivered, `patience_ns` at most; counts and logs what is left as dropped; closes.
 * NULL-safe.
 */
void sinks_close(struct sinks *s, uint64_t patience_ns);

#endif
