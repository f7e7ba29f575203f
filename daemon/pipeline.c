// SPDX-License-Identifier: BSD-2-Clause
#include "pipeline.h"

#include <errno.h>
#include <json-c/json_object.h>
#include <stdlib.h>
#include <string.h>

#include "decode.h"
#include "diagnose.h"
#include "join.h"
#include "report.h"
#include "storm.h"
#include "text.h"

#define HELD_MAX 64	/* incidents that wait for facts */
#define JOIN_SPANS 64	/* registrations whose folios wait for their end */
#define STUCK_MAX 256	/* stuck reports that a later end can point back to */

/* An incident on its way to its report. The id is fixed on arrival, so that others can point to it. */
struct pending {
	uint64_t request_id;	/* 0 = free */
	uint64_t deadline_ns;
	const char *kind;
	char report_id[REPORT_ID_LEN];
	char first_report_id[REPORT_ID_LEN];
	struct incident in;
};

struct stuck_entry {
	uint64_t span_id;	/* 0 = free */
	uint64_t born;
	char report_id[REPORT_ID_LEN];
};

struct pipeline {
	struct identity identity;
	struct pipeline_settings settings;
	struct pipeline_ops ops;
	void *ctx;
	struct join *join;
	struct storm *storm;
	struct pipeline_stats stats;
	struct loss loss;
	bool loss_known;
	uint64_t requests, sequence, stuck_births;
	struct diagnosis diagnosis;	/* scratch: too large for the stack of a small thread */
	struct pending incoming;
	struct pending held[HELD_MAX];
	struct stuck_entry stuck[STUCK_MAX];
};

static bool valid_page_size(uint32_t size)
{
	return size >= 512 && (size & (size - 1)) == 0;
}

/* Names come from outside: the host name, BTF, a capture. */
static void clean_names(struct enum_names *names)
{
	int i;

	for (i = 0; i < IDENTITY_NAMES_MAX; i++)
		text_clean(names->name[i], sizeof(names->name[i]));
}

static void set_identity(struct pipeline *p, const struct identity *identity)
{
	struct identity *id = &p->identity;
	int i;

	*id = *identity;
	text_clean(id->node, sizeof(id->node));
	text_clean(id->boot_id, sizeof(id->boot_id));
	text_clean(id->kernel, sizeof(id->kernel));
	text_clean(id->machine, sizeof(id->machine));
	text_clean(id->agent_version, sizeof(id->agent_version));
	clean_names(&id->zones);
	clean_names(&id->migratetypes);
	clean_names(&id->migrate_reasons);
	clean_names(&id->migrate_modes);
	for (i = 0; i < WIRE_FN_MAX; i++) {
		text_clean(id->fn_name[i], sizeof(id->fn_name[i]));
		text_clean(id->fn_module[i], sizeof(id->fn_module[i]));
	}
}

int pipeline_new(struct pipeline **ret_pipeline, const struct identity *identity,
		 const struct pipeline_settings *settings, const struct pipeline_ops *ops, void *ctx)
{
	struct pipeline *p;
	int r;

	if (!valid_page_size(identity->page_size))
		return -EINVAL;
	p = calloc(1, sizeof(*p));
	if (!p)
		return -ENOMEM;
	set_identity(p, identity);
	p->settings = *settings;
	p->ops = *ops;
	p->ctx = ctx;
	r = join_new(&p->join, JOIN_SPANS);
	if (r == 0)
		r = storm_new(&p->storm, settings);
	if (r) {
		pipeline_free(p);
		return r;
	}
	*ret_pipeline = p;
	return 0;
}

void pipeline_free(struct pipeline *p)
{
	if (!p)
		return;
	join_free(p->join);
	storm_free(p->storm);
	free(p);
}

void pipeline_identity(struct pipeline *p, const struct identity *identity)
{
	if (valid_page_size(identity->page_size))
		set_identity(p, identity);
}

static const struct loss *known_loss(const struct pipeline *p)
{
	return p->loss_known ? &p->loss : NULL;
}

/* Hands the JSON to the sinks and drops it. */
static int deliver(struct pipeline *p, struct json_object *json, const char *kind, const char *id,
		   const char *cause, enum confidence confidence)
{
	const int flags = JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE;
	struct report report = {
		.kind = kind, .cause = cause, .confidence = confidence_words[confidence].word,
		.json = json,
	};

	memcpy(report.id, id, sizeof(report.id));
	report.line = json_object_to_json_string_length(json, flags, &report.line_len);
	if (report.line)
		p->ops.emit(p->ctx, &report);
	json_object_put(json);
	return report.line ? 0 : -ENOMEM;
}

