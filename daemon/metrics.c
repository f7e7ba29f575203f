// SPDX-License-Identifier: BSD-2-Clause
#include <string.h>

#include "metrics.h"

#include "names.h"

static const char *const kind_names[WIRE_KIND_MAX] = {
#define EVENT(id, name, type) [id] = #name,
#include "events.def"
#undef EVENT
};

static void labelled(struct exposition *e, const char *label, const char *word, uint64_t value)
{
	exposition_u64(e, EXPOSITION_LABELS({ label, word }), value);
}

static void by_kind(struct exposition *e, const uint64_t *values)
{
	char word[32];

	for (int k = 0; k < WIRE_KIND_MAX; k++) {
		size_t i;

		if (!kind_names[k])
			continue;
		for (i = 0; kind_names[k][i] && i < sizeof(word) - 1; i++)
			word[i] = (char)(kind_names[k][i] >= 'A' && kind_names[k][i] <= 'Z' ?
					 kind_names[k][i] + ('a' - 'A') : kind_names[k][i]);
		word[i] = '\0';
		labelled(e, "kind", word, values[k]);
	}
}

static void write_build_info(struct exposition *e, const struct metrics *m)
{
	labelled(e, "version", m->version, 1);
}

static void write_node_info(struct exposition *e, const struct metrics *m)
{
	labelled(e, "kernel", m->kernel, 1);
}

static void write_registrations(struct exposition *e, const struct metrics *m)
{
	for (uint32_t api = WIRE_API_NONE + 1; api < WIRE_API_MAX; api++) {
		exposition_u64(e, EXPOSITION_LABELS({ "api", name_api(api) }, { "result", "ok" }), m->loss.api_ok[api]);
		exposition_u64(e, EXPOSITION_LABELS({ "api", name_api(api) }, { "result", "failed" }), m->loss.api_failed[api]);
	}
}

static void write_events(struct exposition *e, const struct metrics *m)
{
	by_kind(e, m->loss.emitted);
}

static void write_events_dropped(struct exposition *e, const struct metrics *m)
{
	by_kind(e, m->loss.dropped);
}

static void write_decoded(struct exposition *e, const struct metrics *m)
{
	by_kind(e, m->pipeline.kind_in);
}

static void write_stranded(struct exposition *e, const struct metrics *m)
{
	for (int via = WIRE_PIN_VIA_NONE + 1; via < WIRE_PIN_VIA_MAX; via++)
		if (pin_vias[via].module[0])
			labelled(e, "driver", pin_vias[via].module, m->loss.stranded[via] - m->loss.freed[via]);
}

static bool is_attached(const struct slot_status *s)
{
	return s->state == SLOT_ATTACHED || s->state == SLOT_ACTIVE;
}

static void write_slot_attached(struct exposition *e, const struct metrics *m)
{
	for (uint32_t i = 0; i < m->nslots; i++)
		labelled(e, "slot", m->slots[i].name, is_attached(&m->slots[i]));
}

static void write_slot_state(struct exposition *e, const struct metrics *m)
{
	for (uint32_t i = 0; i < m->nslots; i++)
		for (int s = SLOT_ABSENT; s <= SLOT_ACTIVE; s++)
			exposition_u64(e, EXPOSITION_LABELS({ "slot", m->slots[i].name }, { "state", slot_state_name((enum slot_state)s) }),
				       (int)m->slots[i].state == s);
}

static void write_slot_info(struct exposition *e, const struct metrics *m)
{
	for (uint32_t i = 0; i < m->nslots; i++)
		if (is_attached(&m->slots[i]))
			exposition_u64(e, EXPOSITION_LABELS({ "slot", m->slots[i].name }, { "variant", m->slots[i].variant },
							    { "target", m->slots[i].target }, { "module", m->slots[i].module }), 1);
}

static void write_slot_runs(struct exposition *e, const struct metrics *m)
{
	for (uint32_t i = 0; i < m->nslots; i++)
		labelled(e, "slot", m->slots[i].name, m->slots[i].runs);
}

static void write_slot_missed(struct exposition *e, const struct metrics *m)
{
	for (uint32_t i = 0; i < m->nslots; i++)
		labelled(e, "slot", m->slots[i].name, m->slots[i].missed);
}

