/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The one place through which the pipeline gets its inputs, so that a recording misses
 * none: each is written to the capture, when there is one, and then handed on.
 */
#ifndef PINWHY_TAP_H
#define PINWHY_TAP_H

#include <stdbool.h>

#include "pipeline.h"

struct capture;

struct tap {
	struct pipeline *pipeline;
	struct capture *capture;	/* NULL = not recording */
	bool failed;			/* recording was given up because of an error */
};

/* Starts recording into a new file. As capture_create(). */
int tap_record(struct tap *t, const char *path, const struct identity *identity,
	       const struct pipeline_settings *settings);
/* Hands what was recorded to the kernel, so that a crash of ours loses little. */
void tap_flush(struct tap *t);
void tap_close(struct tap *t);

void tap_identity(struct tap *t, const struct identity *identity, struct clock_pair now);
void tap_event(struct tap *t, const void *data, size_t size, struct clock_pair now);
void tap_stuck(struct tap *t, const struct wire_span *span, const struct sighting *sighting,
	       struct clock_pair now);
void tap_facts(struct tap *t, uint64_t id, const struct facts *facts, struct clock_pair now);
/* From pipeline_ops.ask, when the answer is a failure: part of what a replay must repeat. */
void tap_ask_failed(struct tap *t, uint64_t id, int err, struct clock_pair now);
void tap_loss(struct tap *t, const struct loss *loss, struct clock_pair now);
void tap_tick(struct tap *t, struct clock_pair now);
void tap_finish(struct tap *t, struct clock_pair now);

#endif
