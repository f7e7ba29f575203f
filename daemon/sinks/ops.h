/* SPDX-License-Identifier: BSD-2-Clause */
/* What one kind of sink must do; sink.c does the queueing. */
#ifndef PINWHY_SINKS_OPS_H
#define PINWHY_SINKS_OPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "config.h"
#include "pipeline.h"

#define BATCH_REPORTS 64
#define BATCH_BYTES (128U << 10)	/* fits into one message of a socket; no report is longer */
#define BATCH_SETTINGS 3072

enum batch_flags {
	BATCH_AGAIN = 1,	/* the process that was given this before was lost: some of it may be done */
};

/* To the process of a sink. Only what is used of `data` is sent. */
struct batch {
	uint32_t flags;
	uint32_t count, bytes;
	uint32_t length[BATCH_REPORTS];
	union {
		unsigned char room[BATCH_SETTINGS];	/* the sink's own struct, as of now */
		uint64_t align;
	} settings;
	char data[BATCH_BYTES];
};

/* And back. */
struct outcome {
	uint32_t done;		/* reports of the batch, from its first, that need not be sent again */
	uint32_t refused;	/* of these: lost, since the target will never take them */
	int32_t err;		/* positive errno: why not all is done, or what else went wrong */
	uint32_t rotations, syncs;
	uint32_t dirty;		/* not 0: something waits to be synced */
	uint64_t repaired_bytes;
	uint64_t retry_ns;	/* not before; 0 = choose */
	char why[160];		/* more about err, or "" */
};

struct sink_ops {
	bool (*wanted)(const struct config *c);
	/* Checks the target. -errno, logged. */
	int (*open)(void **ret_priv, const struct config *c, uint64_t *ret_repaired);
	/* The report as it will be sent, malloc'ed. -ENOMEM. */
	int (*render)(void *priv, const struct report *report, char **ret_data, size_t *ret_len);
	/* What it is called in messages. */
	const char *(*target)(const void *priv);
	void (*close)(void *priv);

	/* Of a sink that can never block: */
	/* Bytes taken from the front, at least 1, or -errno; -EAGAIN: wait for `fd`. */
	ssize_t (*write)(void *priv, const char *data, size_t len);
	int (*fd)(const void *priv);	/* to wait on for room, or -1 */

	/* Of a sink with a process of its own: */
	/* Runs there, on the copy of `priv` that the fork made. */
	void (*work)(void *priv, const void *batch, void *ret_outcome);
	/* Settings for a batch. Returns whether there is work even without a report. */
	bool (*prepare)(void *priv, const struct config *c, uint64_t now_ns, struct batch *b);
	void (*answered)(void *priv, const struct outcome *o, uint64_t now_ns);
	uint64_t (*deadline_ns)(const struct config *c);
};

#define SINK(name, ops) extern const struct sink_ops ops;
#include "sinks.def"
#undef SINK

/* As `format` says: one line of JSON, or as pinwhy explain prints it. */
int render_line(const struct report *report, char **ret_data, size_t *ret_len);
int render_text(const struct report *report, char **ret_data, size_t *ret_len);

#endif
