/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Numbers for Prometheus. The owner fills a struct metrics with what the parts of the daemon
 * count, and metrics_render() writes the rows of metrics.def.
 */
#ifndef PINWHY_METRICS_H
#define PINWHY_METRICS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "diagnose.h"
#include "exposition.h"
#include "helper.h"
#include "http.h"
#include "loader.h"
#include "memory.h"
#include "pipeline.h"
#include "sink.h"

#define METRICS_SLOTS_MAX 128
/* Bytes that always suffice for the page: every table has a bound, and a test fills them. */
#define METRICS_PAGE_MAX (384U << 10)

/* Reports with one verdict, and the last of them. */
struct metrics_verdict {
	uint64_t n, last_real_ns;
	char last_id[sizeof(((struct report *)0)->id)];
};

struct metrics {
	/* Counted here. */
	struct metrics_verdict by_cause[CAUSES_MAX][CONFIDENCE_MAX];
	struct metrics_verdict unknown, without_verdict;
	bool reload_ok;			/* the last reading of the configuration */
	uint64_t reload_real_ns;	/* of the last that went well */
	uint64_t reloads, reloads_failed;
	/* Copied from their owners before rendering. */
	struct loss loss;
	struct pipeline_stats pipeline;
	struct sink_stats sinks[SINKS_MAX];
	uint32_t nsinks;
	struct helper_stats helper;
	uint64_t armed_processes, armed_folios;
	uint64_t spans_in_flight, spans_unverified, spans_ended_unseen;
	struct memory_use memory;
	struct slot_status slots[METRICS_SLOTS_MAX];
	uint32_t nslots;
	uint64_t map_bytes, ready, hooks_healthy, record_failed, log_lost;
	uint64_t cpu_ns, start_real_ns;
	struct http_stats http;
	const char *version, *kernel;
};

/* Counts a report by its cause and confidence. */
void metrics_report(struct metrics *m, const struct report *report, uint64_t real_ns);
/* Bytes written, no NUL needed after them. -ENOBUFS when the page does not fit. */
int metrics_render(const struct metrics *m, enum exposition_format format, char *buf, size_t size, size_t *ret_len);

#endif