static void send_summary(struct pipeline *p, const struct storm_summary *summary)
{
	const struct storm_window *w = &summary->window;
	struct json_object *json;
	char id[REPORT_ID_LEN];
	int r;

	report_make_id(id, &p->identity, KIND_SUMMARY, w->last_real_ns, 0, w->signature.tgid, ++p->sequence);
	r = report_build_summary(summary, id, &p->identity, known_loss(p), &json);
	if (r == 0)
		r = deliver(p, json, KIND_SUMMARY, id,
			    w->signature.cause ? w->signature.cause->id : "unknown",
			    w->signature.confidence);
	p->stats.summaries += r == 0;
	p->stats.summaries_failed += r != 0;
	*(r == 0 ? &p->stats.suppressed_told : &p->stats.suppressed_untold) += w->suppressed;
}

static uint64_t *outcome(struct pipeline *p, const char *kind)
{
	if (strcmp(kind, KIND_STUCK) == 0)
		return &p->stats.stuck_reported;
	if (strcmp(kind, KIND_COMPLETED) == 0)
		return &p->stats.stuck_ended;
	if (strcmp(kind, KIND_STALE) == 0)
		return &p->stats.stale_reported;
	return &p->stats.reported;
}

static void send_report(struct pipeline *p, const struct pending *pending)
{
	const struct diagnosis *d = &p->diagnosis;
	bool has_verdict = strcmp(pending->kind, KIND_COMPLETED) != 0;
	struct report_input input = {
		.kind = pending->kind, .id = pending->report_id, .identity = &p->identity,
		.in = &pending->in, .diagnosis = d, .loss = known_loss(p),
		.first_report_id = pending->first_report_id,
	};
	struct json_object *json;
	int r;

	diagnose(&pending->in, &p->identity, &p->diagnosis);
	p->stats.verdict_conflicts += d->conflict;
	r = report_build(&input, &json);
	if (r == 0)
		r = deliver(p, json, pending->kind, pending->report_id,
			    !has_verdict ? "" : d->cause ? d->cause->id : "unknown", d->confidence);
	if (r == 0)
		(*outcome(p, pending->kind))++;
	else
		p->stats.reports_failed++;
}

static void release(struct pipeline *p, struct pending *held)
{
	send_report(p, held);
	held->request_id = 0;
	p->stats.incidents_held--;
}

static void clean_facts(struct facts *facts)
{
	int i;

	for (i = 0; i < FACT_MAX; i++)
		if (fact_descs[i].size)
			text_clean((char *)facts + fact_descs[i].offset, fact_descs[i].size);
}

static struct pending *room_for(struct pipeline *p)
{
	struct pending *oldest = &p->held[0];
	uint32_t i;

	for (i = 0; i < HELD_MAX; i++) {
		if (p->held[i].request_id == 0)
			return &p->held[i];
		if (p->held[i].request_id < oldest->request_id)
			oldest = &p->held[i];
	}
	/* The longest waiting gives way: its answer is the least likely to come. */
	facts_unknown(&oldest->in.facts, -EBUSY);
	p->stats.incidents_evicted++;
	release(p, oldest);
	return oldest;
}

/* Asks for facts and holds the incident until they come, or reports it at once when they will not. */
static void ask(struct pipeline *p, const struct pending *pending, struct clock_pair now)
{
	struct facts_request request = {
		.id = ++p->requests,
		.task_start_ns = pending->in.end.task_start_ns,
		.tgid = pending->in.end.tgid, .tid = pending->in.end.tid,
	};
	struct pending *held = room_for(p);
	int r;

	request.hugetlb_bytes = incident_hugetlb_bytes(&pending->in);
	memcpy(request.device, pending->in.end.device, sizeof(request.device));
	*held = *pending;
	held->request_id = request.id;
	held->deadline_ns = now.mono_ns + p->settings.facts_deadline_ns;
	facts_unknown(&held->in.facts, -ETIMEDOUT);
	p->stats.incidents_held++;
	r = p->ops.ask(p->ctx, &request);
	if (r == 0)
		return;
	p->stats.facts_late++;
	facts_unknown(&held->in.facts, r);
	release(p, held);
}

static struct stuck_entry *find_stuck(struct pipeline *p, uint64_t span_id)
{
	uint32_t i;

	for (i = 0; i < STUCK_MAX; i++)
		if (p->stuck[i].span_id == span_id)
			return &p->stuck[i];
	return NULL;
}

