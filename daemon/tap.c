// SPDX-License-Identifier: BSD-2-Clause
#include <errno.h>
#include <string.h>

#include "capture.h"
#include "log.h"
#include "tap.h"

/* A recording that has a hole is worth nothing: it ends at its first error, the daemon goes on. */
static void check(struct tap *t, int err)
{
	if (!err)
		return;
	log_error("recording failed: %s; it ends here, the daemon goes on without it", strerror(-err));
	capture_close(t->capture);
	t->capture = NULL;
	t->failed = true;
}

int tap_record(struct tap *t, const char *path, const struct identity *identity,
	       const struct pipeline_settings *settings)
{
	return capture_create(&t->capture, path, identity, settings);
}

void tap_flush(struct tap *t)
{
	if (t->capture)
		check(t, capture_flush(t->capture));
}

void tap_close(struct tap *t)
{
	int err = capture_close(t->capture);

	if (err)
		log_error("the recording is incomplete: %s", strerror(-err));
	t->capture = NULL;
}

void tap_identity(struct tap *t, const struct identity *identity, struct clock_pair now)
{
	if (t->capture)
		check(t, capture_identity(t->capture, identity, now));
	pipeline_identity(t->pipeline, identity);
}

void tap_event(struct tap *t, const void *data, size_t size, struct clock_pair now)
{
	if (t->capture)
		check(t, capture_event(t->capture, data, size, now));
	pipeline_event(t->pipeline, data, size, now);
}

void tap_stuck(struct tap *t, const struct wire_span *span, const struct sighting *sighting,
	       struct clock_pair now)
{
	if (t->capture)
		check(t, capture_stuck(t->capture, span, sighting, now));
	pipeline_stuck(t->pipeline, span, sighting, now);
}

void tap_facts(struct tap *t, uint64_t id, const struct facts *facts, struct clock_pair now)
{
	if (t->capture)
		check(t, capture_facts(t->capture, id, facts, now));
	pipeline_facts(t->pipeline, id, facts, now);
}

void tap_ask_failed(struct tap *t, uint64_t id, int err, struct clock_pair now)
{
	if (t->capture)
		check(t, capture_ask_failed(t->capture, id, err, now));
}

void tap_loss(struct tap *t, const struct loss *loss, struct clock_pair now)
{
	if (t->capture)
		check(t, capture_loss(t->capture, loss, now));
	pipeline_loss(t->pipeline, loss, now);
}

void tap_tick(struct tap *t, struct clock_pair now)
{
	uint64_t next = pipeline_next(t->pipeline);

	/* An earlier tick does nothing, so it need not be told. */
	if (!next || now.mono_ns < next)
		return;
	if (t->capture)
		check(t, capture_tick(t->capture, now));
	pipeline_tick(t->pipeline, now);
}

void tap_finish(struct tap *t, struct clock_pair now)
{
	if (t->capture)
		check(t, capture_finish(t->capture, now));
	pipeline_finish(t->pipeline, now);
}
