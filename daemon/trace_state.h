/* SPDX-License-Identifier: BSD-2-Clause */
/* What trace.c starts and stops and trace_work.c works with. Private to the two. */
#ifndef PINWHY_TRACE_STATE_H
#define PINWHY_TRACE_STATE_H

#include <stdio.h>

#include "command.h"
#include "config.h"
#include "enrich/enrich.h"
#include "helper.h"
#include "kfacts.h"
#include "loader.h"
#include "loop.h"
#include "pipeline.h"
#include "ring.h"
#include "spans.h"
#include "steps.h"
#include "trace.h"

struct trace {
	const struct trace_opts *opts;
	FILE *out;
	int cleaner_fd;		/* closed with us: what a killed trace leaves is then removed */
	struct command command;
	int target_fd;		/* pidfd of the process or command, -1 = none */
	int signal_fd;
	struct loop *loop;
	int tick_timer, pipeline_timer, end_timer;
	struct enrich enrich;
	struct helper *helper;
	struct kfacts *kf;
	struct loader *loader;
	struct identity identity;
	struct pipeline_settings settings;
	struct pipeline *pipeline;
	struct ring *ring;
	struct spans_opts spans_opts;
	struct spans_state spans;
	struct steps steps;
	uint64_t last_id;	/* registration of the last record */
	bool modules_changed;
	bool over;		/* what comes now is not told any more */
	bool ended;		/* tracing has ended: hooks are gone */
	uint64_t lost, unfollowed, under_way, runs_missed;	/* known when it has */
};

extern const struct helper_ops trace_helper_ops;
extern const struct pipeline_ops trace_pipeline_ops;

void trace_on_record(void *ctx, const void *data, size_t size);
void trace_on_ring(void *ctx, uint32_t events, struct clock_pair now);
void trace_on_signal(void *ctx, uint32_t events, struct clock_pair now);
void trace_on_target(void *ctx, uint32_t events, struct clock_pair now);
void trace_on_tick(void *ctx, struct clock_pair now);
void trace_on_pipeline_timer(void *ctx, struct clock_pair now);
void trace_on_end_timer(void *ctx, struct clock_pair now);

/* Attaches what can be attached; the picture the pipeline has of it follows. */
void trace_attach(struct trace *t);
/* Takes the hooks away, tells the rest and the sums. Once. */
void trace_end(struct trace *t);

#endif
