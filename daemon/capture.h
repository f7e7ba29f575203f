/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A recording of everything the pipeline consumed, and its replay. One line of JSON per
 * input, in order, each with the clocks at which it was consumed; replaying the lines
 * gives the same reports to the byte. No kernel pointer is written: identities
 * of files are renumbered, pointers of spans are left out.
 */
#ifndef PINWHY_CAPTURE_H
#define PINWHY_CAPTURE_H

#include <stdio.h>

#include "pipeline.h"

struct capture;

/*
 * The file must not exist: a recording never overwrites another, and follows no link. Mode 0600.
 * -errno of what failed.
 */
int capture_create(struct capture **ret_capture, const char *path, const struct identity *identity,
		   const struct pipeline_settings *settings);
/*
 * One call right before the pipeline's own. All return 0 or the first -errno that writing
 * met; after that nothing is written any more, so that the file ends at the fault.
 */
int capture_event(struct capture *c, const void *data, size_t size, struct clock_pair now);
int capture_stuck(struct capture *c, const struct wire_span *span, const struct sighting *sighting, struct clock_pair now);
int capture_facts(struct capture *c, uint64_t id, const struct facts *facts, struct clock_pair now);
int capture_loss(struct capture *c, const struct loss *loss, struct clock_pair now);
int capture_identity(struct capture *c, const struct identity *identity, struct clock_pair now);
/* Needed only when pipeline_next() has been reached: an earlier tick does nothing. */
int capture_tick(struct capture *c, struct clock_pair now);
int capture_finish(struct capture *c, struct clock_pair now);
/* From pipeline_ops.ask, when it is about to return the error `err` (negative). */
int capture_ask_failed(struct capture *c, uint64_t id, int err, struct clock_pair now);
int capture_flush(struct capture *c);
/* NULL-safe; the first error of writing, or 0. */
int capture_close(struct capture *c);

struct capture_error {
	uint64_t line;
	char text[240];	/* a sentence for a person, without the file's name */
};

/*
 * Feeds a capture through a pipeline of its own. `emit` is called as when it was recorded.
 * 0. -ENODATA: it ends too early; what there was has been replayed. -EPROTO: written by
 * another version. -EBADMSG: not a capture, or damaged; replayed up to there. -ENOMEM.
 */
int capture_replay(FILE *in, void (*emit)(void *ctx, const struct report *report), void *ctx,
		   struct pipeline_stats *ret_stats, struct capture_error *ret_error);

/* The same in steps, for one who has other things to do between them. `in` and `ret_error` must outlive it. */
struct replay;
int replay_open(struct replay **ret_replay, FILE *in, void (*emit)(void *ctx, const struct report *report), void *ctx,
		struct capture_error *ret_error);
/* One line: 1 = there may be more, 0 = that was all, else as capture_replay(). */
int replay_step(struct replay *r);
void replay_stats(const struct replay *r, struct pipeline_stats *ret_stats);
/* Of whom it was recorded. */
const struct identity *replay_identity(const struct replay *r);
/* The counters as last recorded so far. */
const struct loss *replay_loss(const struct replay *r);
/* NULL-safe. */
void replay_free(struct replay *r);

#define CAPTURE_VERSION 1
#define CAPTURE_LINE_MAX 65536
/* Bounds of the tables that a capture may ask for. */
#define CAPTURE_SIGNATURES_MAX 65536
#define CAPTURE_CGROUPS_MAX 4096
#define CAPTURE_CGROUPS_BEFORE 64	/* of one that does not say */

#endif
