// SPDX-License-Identifier: BSD-2-Clause
/* What the daemon does while it runs: handlers of the loop, callbacks, periodic work. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

#include "agent_state.h"
#include "log.h"
#include "memory.h"
#include "notify.h"

#define NS_PER_S 1000000000ULL
#define TICK_NS NS_PER_S
#define ATTACH_TICKS 2		/* ticks between two looks at the modules */
#define ARM_TICKS 10		/* that hooks of armed watching wait for facts at most */
#define RING_BUDGET 256		/* records per turn, so that signals and HTTP are not starved */
#define MEMORY_LOG_NS (60 * NS_PER_S)

/* Every input may have made the pipeline want to be called at another time. */
static void rearm_pipeline(struct agent *a)
{
	loop_timer_set(a->loop, a->pipeline_timer, pipeline_next(a->tap.pipeline));
}

/* ---- armed watching ---- */

/*
 * A process was armed, or the time of the last one is over. Hooking takes its time: facts about the failure that armed it come
 * first, unless failures do not end.
 */
static void arm(struct agent *a, struct clock_pair now, bool ticks)
{
	struct pipeline_stats stats;
	uint32_t n;

	loader_armed_check(a->loader);
	pipeline_stats(a->tap.pipeline, &stats);
	if (stats.incidents_held && a->arm_waits < ARM_TICKS) {
		a->arm_waits += ticks;
		return;
	}
	a->arm_waits = 0;
	if (!loader_armed_step(a->loader, now.mono_ns))
		return;
	n = loader_armed_processes(a->loader, now.mono_ns);
	if (n)
		log_info("watching the pins of %u armed process%s", n, n == 1 ? "" : "es");
	else
		log_info("no process is armed any more");
	agent_attach(a, now);
	loader_armed_open(a->loader);
}

/* ---- the ring ---- */

void agent_on_record(void *ctx, const void *data, size_t size)
{
	const struct wire_hdr *hdr = data;
	struct agent *a = ctx;
	union judged copy;

	tap_event(&a->tap, loader_judge(a->loader, data, size, &copy), size, loop_now(a->loop));
	if (size >= sizeof(*hdr) && hdr->kind == WIRE_MODULE)
		a->modules_changed = true;
}

void agent_on_ring(void *ctx, uint32_t events, struct clock_pair now)
{
	struct agent *a = ctx;

	(void)events;
	/* Before the records, so that their reports tell of what was lost among them. */
	agent_count(a, now);
	ring_consume(a->ring, RING_BUDGET);
	if (a->modules_changed) {
		a->modules_changed = false;
		agent_attach(a, now);
		agent_say_ready(a, now);
	}
	arm(a, now, false);
	rearm_pipeline(a);
	if (a->http)
		http_events_done(a->http);
}

void agent_drain(struct agent *a)
{
	while (ring_consume(a->ring, RING_BUDGET) == RING_BUDGET)
		;
}

/* ---- facts and reports ---- */

static void work(void *ctx, const void *req, void *ret_facts)
{
	struct agent *a = ctx;

	facts_unknown(ret_facts, FACT_NOT_ASKED);
	enrich_read(&a->enrich, req, ret_facts);
}

static void on_answer(void *ctx, uint64_t id, const void *facts, struct clock_pair now)
{
	struct agent *a = ctx;

	tap_facts(&a->tap, id, facts, now);
	arm(a, now, false);
	rearm_pipeline(a);
}

const struct helper_ops agent_helper_ops = HELPER_FACTS(work, on_answer);

static int on_ask(void *ctx, const struct facts_request *req)
{
	struct agent *a = ctx;
	int err = helper_ask(a->helper, req->id, req, loop_now(a->loop));

	if (err)
		tap_ask_failed(&a->tap, req->id, err, loop_now(a->loop));
	return err;
}

void agent_on_report(void *ctx, const struct report *report)
{
	struct agent *a = ctx;

	metrics_report(&a->metrics, report, loop_clock().real_ns);
	if (a->store)
		store_put(a->store, report->line, report->line_len);
	sinks_put(a->sinks, report);
}

const struct pipeline_ops agent_pipeline_ops = { .ask = on_ask, .emit = agent_on_report };

void agent_on_pipeline_timer(void *ctx, struct clock_pair now)
{
	struct agent *a = ctx;

	tap_tick(&a->tap, now);
	rearm_pipeline(a);
}

/* ---- periodic work ---- */

void agent_count(struct agent *a, struct clock_pair now)
{
	struct loss loss;

	loader_counters(a->loader, &loss);
	loss.hook_runs_missed = a->hook_runs_missed;
	if (memcmp(&loss, &a->loss, sizeof(loss)) == 0)
		return;
	a->loss = loss;
	tap_loss(&a->tap, &loss, now);
}