static void remember_stuck(struct pipeline *p, uint64_t span_id, const char *report_id)
{
	struct stuck_entry *entry = find_stuck(p, 0);
	uint32_t i;

	if (!entry) {
		entry = &p->stuck[0];
		for (i = 1; i < STUCK_MAX; i++)
			if (p->stuck[i].born < entry->born)
				entry = &p->stuck[i];
	}
	entry->span_id = span_id;
	entry->born = ++p->stuck_births;
	memcpy(entry->report_id, report_id, sizeof(entry->report_id));
}

static void give_id(struct pipeline *p, struct pending *pending)
{
	const struct wire_reg_end *e = &pending->in.end;

	report_make_id(pending->report_id, &p->identity, pending->kind,
		       report_real_ns(pending->in.seen, e->hdr.time_ns), e->hdr.span_id, e->tgid,
		       ++p->sequence);
}

/*
 * Repeats are folded before facts are asked for, so that a storm does not reach the
 * helper. What a failure counts as is therefore decided by what the kernel told.
 */
static bool admit(struct pipeline *p, struct pending *pending)
{
	const struct incident *in = &pending->in;
	struct storm_failure failure = {
		.in = in, .diagnosis = &p->diagnosis, .stage = incident_stage(in, &p->identity),
		.report_id = pending->report_id, .real_ns = report_real_ns(in->seen, in->end.hdr.time_ns),
	};
	struct storm_summary summary;
	bool whole;

	/* What was told as stuck is told to its end. */
	if (in->end.was_reported || pending->first_report_id[0])
		return true;
	facts_unknown(&pending->in.facts, -ETIMEDOUT);
	diagnose(in, &p->identity, &p->diagnosis);
	while (storm_give_way(p->storm, &failure, &summary))
		send_summary(p, &summary);
	whole = storm_admit(p->storm, &failure);
	p->stats.suppressed += !whole;
	return whole;
}

static void registration_end(struct pipeline *p, const struct wire_reg_end *end, struct clock_pair now)
{
	struct pending *pending = &p->incoming;
	struct stuck_entry *stuck = find_stuck(p, end->hdr.span_id);

	memset(pending, 0, sizeof(*pending));
	join_end(p->join, end, &pending->in);
	pending->in.seen = now;
	pending->kind = end->result == 0 ? KIND_COMPLETED : KIND_FAILED;
	p->stats.incidents++;
	if (stuck) {
		memcpy(pending->first_report_id, stuck->report_id, sizeof(stuck->report_id));
		stuck->span_id = 0;
	}
	p->stats.stuck_forgotten += end->was_reported && !stuck;
	give_id(p, pending);
	if (end->result == 0) {
		facts_unknown(&pending->in.facts, FACT_NOT_ASKED);
		send_report(p, pending);
	} else if (admit(p, pending)) {
		ask(p, pending, now);
	}
}

static void registration_stale(struct pipeline *p, const struct wire_stale *stale, struct clock_pair now)
{
	struct pending *pending = &p->incoming;

	memset(pending, 0, sizeof(*pending));
	pending->in.end = stale->end;
	pending->in.damage = stale->damage;
	pending->in.stale = true;
	pending->in.seen = now;
	pending->kind = KIND_STALE;
	p->stats.incidents++;
	give_id(p, pending);
	if (admit(p, pending))
		ask(p, pending, now);
}

void pipeline_event(struct pipeline *p, const void *data, size_t size, struct clock_pair now)
{
	struct event ev;

	p->stats.records++;
	if (decode_event(data, size, &ev) < 0) {
		p->stats.records_bad++;
		return;
	}
	p->stats.kind_in[ev.kind]++;
	switch (ev.kind) {
	case WIRE_FOLIO:
		join_folio(p->join, &ev.folio);
		break;
	case WIRE_MODULE:
		/* The loader's business: attach and detach. No report is made of it. */
		break;
	case WIRE_STALE:
		registration_stale(p, &ev.stale, now);
		break;
	case WIRE_REG_END:
		registration_end(p, &ev.end, now);
		break;
	}
}

void pipeline_stuck(struct pipeline *p, const struct wire_span *span, const struct sighting *sighting,
		    struct clock_pair now)
{
	struct pending *pending = &p->incoming;
	struct wire_reg_end end;

	if (decode_span(span, now.mono_ns, &end) < 0 || find_stuck(p, end.hdr.span_id))
		return;
	memset(pending, 0, sizeof(*pending));
	pending->in.end = end;
	pending->in.stuck = true;
	pending->in.seen = now;
	pending->kind = KIND_STUCK;
	pending->in.sighting = *sighting;
	text_clean(pending->in.sighting.verified, sizeof(pending->in.sighting.verified));
	text_clean(pending->in.sighting.waits_in, sizeof(pending->in.sighting.waits_in));
	p->stats.incidents++;
	give_id(p, pending);
	remember_stuck(p, end.hdr.span_id, pending->report_id);
	ask(p, pending, now);
}

