/* SPDX-License-Identifier: BSD-2-Clause */
/* What agent.c starts and stops, and agent_work.c and agent_replay.c work with. Private to the three. */
#ifndef PINWHY_AGENT_STATE_H
#define PINWHY_AGENT_STATE_H

#include <stdbool.h>
#include <stdint.h>

#include "capture.h"
#include "config.h"
#include "enrich/enrich.h"
#include "exposures_now.h"
#include "helper.h"
#include "http.h"
#include "identity.h"
#include "kfacts.h"
#include "listen.h"
#include "loader.h"
#include "lock.h"
#include "loop.h"
#include "metrics.h"
#include "notify.h"
#include "ring.h"
#include "sink.h"
#include "spans.h"
#include "tap.h"

struct agent {
	struct config *config;
	const struct config_source *source;	/* of it */
	struct loop *loop;
	int signal_fd;
	struct lock *lock;
	int listen_fd, socket_fd;	/* -1 = off, or http owns it */
	bool loopback;		/* listen_fd is reached from this machine alone */
	bool has_socket;	/* there is a file to remove */
	struct webconfig *web;	/* NULL = none, or http owns it */
	struct auth *auth;
	struct store *store;
	struct exposed *exposed;	/* NULL without a page that shows it */
	struct enrich enrich;
	struct helper *helper;
	struct kfacts *kf;
	struct loader *loader;
	struct identity identity;
	struct pipeline_settings settings;
	struct tap tap;
	struct sinks *sinks;
	struct http *http;
	struct ring *ring;
	struct replay *replay;	/* instead of loader, pipeline and ring: agent_replay.c */
	FILE *replay_in;
	struct capture_error replay_error;

	struct spans_opts spans_opts;
	struct spans_state spans;
	struct loss loss;	/* as last given to the pipeline */
	struct metrics metrics;
	char *page;		/* where /metrics is rendered */
	uint64_t map_bytes;
	uint64_t hook_runs_missed;	/* at the last tick */
	uint64_t ticks, arm_waits;
	int tick_timer, pipeline_timer, memory_timer;
	struct watchdog watchdog;
	bool ready, stopping, healthy;
	bool modules_changed;	/* the ring brought a hint */
};

/* Handlers and periodic work: agent_work.c */
extern const struct helper_ops agent_helper_ops;
extern const struct pipeline_ops agent_pipeline_ops;
extern const struct http_ops agent_http_ops;

void agent_on_signal(void *ctx, uint32_t events, struct clock_pair now);
void agent_on_ring(void *ctx, uint32_t events, struct clock_pair now);
void agent_on_record(void *ctx, const void *data, size_t size);
void agent_on_tick(void *ctx, struct clock_pair now);
void agent_on_pipeline_timer(void *ctx, struct clock_pair now);
void agent_on_memory_timer(void *ctx, struct clock_pair now);
/* A report is done: counts it and gives it to all who want it. */
void agent_on_report(void *ctx, const struct report *report);

/* Attaches what can be attached; the picture the pipeline has of it follows. */
void agent_attach(struct agent *a, struct clock_pair now);
/* Counters from the kernel to the pipeline, if they moved. */
void agent_count(struct agent *a, struct clock_pair now);
/* Empties the ring. */
void agent_drain(struct agent *a);
/* READY, once at least one slot is attached. */
void agent_say_ready(struct agent *a, struct clock_pair now);
/* SIGHUP: reads the configuration again: agent_reload.c. */
void agent_reload(struct agent *a, struct clock_pair now);
/* What [hooks] and [watch] make of each slot. */
void agent_choose_hooks(const struct config *config, enum hook_mode *ret_modes);
/* What can change of them while running, into force. */
void agent_take_settings(struct agent *a);
void agent_log_memory(struct agent *a, const char *when);

/* A recording in the place of a node: agent_replay.c. 0 or -errno after saying what failed. */
int agent_start_replay(struct agent *a);
void agent_stop_replay(struct agent *a);

#endif
