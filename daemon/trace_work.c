// SPDX-License-Identifier: BSD-2-Clause
/* What a trace does while it runs: handlers of the loop, callbacks, and the end. */
#include <errno.h>
#include <inttypes.h>
#include <json-c/json_object.h>
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "jbuild.h"
#include "jread.h"
#include "log.h"
#include "trace_state.h"

#define NS_PER_S 1000000000ULL
#define NS_PER_MS 1000000ULL
#define RING_BUDGET 256
#define LINE_MAX_BYTES 4096

static void rearm_pipeline(struct trace *t)
{
	loop_timer_set(t->loop, t->pipeline_timer, pipeline_next(t->pipeline));
}

/* ---- telling ---- */

static void put_json(struct trace *t, struct json_object *json)
{
	fputs(json_object_to_json_string_ext(json, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE), t->out);
	fputc('\n', t->out);
}

static void tell_event(struct trace *t, const struct event *ev)
{
	char line[LINE_MAX_BYTES];
	struct json_object *json;
	struct text text;

	if (t->opts->json) {
		if (steps_json(&t->steps, ev, &json) == 0) {
			put_json(t, json);
			json_object_put(json);
		} else {
			t->lost++;
		}
		return;
	}
	text_init(&text, line, sizeof(line));
	steps_text(&t->steps, ev, &text);
	fprintf(t->out, "%s\n", line);
}

static bool count_reached(const struct trace *t)
{
	return t->opts->count && t->steps.ok + t->steps.failed >= t->opts->count;
}

/* Behind the last registration that is told comes the record that its report is made of. */
static void take(struct trace *t, const void *data, size_t size, const struct event *ev)
{
	/* One that was under way before: of its failure nothing is known. */
	if (t->over || (ev->kind == WIRE_REG_END && !ev->end.start_ns))
		return;
	if (count_reached(t) && (ev->kind != WIRE_REG_END || ev->hdr.span_id != t->last_id))
		return;
	t->last_id = ev->hdr.span_id;
	if (steps_note(&t->steps, ev))
		tell_event(t, ev);
	if (ev->kind == WIRE_MODULE)
		t->modules_changed = true;
	pipeline_event(t->pipeline, data, size, loop_now(t->loop));
}

void trace_on_record(void *ctx, const void *data, size_t size)
{
	union judged copy;
	struct trace *t = ctx;
	struct event ev;

	data = loader_judge(t->loader, data, size, &copy);
	if (decode_event(data, size, &ev) == 0)
		take(t, data, size, &ev);
	else
		t->lost++;
}

/* The verdict that the daemon's report would give, and in JSON the report itself. */
static void on_report(void *ctx, const struct report *report)
{
	struct trace *t = ctx;
	char line[LINE_MAX_BYTES];
	struct text text;
	int64_t pid = 0, tid = 0;

	if (t->opts->json) {
		fprintf(t->out, "%s\n", report->line);
		return;
	}
	jr_int(report->json, "process.pid", &pid);
	jr_int(report->json, "process.tid", &tid);
	t->steps.current = (struct steps_span){ .tgid = (uint32_t)pid, .tid = (uint32_t)tid };
	snprintf(t->steps.current.comm, sizeof(t->steps.current.comm), "%s", jr_string(report->json, "process.comm"));
	text_init(&text, line, sizeof(line));
	steps_prefix(&t->steps, loop_now(t->loop).mono_ns, &text);
	steps_verdict(&t->steps, report->json, &text);
	fprintf(t->out, "%s\n", line);
}

static int on_ask(void *ctx, const struct facts_request *req)
{
	struct trace *t = ctx;

	return helper_ask(t->helper, req->id, req, loop_now(t->loop));
}

const struct pipeline_ops trace_pipeline_ops = { .ask = on_ask, .emit = on_report };

static void work(void *ctx, const void *req, void *ret_facts)
{
	struct trace *t = ctx;

	facts_unknown(ret_facts, FACT_NOT_ASKED);
	enrich_read(&t->enrich, req, ret_facts);
}

static void on_answer(void *ctx, uint64_t id, const void *facts, struct clock_pair now)
{
	struct trace *t = ctx;

	pipeline_facts(t->pipeline, id, facts, now);
	rearm_pipeline(t);
}

const struct helper_ops trace_helper_ops = HELPER_FACTS(work, on_answer);

/* ---- the loop's handlers ---- */

void trace_attach(struct trace *t)
{
	if (loader_attach(t->loader) <= 0)
		return;
	loader_identity(t->loader, &t->identity);
	pipeline_identity(t->pipeline, &t->identity);
}

/* Of what a report says was lost. */
static void tell_loss(struct trace *t)
{
	struct loss loss;

	loader_counters(t->loader, &loss);
	pipeline_loss(t->pipeline, &loss, loop_now(t->loop));
}

static void drain(struct trace *t)
{
	tell_loss(t);
	while (ring_consume(t->ring, RING_BUDGET) == RING_BUDGET)
		;
}

/* Nothing is told any more. A command goes on, and we wait for it. */
static void enough(struct trace *t)
{
	trace_end(t);
	if (!t->opts->command)
		loop_stop(t->loop);
}

static bool output_broken(struct trace *t)
{
	return fflush(t->out) != 0 || ferror(t->out);
}