void pipeline_facts(struct pipeline *p, uint64_t id, const struct facts *facts, struct clock_pair now)
{
	uint32_t i;

	(void)now;
	for (i = 0; i < HELD_MAX; i++) {
		if (p->held[i].request_id != id || id == 0)
			continue;
		p->held[i].in.facts = *facts;
		clean_facts(&p->held[i].in.facts);
		release(p, &p->held[i]);
		return;
	}
	p->stats.facts_unclaimed++;
}

void pipeline_loss(struct pipeline *p, const struct loss *loss, struct clock_pair now)
{
	(void)now;
	p->loss = *loss;
	p->loss_known = true;
}

/* The held incident that has waited longest, if its deadline has passed. */
static struct pending *overdue(struct pipeline *p, uint64_t now_mono_ns)
{
	struct pending *found = NULL;
	uint32_t i;

	for (i = 0; i < HELD_MAX; i++) {
		struct pending *held = &p->held[i];

		if (held->request_id && held->deadline_ns <= now_mono_ns &&
		    (!found || held->request_id < found->request_id))
			found = held;
	}
	return found;
}

void pipeline_tick(struct pipeline *p, struct clock_pair now)
{
	struct storm_summary summary;
	struct pending *held;

	while ((held = overdue(p, now.mono_ns))) {
		p->stats.facts_late++;
		release(p, held);
	}
	while (storm_take_ended(p->storm, now.mono_ns, &summary))
		send_summary(p, &summary);
}

uint64_t pipeline_next(const struct pipeline *p)
{
	uint64_t next = storm_next(p->storm);
	uint32_t i;

	for (i = 0; i < HELD_MAX; i++)
		if (p->held[i].request_id && (next == 0 || p->held[i].deadline_ns < next))
			next = p->held[i].deadline_ns;
	return next;
}

void pipeline_finish(struct pipeline *p, struct clock_pair now)
{
	struct storm_summary summary;
	struct pending *held;

	(void)now;
	while ((held = overdue(p, UINT64_MAX))) {
		facts_unknown(&held->in.facts, -ECANCELED);
		p->stats.facts_late++;
		release(p, held);
	}
	join_finish(p->join);
	while (storm_take_ended(p->storm, UINT64_MAX, &summary))
		send_summary(p, &summary);
}

void pipeline_stats(const struct pipeline *p, struct pipeline_stats *ret_stats)
{
	struct join_stats join;
	struct storm_counts storm;

	join_stats(p->join, &join);
	storm_counts(p->storm, &storm);
	*ret_stats = p->stats;
	ret_stats->suppressed_open = storm.open;
	ret_stats->suppressed_other_kinds = storm.other_kinds;
	ret_stats->storm_evicted = storm.evicted;
	ret_stats->folios_joined = join.joined;
	ret_stats->folios_superseded = join.superseded;
	ret_stats->folios_excess = join.excess;
	ret_stats->folios_orphaned = join.orphaned;
	ret_stats->folios_held = join.held;
}

const char *pipeline_ledger(const struct pipeline_stats *s)
{
	uint64_t decoded = 0, records = s->kind_in[WIRE_REG_END] + s->kind_in[WIRE_STALE];
	int i;

	for (i = 0; i < WIRE_KIND_MAX; i++)
		decoded += s->kind_in[i];
	if (s->records != s->records_bad + decoded)
		return "records = records_bad + decoded";
	if (s->kind_in[WIRE_FOLIO] != s->folios_joined + s->folios_superseded + s->folios_excess +
	    s->folios_orphaned + s->folios_held)
		return "folios = joined + superseded + excess + orphaned + held";
	if (s->incidents < records)
		return "incidents = registration ends + stale regions + stuck observations";
	if (s->stuck_reported > s->incidents - records)
		return "stuck reports <= stuck observations";
	if (s->incidents != s->incidents_held + s->reported + s->suppressed + s->stuck_reported +
	    s->stuck_ended + s->stale_reported + s->reports_failed)
		return "incidents = held + reported + suppressed + stuck_reported + stuck_ended + stale_reported + reports_failed";
	if (s->suppressed != s->suppressed_told + s->suppressed_untold + s->suppressed_open)
		return "suppressed = told + untold + open";
	return NULL;
}
