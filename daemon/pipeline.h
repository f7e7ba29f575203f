/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The pure pipeline: records in, reports out.
 *
 *   decode -> join -> (ask for facts) -> diagnose -> storm -> report -> emit
 *
 * No clock, no libbpf, no sockets, no files: time arrives as an argument, facts
 * arrive as an input, reports leave through a callback. The same inputs in the
 * same order give the same reports to the byte, which is what replay relies on.
 * Memory is sized by pipeline_new(); only JSON building allocates afterwards, and it
 * is bounded by the report's own limits.
 */
#ifndef PINWHY_PIPELINE_H
#define PINWHY_PIPELINE_H

#include <stddef.h>
#include <stdint.h>

#include "facts.h"
#include "identity.h"
#include "join.h"

struct json_object;
struct pipeline;

/* An immutable report on its way to the sinks. Valid during the callback only. */
struct report {
	char id[37];		/* UUIDv7, derived from the incident: same input, same id */
	const char *kind;	/* registration_failed, registration_stuck, ... */
	const char *cause;	/* verdict.cause, "" for kinds without */
	const char *confidence;
	struct json_object *json;
	const char *line;	/* the same as one line of JSON, no newline */
	size_t line_len;
};

struct pipeline_ops {
	/*
	 * Facts are wanted; answer later with pipeline_facts(), never from inside. -errno: they
	 * will not come, and the report is made at once without them.
	 */
	int (*ask)(void *ctx, const struct facts_request *req);
	void (*emit)(void *ctx, const struct report *report);
};

/* The ledger: what came in, and where each went. in = out + dropped + held, per stage. */
struct pipeline_stats {
	uint64_t records;		/* given to pipeline_event */
	uint64_t records_bad;		/* refused by decode */
	uint64_t kind_in[WIRE_KIND_MAX];	/* decoded, by kind */
	struct join_stats join;		/* where the records went that belong to a registration's end */
	/* incidents = held + reported + suppressed + stuck_reported + stuck_ended + stale_reported + hazards_reported + reports_failed */
	uint64_t incidents;		/* joined registration ends, plus stale regions, hazards and stuck observations */
	uint64_t incidents_held;	/* waiting for facts now */
	uint64_t incidents_evicted;	/* reported without facts because too many waited */
	uint64_t facts_late;		/* deadline passed, or asking failed */
	uint64_t facts_unclaimed;	/* answers nobody waited for any more */
	uint64_t reported;		/* failures that got a report of their own */
	/* suppressed = told + untold + open */
	uint64_t suppressed;		/* failures folded into a storm summary */
	uint64_t suppressed_told;	/* by a summary that was written */
	uint64_t suppressed_untold;	/* by one that could not be built */
	uint64_t suppressed_open;	/* in windows that have not ended */
	uint64_t suppressed_other_kinds;	/* of all: kinds for which their cgroup had no report left */
	uint64_t storm_evicted;		/* windows summed up before their end: the tables were full */
	uint64_t stuck_reported;	/* registration_stuck reports */
	uint64_t stuck_ended;		/* registration_completed reports: stuck, but ended well */
	uint64_t stale_reported;	/* registration_stale reports */
	uint64_t hazards_reported;	/* hazard reports */
	uint64_t summaries;		/* storm_summary reports */
	uint64_t summaries_failed;	/* could not be built */
	uint64_t stuck_forgotten;	/* ended after their stuck report had left the table */
	uint64_t verdict_conflicts;	/* two causes proven at once */
	uint64_t reports_failed;	/* could not be built: out of memory */
};

/* -ENOMEM, -EINVAL for a page size that is none, or 0. `identity` and `settings` are copied. */
int pipeline_new(struct pipeline **ret_pipeline, const struct identity *identity,
		 const struct pipeline_settings *settings, const struct pipeline_ops *ops, void *ctx);
void pipeline_free(struct pipeline *p);

/* Slots attach and detach while we run; later reports use the new picture. */
void pipeline_identity(struct pipeline *p, const struct identity *identity);
/* One record from the ring. Bad ones are counted, never fatal. */
void pipeline_event(struct pipeline *p, const void *data, size_t size, struct clock_pair now);
/* A registration still in flight past its threshold, seen by scanning; `sighting` says how it was
 * made sure that the thread is still inside. Reported once per span id. */
void pipeline_stuck(struct pipeline *p, const struct wire_span *span, const struct sighting *sighting,
		    struct clock_pair now);
void pipeline_facts(struct pipeline *p, uint64_t id, const struct facts *facts, struct clock_pair now);
void pipeline_loss(struct pipeline *p, const struct loss *loss, struct clock_pair now);
/* Deadlines and storm windows. Call at least as often as pipeline_next() asks; earlier it does nothing. */
void pipeline_tick(struct pipeline *p, struct clock_pair now);
/* Monotonic time at which pipeline_tick has work, 0 = none. */
uint64_t pipeline_next(const struct pipeline *p);
/* The end: what waits for facts is reported without, open storms are summed up. */
void pipeline_finish(struct pipeline *p, struct clock_pair now);
void pipeline_stats(const struct pipeline *p, struct pipeline_stats *ret_stats);
/* The first equation of the ledger that does not hold, NULL when all do. */
const char *pipeline_ledger(const struct pipeline_stats *stats);

#endif