void trace_on_ring(void *ctx, uint32_t events, struct clock_pair now)
{
	struct trace *t = ctx;

	(void)events;
	(void)now;
	tell_loss(t); /* before the records, whose reports tell of it */
	ring_consume(t->ring, RING_BUDGET);
	if (t->modules_changed) {
		t->modules_changed = false;
		trace_attach(t);
	}
	rearm_pipeline(t);
	if (output_broken(t) || count_reached(t))
		enough(t);
}

void trace_on_pipeline_timer(void *ctx, struct clock_pair now)
{
	struct trace *t = ctx;

	pipeline_tick(t->pipeline, now);
	rearm_pipeline(t);
}

void trace_on_end_timer(void *ctx, struct clock_pair now)
{
	(void)now;
	enough(ctx);
}

static void on_stuck(void *ctx, const struct wire_span *span, const struct sighting *sighting)
{
	struct trace *t = ctx;

	pipeline_stuck(t->pipeline, span, sighting, loop_now(t->loop));
}

void trace_on_tick(void *ctx, struct clock_pair now)
{
	struct trace *t = ctx;

	if (t->ended)
		return;
	loop_timer_set(t->loop, t->tick_timer, now.mono_ns + NS_PER_S);
	loader_check_ledger(t->loader);
	loader_armed_check(t->loader);
	trace_attach(t);
	spans_scan(loader_spans(t->loader), &t->spans_opts, now.mono_ns, &t->spans, on_stuck, t);
	rearm_pipeline(t);
	if (output_broken(t))
		enough(t);
}

void trace_on_target(void *ctx, uint32_t events, struct clock_pair now)
{
	struct trace *t = ctx;

	(void)events;
	(void)now;
	loop_del(t->loop, t->target_fd); /* it stays readable */
	trace_end(t);
	loop_stop(t->loop);
}

/* A command gets the signal too, unless it came from the terminal, which gives it to both; we end with it. */
void trace_on_signal(void *ctx, uint32_t events, struct clock_pair now)
{
	struct signalfd_siginfo si;
	struct trace *t = ctx;

	(void)events;
	(void)now;
	if (read(t->signal_fd, &si, sizeof(si)) != sizeof(si))
		return;
	if (!t->opts->command)
		enough(t);
	else if (si.ssi_code <= 0)
		kill(t->command.pid, (int)si.ssi_signo);
}

/* ---- the end ---- */

static uint64_t held(const struct trace *t)
{
	struct pipeline_stats stats;

	pipeline_stats(t->pipeline, &stats);
	return stats.incidents_held;
}

static void count_lost(struct trace *t)
{
	struct loss loss;

	loader_counters(t->loader, &loss);
	for (int i = 0; i < WIRE_KIND_MAX; i++)
		t->lost += loss.dropped[i];
	t->unfollowed = loss.spans_overflow + loss.spans_missed_end;
	/* Those without a place have an end without a span, too. */
	if (loss.ends_without_span > loss.spans_overflow)
		t->under_way = loss.ends_without_span - loss.spans_overflow;
}

static void tell_sums_json(struct trace *t)
{
	struct jbuild b = { 0 };
	struct json_object *o = jb_object(&b);

	jb_string(&b, o, "kind", "trace_end");
	jb_uint(&b, o, "registrations_ok", t->steps.ok);
	jb_uint(&b, o, "registrations_failed", t->steps.failed);
	jb_uint(&b, o, "first_pins", t->steps.first_pins);
	jb_uint(&b, o, "events_lost", t->lost);
	jb_uint(&b, o, "registrations_not_followed", t->unfollowed);
	jb_uint(&b, o, "registrations_under_way", t->under_way);
	jb_uint(&b, o, "hook_runs_missed", t->runs_missed);
	if (!b.failed)
		put_json(t, o);
	json_object_put(o);
}

static void tell_sums(struct trace *t)
{
	if (t->opts->json)
		tell_sums_json(t);
	else
		fprintf(t->out, "%" PRIu64 " registration%s traced: %" PRIu64 " ok, %" PRIu64 " failed\n",
			t->steps.ok + t->steps.failed, t->steps.ok + t->steps.failed == 1 ? "" : "s", t->steps.ok, t->steps.failed);
	if (t->lost)
		log_warn("%" PRIu64 " events lost: trace is incomplete", t->lost);
	if (t->unfollowed)
		log_warn("%" PRIu64 " registrations were not followed from their begin to their end: trace is incomplete", t->unfollowed);
	if (t->under_way)
		log_info("%" PRIu64 " registrations were under way when the trace began and are not told", t->under_way);
	if (t->runs_missed)
		log_warn("the kernel skipped %" PRIu64 " runs of hooks: trace may be incomplete", t->runs_missed);
}

/* Facts first, while a process in question may still be there; then the hooks. */
void trace_end(struct trace *t)
{
	struct clock_pair now = loop_refresh(t->loop);
	uint64_t deadline = now.mono_ns + t->settings.facts_deadline_ns;

	if (t->ended)
		return;
	t->ended = true;
	loop_del(t->loop, ring_fd(t->ring));
	loader_trace_none(t->loader);
	drain(t);
	while (held(t) && (now = loop_refresh(t->loop)).mono_ns < deadline)
		loop_once(t->loop, 50 * NS_PER_MS);
	t->runs_missed = loader_runs_missed(t->loader);
	loader_detach(t->loader);
	drain(t);
	pipeline_finish(t->pipeline, loop_refresh(t->loop));
	t->over = true;
	count_lost(t);
	tell_sums(t);
}
