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
#include "shelf.h"
#include "storm.h"
#include "text.h"

#define HELD_MAX 64	/* incidents that wait for facts */
#define SHELF_BYTES (768U << 10)	/* for them: all of those that are usual, 28 of the largest */
#define JOIN_SPANS 64	/* registrations whose folios wait for their end */
#define STUCK_MAX 256	/* stuck reports that a later end can point back to */

struct stuck_entry {
	uint64_t span_id;	/* 0 = free */
	uint64_t born;
	char report_id[REPORT_ID_LEN];
};

_Static_assert(SHELF_BYTES >= SHELF_INCIDENT_MAX, "room for an incident when all others gave way");

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
	struct pending incoming, leaving;
	struct shelf *shelf;
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
		r = shelf_new(&p->shelf, HELD_MAX, SHELF_BYTES);
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
	shelf_free(p->shelf);
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
	if (strcmp(kind, KIND_HAZARD) == 0)
		return &p->stats.hazards_reported;
	return &p->stats.reported;
}

static void send_report(struct pipeline *p, const struct pending *pending)
{
	const struct diagnosis *d = &p->diagnosis;
	bool has_verdict = strcmp(pending->label.kind, KIND_COMPLETED) != 0;
	struct report_input input = {
		.kind = pending->label.kind, .id = pending->label.report_id, .identity = &p->identity,
		.in = &pending->in, .diagnosis = d, .loss = known_loss(p),
		.first_report_id = pending->label.first_report_id,
	};
	struct json_object *json;
	int r;

	diagnose(&pending->in, &p->identity, &p->diagnosis);
	p->stats.verdict_conflicts += d->conflict;
	r = report_build(&input, &json);
	if (r == 0)
		r = deliver(p, json, pending->label.kind, pending->label.report_id,
			    !has_verdict ? "" : d->cause ? d->cause->id : "unknown", d->confidence);
	if (r == 0)
		(*outcome(p, pending->label.kind))++;
	else
		p->stats.reports_failed++;
}

static void clean_facts(struct facts *facts)
{
	int i;

	for (i = 0; i < FACT_MAX; i++)
		if (fact_descs[i].size)
			text_clean((char *)facts + fact_descs[i].offset, fact_descs[i].size);
}

/* Reports a held incident: with facts, or with the reason why there are none. */
static void release(struct pipeline *p, struct waiting *held, const struct facts *facts, int err)
{
	struct pending *leaving = &p->leaving;

	shelf_take(p->shelf, held, leaving);
	if (facts) {
		leaving->in.facts = *facts;
		clean_facts(&leaving->in.facts);
	} else {
		facts_unknown(&leaving->in.facts, err);
	}
	p->stats.incidents_held--;
	send_report(p, leaving);
}

/* Asks for the facts of a held incident, or reports it at once when they will not come. */
static void ask(struct pipeline *p, struct waiting *held, struct clock_pair now)
{
	int r;

	/* Both may be of a capture. UINT64_MAX is one that is not asked for yet. */
	if (__builtin_add_overflow(now.mono_ns, p->settings.facts_deadline_ns, &held->deadline_ns) || held->deadline_ns == UINT64_MAX)
		held->deadline_ns = UINT64_MAX - 1;
	r = p->ops.ask(p->ctx, &held->request);
	if (r == 0)
		return;
	p->stats.facts_late++;
	release(p, held, NULL, r);
}

/*
 * Hazards come in bursts, and nothing has failed yet: one at a time is asked for, and only while no failure waits for
 * an answer, so that they do not use up the time that a failure's facts have.
 */
static void ask_in_turn(struct pipeline *p, struct clock_pair now)
{
	struct waiting *held;

	while ((held = shelf_in_turn(p->shelf)))
		ask(p, held, now);
}