static void on_stuck(void *ctx, const struct wire_span *span, const struct sighting *sighting)
{
	struct agent *a = ctx;

	tap_stuck(&a->tap, span, sighting, loop_now(a->loop));
}

static void log_slots(const struct agent *a)
{
	struct slot_status s;

	for (uint32_t i = 0; i < loader_nslots(); i++) {
		loader_status(a->loader, i, &s);
		if (!s.changed)
			continue;
		if (s.state == SLOT_ATTACHED || s.state == SLOT_ACTIVE)
			log_debug("slot %s: %s by %s on %s", s.name, slot_state_name(s.state), s.variant,
				  s.target);
		else
			log_write(s.expected ? LOG_LEVEL_INFO : LOG_LEVEL_DEBUG, "slot %s: %s: %s",
				  s.name, slot_state_name(s.state), s.reason);
	}
}

void agent_attach(struct agent *a, struct clock_pair now)
{
	int changed = loader_attach(a->loader);

	/* It may have taken seconds, and deadlines count from the loop's time. */
	loop_refresh(a->loop);
	if (changed <= 0)
		return;
	log_slots(a);
	loader_identity(a->loader, &a->identity);
	tap_identity(&a->tap, &a->identity, now);
}

static void check_health(struct agent *a)
{
	const char *why = "";
	bool healthy = loader_healthy(a->loader, &why);

	if (healthy == a->healthy)
		return;
	a->healthy = healthy;
	if (healthy)
		log_info("the hooks can fire again");
	else
		log_warn("attached hooks do not fire: %s", why);
}

void agent_on_tick(void *ctx, struct clock_pair now)
{
	struct agent *a = ctx;

	a->ticks++;
	loop_timer_set(a->loop, a->tick_timer, now.mono_ns + TICK_NS);
	a->hook_runs_missed = loader_runs_missed(a->loader);
	loader_check_ledger(a->loader);
	agent_count(a, now);
	spans_scan(loader_spans(a->loader), &a->spans_opts, now.mono_ns, &a->spans, on_stuck, a);
	tap_flush(&a->tap);
	if (a->ticks % ATTACH_TICKS == 0) {
		agent_attach(a, now);
		agent_say_ready(a, now);
	}
	arm(a, now, true);
	check_health(a);
	sinks_tick(a->sinks);
	rearm_pipeline(a);
	watchdog_progress(&a->watchdog, now.mono_ns);
}

/* ---- signals ---- */

void agent_on_signal(void *ctx, uint32_t events, struct clock_pair now)
{
	struct signalfd_siginfo si;
	struct agent *a = ctx;

	(void)events;
	(void)now;
	if (read(a->signal_fd, &si, sizeof(si)) != sizeof(si))
		return;
	if (si.ssi_signo == SIGHUP) {
		/* While sinks are being emptied the rest is gone. */
		if (!a->stopping)
			agent_reload(a, now);
		return;
	}
	log_info("ending because of signal %u (%s)", si.ssi_signo, strsignal((int)si.ssi_signo));
	loop_stop(a->loop);
}

/* ---- readiness and memory ---- */

static const char *mib(uint64_t bytes, char buf[24])
{
	snprintf(buf, 24, "%.1f MiB", (double)bytes / (1 << 20));
	return buf;
}

void agent_log_memory(struct agent *a, const char *when)
{
	char resident[24], anon[24], peak[24], maps[24];
	struct memory_use use;

	if (memory_use(&use) < 0)
		return;
	log_info("memory %s: resident %s (%s of it our own), peak %s, BPF maps %s", when,
		 mib(use.resident_bytes, resident), mib(use.anon_bytes, anon),
		 mib(use.peak_bytes, peak), mib(a->map_bytes, maps));
}

void agent_on_memory_timer(void *ctx, struct clock_pair now)
{
	(void)now;
	agent_log_memory(ctx, "60 s after READY");
}

static void count_slots(const struct agent *a, unsigned int ret_by_state[SLOT_ACTIVE + 1])
{
	struct slot_status s;

	memset(ret_by_state, 0, sizeof(unsigned int) * (SLOT_ACTIVE + 1));
	for (uint32_t i = 0; i < loader_nslots(); i++) {
		loader_status(a->loader, i, &s);
		ret_by_state[s.state]++;
	}
}

