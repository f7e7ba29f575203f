// SPDX-License-Identifier: BSD-2-Clause
/*
 * pinwhy run --replay: a recording takes the place of the node. Its reports go to the same sinks
 * and are served by the same HTTP; nothing needs BPF or root.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "agent_state.h"
#include "log.h"
#include "notify.h"

#define LINES_PER_TURN 32	/* so that HTTP is served meanwhile */
#define TICK_NS 1000000000ULL

/* It is damaged or ends too early: what could be read is served, as pinwhy replay prints it. */
static void at_end(struct agent *a, int rc, struct clock_pair now)
{
	struct pipeline_stats stats;

	if (rc)
		log_warn("%s, line %" PRIu64 ": %s; serving what could be read", a->config->replay, a->replay_error.line,
			 a->replay_error.text);
	replay_stats(a->replay, &stats);
	a->ready = true;
	log_info("READY: %" PRIu64 " records replayed", stats.records);
	if (notify_send("READY=1\nSTATUS=serving a recording") < 0)
		log_warn("cannot tell the service manager that we are ready: %s", strerror(errno));
	loop_timer_set(a->loop, a->tick_timer, now.mono_ns + TICK_NS);
}

static void on_turn(void *ctx, struct clock_pair now)
{
	struct agent *a = ctx;
	int rc = 1;

	if (a->ready) {
		sinks_tick(a->sinks);
		watchdog_progress(&a->watchdog, now.mono_ns);
		loop_timer_set(a->loop, a->tick_timer, now.mono_ns + TICK_NS);
		return;
	}
	for (int i = 0; i < LINES_PER_TURN && rc == 1; i++)
		rc = replay_step(a->replay);
	if (a->http)
		http_events_done(a->http);
	if (rc == 1)
		loop_timer_set(a->loop, a->tick_timer, now.mono_ns + 1);
	else
		at_end(a, rc, now);
}

int agent_start_replay(struct agent *a)
{
	const char *path = a->config->replay;
	int err;

	a->replay_in = fopen(path, "re");
	if (!a->replay_in) {
		err = -errno;
		log_error("cannot open the recording %s: %s", path, strerror(errno));
		return err;
	}
	err = replay_open(&a->replay, a->replay_in, agent_on_report, a, &a->replay_error);
	if (err) {
		log_error("cannot replay %s: %s", path, *a->replay_error.text ? a->replay_error.text : strerror(-err));
		return err;
	}
	a->tick_timer = loop_timer_new(a->loop, on_turn, a);
	if (a->tick_timer < 0)
		return a->tick_timer;
	loop_timer_set(a->loop, a->tick_timer, 1);
	return 0;
}

void agent_stop_replay(struct agent *a)
{
	a->stopping = true;
	notify_send("STOPPING=1");
	replay_free(a->replay);
	if (a->replay_in)
		fclose(a->replay_in);
	a->replay = NULL;
}