static void report_sample(struct exposition *e, const char *cause, const char *confidence, const struct metrics_verdict *v)
{
	const struct exposition_example example = { "report_id", v->last_id, v->last_real_ns };

	exposition_count(e, EXPOSITION_LABELS({ "cause", cause }, { "confidence", confidence }), v->n, *v->last_id ? &example : NULL);
}

static void write_reports(struct exposition *e, const struct metrics *m)
{
	for (uint32_t i = 0; i < ncauses && i < CAUSES_MAX; i++)
		for (int c = 0; c < CONFIDENCE_MAX; c++)
			/* A cause that is named is at least likely. */
			if (c != CONFIDENCE_unknown || m->by_cause[i][c].n)
				report_sample(e, causes[i].id, confidence_words[c].word, &m->by_cause[i][c]);
	report_sample(e, "unknown", "unknown", &m->unknown);
	report_sample(e, "none", "none", &m->without_verdict);
}

#define SINK_SAMPLES(what, value) \
	static void write_sink_##what(struct exposition *e, const struct metrics *m) \
	{ \
		for (uint32_t i = 0; i < m->nsinks; i++) { \
			const struct sink_stats *s = &m->sinks[i]; \
			labelled(e, "sink", s->name, value); \
		} \
	}
SINK_SAMPLES(accepted, s->accepted)
SINK_SAMPLES(written, s->written)
SINK_SAMPLES(dropped, s->dropped)
SINK_SAMPLES(errors, s->errors)
SINK_SAMPLES(late, s->late)
SINK_SAMPLES(repaired_bytes, s->repaired_bytes)
SINK_SAMPLES(rotations, s->rotations)
SINK_SAMPLES(syncs, s->syncs)
SINK_SAMPLES(queued, s->queued)
SINK_SAMPLES(queued_bytes, s->queued_bytes)
SINK_SAMPLES(failing, s->last_errno != 0)

static void write_http_requests(struct exposition *e, const struct metrics *m)
{
	for (int c = 0; c < HTTP_CODES_MAX; c++)
		labelled(e, "code", http_code_word((enum http_code)c), m->http.requests[c]);
}

static void write_http_longest_turn(struct exposition *e, const struct metrics *m)
{
	exposition_seconds(e, NULL, m->http.longest_turn_ns);
}

static void write_reload_time(struct exposition *e, const struct metrics *m)
{
	exposition_seconds(e, NULL, m->reload_real_ns);
}

static void write_http_behind_longest(struct exposition *e, const struct metrics *m)
{
	exposition_seconds(e, NULL, m->http.behind_longest_ns);
}

static void write_cpu_seconds(struct exposition *e, const struct metrics *m)
{
	exposition_seconds(e, NULL, m->cpu_ns);
}

static void write_start_time(struct exposition *e, const struct metrics *m)
{
	exposition_seconds(e, NULL, m->start_real_ns);
}

int metrics_render(const struct metrics *m, enum exposition_format format, char *buf, size_t size, size_t *ret_len)
{
	struct exposition exposition, *e = &exposition;

	exposition_begin(e, format, buf, size, m->start_real_ns);
#define METRIC(name, type, help, value) exposition_family(e, #name, EXPOSITION_##type, help); exposition_u64(e, NULL, value);
#define METRIC_EACH(name, type, help, write) exposition_family(e, #name, EXPOSITION_##type, help); write(e, m);
#include "metrics.def"
#undef METRIC
#undef METRIC_EACH
	return exposition_end(e, ret_len);
}

static enum confidence confidence_of(const char *word)
{
	for (int c = 0; c < CONFIDENCE_MAX; c++)
		if (strcmp(confidence_words[c].word, word) == 0)
			return (enum confidence)c;
	return CONFIDENCE_unknown;
}

static void count(struct metrics_verdict *v, const struct report *report, uint64_t real_ns)
{
	v->n++;
	v->last_real_ns = real_ns;
	memcpy(v->last_id, report->id, sizeof(v->last_id));
}

void metrics_report(struct metrics *m, const struct report *report, uint64_t real_ns)
{
	if (!report->cause || !*report->cause) {
		count(&m->without_verdict, report, real_ns);
		return;
	}
	for (uint32_t i = 0; i < ncauses && i < CAUSES_MAX; i++) {
		if (strcmp(causes[i].id, report->cause) != 0)
			continue;
		count(&m->by_cause[i][confidence_of(report->confidence)], report, real_ns);
		return;
	}
	count(&m->unknown, report, real_ns);
}