void agent_say_ready(struct agent *a, struct clock_pair now)
{
	unsigned int n[SLOT_ACTIVE + 1], attached;
	char line[256];

	if (a->ready)
		return;
	count_slots(a, n);
	attached = n[SLOT_ATTACHED] + n[SLOT_ACTIVE];
	if (!attached)
		return;
	a->ready = true;
	snprintf(line, sizeof(line),
		 "READY: %u of %u slots attached, %u absent, %u disabled, %u failed", attached,
		 loader_nslots(), n[SLOT_ABSENT], n[SLOT_DISABLED],
		 n[SLOT_LOAD_FAILED] + n[SLOT_ATTACH_FAILED]);
	log_info("%s", line);
	agent_log_memory(a, "at READY");
	loop_timer_set(a->loop, a->memory_timer, now.mono_ns + MEMORY_LOG_NS);
	if (notify_send("READY=1\nSTATUS=watching memory registrations") < 0)
		log_warn("cannot tell the service manager that we are ready: %s", strerror(errno));
}

/* ---- HTTP ---- */

static bool is_ready(void *ctx, const char **ret_why)
{
	const struct agent *a = ctx;

	*ret_why = a->stopping ? "ending" : a->replay ? "the recording is being read" : "no slot is attached yet";
	return a->ready && !a->stopping;
}

/* What only a daemon has that watches. */
static void gather_watching(struct agent *a)
{
	struct metrics *m = &a->metrics;

	agent_count(a, loop_now(a->loop));
	m->loss = a->loss;
	pipeline_stats(a->tap.pipeline, &m->pipeline);
	helper_stats(a->helper, &m->helper);
	m->armed_processes = loader_armed_processes(a->loader, loop_now(a->loop).mono_ns);
	m->armed_folios = loader_armed_folios(a->loader);
	m->spans_in_flight = a->spans.in_flight;
	m->spans_unverified = a->spans.unverified;
	m->spans_ended_unseen = a->spans.ended_unseen;
	m->nslots = loader_nslots() < METRICS_SLOTS_MAX ? loader_nslots() : METRICS_SLOTS_MAX;
	for (uint32_t i = 0; i < m->nslots; i++)
		loader_status(a->loader, i, &m->slots[i]);
	m->map_bytes = a->map_bytes = loader_map_bytes(a->loader);
}

static const struct identity *identity_of(const struct agent *a)
{
	return a->replay ? replay_identity(a->replay) : &a->identity;
}

static void gather(struct agent *a)
{
	struct metrics *m = &a->metrics;
	struct timespec cpu;

	if (a->replay) {
		m->loss = *replay_loss(a->replay);
		replay_stats(a->replay, &m->pipeline);
	} else {
		gather_watching(a);
	}
	m->nsinks = sinks_stats(a->sinks, m->sinks);
	memory_use(&m->memory);
	m->kernel = identity_of(a)->kernel;
	m->ready = a->ready && !a->stopping;
	m->hooks_healthy = a->healthy;
	if (a->http)
		http_stats(a->http, &m->http);
	m->record_failed = a->tap.failed;
	m->log_lost = log_lost();
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &cpu);
	m->cpu_ns = (uint64_t)cpu.tv_sec * NS_PER_S + (uint64_t)cpu.tv_nsec;
}

/* Counters are read from the kernel for each page, so that it tells what is true now. */
static int get_metrics(void *ctx, const char *accept, char **ret_page, size_t *ret_len, const char **ret_type)
{
	enum exposition_format format = exposition_negotiate(accept);
	struct agent *a = ctx;
	size_t len;
	char *page;
	int err;

	gather(a);
	err = metrics_render(&a->metrics, format, a->page, METRICS_PAGE_MAX, &len);
	if (err)
		return err;
	page = malloc(len);
	if (!page)
		return -ENOMEM;
	memcpy(page, a->page, len);
	*ret_page = page;
	*ret_len = len;
	*ret_type = exposition_content_type(format);
	return 0;
}

static void get_status(void *ctx, struct http_status *ret_status)
{
	struct agent *a = ctx;
	const struct identity *id = identity_of(a);
	const char *why = "";

	gather(a);
	*ret_status = (struct http_status){
		.node = id->node, .kernel = id->kernel, .version = PINWHY_VERSION,
		.not_ready = is_ready(ctx, &why) ? NULL : why, .replaying = a->replay,
		.registrations = a->metrics.loss.reg_ok + a->metrics.loss.reg_failed, .failures = a->metrics.loss.reg_failed,
		.slots = a->metrics.slots, .nslots = a->metrics.nslots,
		.exposures = exposed_now(a->exposed),
	};
}

/* Is there something for the pipeline? A recording's next lines are that, too. */
static bool events_wait(void *ctx)
{
	const struct agent *a = ctx;
	struct pollfd p = { .fd = a->ring ? ring_fd(a->ring) : -1, .events = POLLIN };

	return a->replay ? !a->ready : poll(&p, 1, 0) > 0;
}

const struct http_ops agent_http_ops = {
	.metrics = get_metrics, .ready = is_ready, .status = get_status, .events_wait = events_wait,
};