/* Holds an incident until its facts come. */
static void hold(struct pipeline *p, const struct pending *pending, struct clock_pair now)
{
	uint64_t id = ++p->requests;
	struct waiting *held;

	while (!(held = shelf_put(p->shelf, pending, id))) {
		p->stats.incidents_evicted++;
		release(p, shelf_oldest(p->shelf), NULL, -EBUSY);
	}
	p->stats.incidents_held++;
	if (!pending->in.hazard)
		ask(p, held, now);
	ask_in_turn(p, now);
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

	report_make_id(pending->label.report_id, &p->identity, pending->label.kind,
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
		.report_id = pending->label.report_id, .real_ns = report_real_ns(in->seen, in->end.hdr.time_ns),
	};
	struct storm_summary summary;
	bool whole;

	/* What was told as stuck is told to its end. */
	if (in->end.was_reported || pending->label.first_report_id[0])
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
	pending->label.kind = end->result == 0 ? KIND_COMPLETED : KIND_FAILED;
	p->stats.incidents++;
	if (stuck) {
		memcpy(pending->label.first_report_id, stuck->report_id, sizeof(stuck->report_id));
		stuck->span_id = 0;
	}
	p->stats.stuck_forgotten += end->was_reported && !stuck;
	give_id(p, pending);
	if (end->result == 0) {
		facts_unknown(&pending->in.facts, FACT_NOT_ASKED);
		send_report(p, pending);
	} else if (admit(p, pending)) {
		hold(p, pending, now);
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
	pending->label.kind = KIND_STALE;
	p->stats.incidents++;
	give_id(p, pending);
	if (admit(p, pending))
		hold(p, pending, now);
}

static void hazard(struct pipeline *p, const struct wire_reg_end *end, const struct wire_holder *holder,
		   const struct wire_folio *page, struct clock_pair now)
{
	struct pending *pending = &p->incoming;
	struct incident *in = &pending->in;

	in->end = *end;
	in->end.folios_seen = in->contig.pages ? 1 : (uint32_t)(in->stranded.pages < UINT32_MAX ? in->stranded.pages : UINT32_MAX);
	in->hazard = true;
	in->folios[in->nfolios++] = *page;
	in->holders.pins[in->holders.npins++] = *holder;
	in->seen = now;
	pending->label.kind = KIND_HAZARD;
	p->stats.incidents++;
	give_id(p, pending);
	if (admit(p, pending))
		hold(p, pending, now);
}

static void first_pin_hazard(struct pipeline *p, const struct wire_hazard *h, struct clock_pair now)
{
	memset(&p->incoming, 0, sizeof(p->incoming));
	p->incoming.in.stranded = h->stranded;
	hazard(p, &h->end, &h->holder, &h->page, now);
}

static void cma_blocked(struct pipeline *p, const struct wire_cma_blocked *b, struct clock_pair now)
{
	memset(&p->incoming, 0, sizeof(p->incoming));
	p->incoming.in.contig = b->contig;
	hazard(p, &b->end, &b->holder, &b->page, now);
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
	case WIRE_HOLDER:
		join_holder(p->join, &ev.holder);
		break;
	case WIRE_MODULE:
		/* The loader's business: attach and detach. No report is made of it. */
	case WIRE_STEP:
		/* And these are told as they come, by what asked for them. */
		break;
	case WIRE_HAZARD:
		first_pin_hazard(p, &ev.hazard, now);
		break;
	case WIRE_CMA_BLOCKED:
		cma_blocked(p, &ev.blocked, now);
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
	pending->label.kind = KIND_STUCK;
	pending->in.sighting = *sighting;
	text_clean(pending->in.sighting.verified, sizeof(pending->in.sighting.verified));
	text_clean(pending->in.sighting.waits_in, sizeof(pending->in.sighting.waits_in));
	p->stats.incidents++;
	give_id(p, pending);
	remember_stuck(p, end.hdr.span_id, pending->label.report_id);
	hold(p, pending, now);
}

void pipeline_facts(struct pipeline *p, uint64_t id, const struct facts *facts, struct clock_pair now)
{
	struct waiting *held = id ? shelf_find(p->shelf, id) : NULL;

	if (!held) {
		p->stats.facts_unclaimed++;
		return;
	}
	release(p, held, facts, 0);
	ask_in_turn(p, now);
}

void pipeline_loss(struct pipeline *p, const struct loss *loss, struct clock_pair now)
{
	(void)now;
	p->loss = *loss;
	p->loss_known = true;
}

void pipeline_tick(struct pipeline *p, struct clock_pair now)
{
	struct storm_summary summary;
	struct waiting *held;

	while ((held = shelf_overdue(p->shelf, now.mono_ns))) {
		p->stats.facts_late++;
		release(p, held, NULL, -ETIMEDOUT);
	}
	ask_in_turn(p, now);
	while (storm_take_ended(p->storm, now.mono_ns, &summary))
		send_summary(p, &summary);
}

uint64_t pipeline_next(const struct pipeline *p)
{
	uint64_t next = storm_next(p->storm), deadline = shelf_deadline(p->shelf);

	return deadline != UINT64_MAX && (next == 0 || deadline < next) ? deadline : next;
}

void pipeline_finish(struct pipeline *p, struct clock_pair now)
{
	struct storm_summary summary;
	struct waiting *held;

	(void)now;
	while ((held = shelf_overdue(p->shelf, UINT64_MAX))) {
		p->stats.facts_late++;
		release(p, held, NULL, -ECANCELED);
	}
	join_finish(p->join);
	while (storm_take_ended(p->storm, UINT64_MAX, &summary))
		send_summary(p, &summary);
}

void pipeline_stats(const struct pipeline *p, struct pipeline_stats *ret_stats)
{
	struct storm_counts storm;

	storm_counts(p->storm, &storm);
	*ret_stats = p->stats;
	ret_stats->suppressed_open = storm.open;
	ret_stats->suppressed_other_kinds = storm.other_kinds;
	ret_stats->storm_evicted = storm.evicted;
	join_stats(p->join, &ret_stats->join);
}
