// SPDX-License-Identifier: BSD-2-Clause
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "metrics.h"

#include "names.h"

struct page {
	char *buf;
	size_t size, len;
	bool full;
};

static const char *const kind_names[WIRE_KIND_MAX] = {
#define EVENT(id, name, type) [id] = #name,
#include "events.def"
#undef EVENT
};

__attribute__((format(printf, 2, 3)))
static void add(struct page *p, const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(p->buf + p->len, p->size - p->len, fmt, ap);
	va_end(ap);
	if (n < 0 || (size_t)n >= p->size - p->len)
		p->full = true;
	else
		p->len += (size_t)n;
}

static void sample(struct page *p, const char *name, uint64_t value)
{
	add(p, "%s %llu\n", name, (unsigned long long)value);
}

/* Our own words need no escaping: lower-case letters, digits, underscores and dots. */
static void labelled(struct page *p, const char *name, const char *label, const char *word,
		     uint64_t value)
{
	add(p, "%s{%s=\"%s\"} %llu\n", name, label, word, (unsigned long long)value);
}

static void by_kind(struct page *p, const char *name, const uint64_t *values)
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
		labelled(p, name, "kind", word, values[k]);
	}
}

static void write_build_info(struct page *p, const char *name, const struct metrics *m)
{
	labelled(p, name, "version", m->version, 1);
}

static void write_registrations(struct page *p, const char *name, const struct metrics *m)
{
	for (uint32_t api = WIRE_API_NONE + 1; api < WIRE_API_MAX; api++) {
		add(p, "%s{api=\"%s\",result=\"ok\"} %llu\n", name, name_api(api),
		    (unsigned long long)m->loss.api_ok[api]);
		add(p, "%s{api=\"%s\",result=\"failed\"} %llu\n", name, name_api(api),
		    (unsigned long long)m->loss.api_failed[api]);
	}
}

static void write_events(struct page *p, const char *name, const struct metrics *m)
{
	by_kind(p, name, m->loss.emitted);
}

static void write_events_dropped(struct page *p, const char *name, const struct metrics *m)
{
	by_kind(p, name, m->loss.dropped);
}

static void write_decoded(struct page *p, const char *name, const struct metrics *m)
{
	by_kind(p, name, m->pipeline.kind_in);
}

static void write_stranded(struct page *p, const char *name, const struct metrics *m)
{
	for (int via = WIRE_PIN_VIA_NONE + 1; via < WIRE_PIN_VIA_MAX; via++)
		if (pin_vias[via].module[0])
			labelled(p, name, "driver", pin_vias[via].module, m->loss.stranded[via] - m->loss.freed[via]);
}

static bool is_attached(const struct slot_status *s)
{
	return s->state == SLOT_ATTACHED || s->state == SLOT_ACTIVE;
}

static void write_slot_attached(struct page *p, const char *name, const struct metrics *m)
{
	for (uint32_t i = 0; i < m->nslots; i++)
		labelled(p, name, "slot", m->slots[i].name, is_attached(&m->slots[i]));
}

static void write_slot_state(struct page *p, const char *name, const struct metrics *m)
{
	for (uint32_t i = 0; i < m->nslots; i++)
		for (int s = SLOT_ABSENT; s <= SLOT_ACTIVE; s++)
			add(p, "%s{slot=\"%s\",state=\"%s\"} %d\n", name, m->slots[i].name,
			    slot_state_name((enum slot_state)s), (int)m->slots[i].state == s);
}

static void write_slot_info(struct page *p, const char *name, const struct metrics *m)
{
	for (uint32_t i = 0; i < m->nslots; i++)
		if (is_attached(&m->slots[i]))
			add(p, "%s{slot=\"%s\",variant=\"%s\",target=\"%s\",module=\"%s\"} 1\n", name, m->slots[i].name,
			    m->slots[i].variant, m->slots[i].target, m->slots[i].module);
}

static void write_slot_runs(struct page *p, const char *name, const struct metrics *m)
{
	for (uint32_t i = 0; i < m->nslots; i++)
		labelled(p, name, "slot", m->slots[i].name, m->slots[i].runs);
}

static void write_slot_missed(struct page *p, const char *name, const struct metrics *m)
{
	for (uint32_t i = 0; i < m->nslots; i++)
		labelled(p, name, "slot", m->slots[i].name, m->slots[i].missed);
}

static void report_sample(struct page *p, const char *name, const char *cause,
			  const char *confidence, uint64_t value)
{
	add(p, "%s{cause=\"%s\",confidence=\"%s\"} %llu\n", name, cause, confidence,
	    (unsigned long long)value);
}

static void write_reports(struct page *p, const char *name, const struct metrics *m)
{
	for (uint32_t i = 0; i < ncauses && i < CAUSES_MAX; i++)
		for (int c = 0; c < CONFIDENCE_MAX; c++)
			/* A cause that is named is at least likely. */
			if (c != CONFIDENCE_unknown || m->by_cause[i][c])
				report_sample(p, name, causes[i].id, confidence_words[c].word,
					      m->by_cause[i][c]);
	report_sample(p, name, "unknown", "unknown", m->unknown);
	report_sample(p, name, "none", "none", m->without_verdict);
}

static void write_cpu_seconds(struct page *p, const char *name, const struct metrics *m)
{
	add(p, "%s %.6f\n", name, (double)m->cpu_ns / 1e9);
}

static void write_start_time(struct page *p, const char *name, const struct metrics *m)
{
	add(p, "%s %.3f\n", name, (double)m->start_real_ns / 1e9);
}

int metrics_render(const struct metrics *m, char *buf, size_t size, size_t *ret_len)
{
	struct page page = { .buf = buf, .size = size }, *p = &page;

#define HEAD(name, type, help) add(p, "# HELP %s %s\n# TYPE %s %s\n", #name, help, #name, #type)
#define METRIC(name, type, help, value) HEAD(name, type, help); sample(p, #name, value);
#define METRIC_EACH(name, type, help, write) HEAD(name, type, help); write(p, #name, m);
#include "metrics.def"
#undef HEAD
#undef METRIC
#undef METRIC_EACH
	if (page.full)
		return -ENOBUFS;
	*ret_len = page.len;
	return 0;
}

static enum confidence confidence_of(const char *word)
{
	for (int c = 0; c < CONFIDENCE_MAX; c++)
		if (strcmp(confidence_words[c].word, word) == 0)
			return (enum confidence)c;
	return CONFIDENCE_unknown;
}

void metrics_report(struct metrics *m, const struct report *report)
{
	if (!report->cause || !*report->cause) {
		m->without_verdict++;
		return;
	}
	for (uint32_t i = 0; i < ncauses && i < CAUSES_MAX; i++) {
		if (strcmp(causes[i].id, report->cause) != 0)
			continue;
		m->by_cause[i][confidence_of(report->confidence)]++;
		return;
	}
	m->unknown++;
}
