// SPDX-License-Identifier: BSD-2-Clause
#include "diagnose.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "names.h"
#include "text.h"

const struct word confidence_words[CONFIDENCE_MAX] = {
#define CONFIDENCE(word, meaning) [CONFIDENCE_##word] = { #word, meaning },
#define DETAIL(word, meaning)
#define GRADE(word, meaning)
#include "words.def"
#undef CONFIDENCE
#undef DETAIL
};
const struct word detail_words[DETAIL_MAX] = {
#define CONFIDENCE(word, meaning)
#define DETAIL(word, meaning) [DETAIL_##word] = { #word, meaning },
#include "words.def"
#undef DETAIL
#undef GRADE
};
const struct word grade_words[GRADE_MAX] = {
#define DETAIL(word, meaning)
#define GRADE(word, meaning) [GRADE_##word] = { #word, meaning },
#include "words.def"
#undef CONFIDENCE
#undef DETAIL
#undef GRADE
};

#define DOC(name, title, what, how, confirm)
#define CAUSE(name, errnos, stages, hangs, title, what, how, confirm) \
	void cause_##name(const struct incident *in, const struct identity *id, struct finding *ret);
#include "causes.def"
#undef CAUSE
#undef DOC

#define IN(stage) (1u << STAGE_##stage)
#define ERRNOS(...) ((const int[]){ __VA_ARGS__, 0 })
#define ANY_ERRNO NULL
#define ENOTSUPP 524	/* the kernel's own, include/linux/errno.h */
#define ANY_STAGE 0
#define FAILS CAUSE_FAILS
#define HANGS CAUSE_HANGS
#define DAMAGES CAUSE_DAMAGES
#define WARNS CAUSE_WARNS
#define BOTH (CAUSE_FAILS | CAUSE_HANGS)
const struct cause causes[] = {
#define DOC(name, heading, happens, told, check) \
	{ .id = #name, .title = heading, .what = happens, .how = told, .confirm = check },
#define CAUSE(name, errnos, stages, hangs, title, what, how, confirm) \
	{ #name, errnos, stages, hangs, title, what, how, confirm, cause_##name },
#include "causes.def"
#undef CAUSE
#undef DOC
};
const uint32_t ncauses = sizeof(causes) / sizeof(causes[0]);
_Static_assert(sizeof(causes) / sizeof(causes[0]) <= CAUSES_MAX, "raise CAUSES_MAX");

const struct cause *cause_find(const char *id)
{
	uint32_t i;

	for (i = 0; i < ncauses; i++)
		if (strcmp(causes[i].id, id) == 0)
			return &causes[i];
	return NULL;
}

static void set_text(char *buf, size_t size, const char *fmt, va_list ap)
	__attribute__((format(printf, 3, 0)));
static void set_text(char *buf, size_t size, const char *fmt, va_list ap)
{
	struct text t;

	text_init(&t, buf, size);
	text_vadd(&t, fmt, ap);
}

void finding_because(struct finding *f, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	set_text(f->because, sizeof(f->because), fmt, ap);
	va_end(ap);
}

void finding_summary(struct finding *f, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	set_text(f->summary, sizeof(f->summary), fmt, ap);
	va_end(ap);
}

void finding_evidence(struct finding *f, const char *fmt, ...)
{
	va_list ap;

	assert(f->nevidence < FINDING_LINES);
	va_start(ap, fmt);
	set_text(f->evidence[f->nevidence++], FINDING_TEXT, fmt, ap);
	va_end(ap);
}

void finding_remedy(struct finding *f, const char *fmt, ...)
{
	va_list ap;

	assert(f->nremedies < FINDING_LINES);
	va_start(ap, fmt);
	set_text(f->remedies[f->nremedies++], FINDING_TEXT, fmt, ap);
	va_end(ap);
}

void finding_missing(struct finding *f, const char *what, const char *fmt, ...)
{
	struct text t;
	va_list ap;

	assert(f->nmissing < FINDING_LINES);
	text_init(&t, f->missing[f->nmissing].what, FINDING_WHAT);
	text_add(&t, "%s", what);
	va_start(ap, fmt);
	set_text(f->missing[f->nmissing++].why, FINDING_TEXT, fmt, ap);
	va_end(ap);
}

void finding_candidate(struct finding *f, const char *fmt, ...)
{
	va_list ap;

	assert(f->ncandidates < FINDING_LINES);
	va_start(ap, fmt);
	set_text(f->candidates[f->ncandidates++], FINDING_TEXT, fmt, ap);
	va_end(ap);
}

/* Stronger findings first; among equals the alphabet, so that the table's order never decides. */
static bool better(const struct cause *a, const struct finding *fa, const struct cause *b,
		   const struct finding *fb)
{
	if (!b || fa->kind != fb->kind)
		return !b || fa->kind > fb->kind;
	return strcmp(a->id, b->id) < 0;
}

static void add_ruled_out(struct diagnosis *d, const struct cause *c, const struct finding *f)
{
	d->ruled_out[d->nruled_out].cause = c;
	memcpy(d->ruled_out[d->nruled_out].because, f->because, sizeof(f->because));
	d->nruled_out++;
}

static void add_errnos(struct text *t, const int *errnos)
{
	for (const char *between = ""; *errnos; errnos++, between = ", ")
		text_add(t, "%s%s", between, name_errno(*errnos));
}

#define IN_UMEM (IN(limits) | IN(umem) | IN(pin) | IN(placement) | IN(sg) | IN(dma_map))

/* Nobody followed it, and its kind of call makes an errno of its own out of a pin that stopped early. */
static bool hides_errno(const struct incident *in)
{
	return !in->end.start_ns && (in->end.api == WIRE_API_IO_URING || in->end.api == WIRE_API_XDP_UMEM);
}

/* What the row alone rules out. False: its function must be asked. */
static bool out_of_place(const struct cause *c, const struct incident *in, const struct identity *id, struct finding *f)
{
	enum stage stage = incident_stage_of(in, id);
	int err = incident_decisive_errno(in), i = 0;
	struct text t;

	while (c->errnos && c->errnos[i] && c->errnos[i] != err)
		i++;
	text_init(&t, f->because, sizeof(f->because));
	/* Of a pin that stopped early the errno is lost: the one it ended with is the caller's. */
	if (c->errnos && !c->errnos[i] && !(c->stages & IN(pin) && (incident_pin_short(in, id, NULL) || hides_errno(in)))) {
		text_add(&t, "errno is %s (%d), and this gives ", name_errno(err), err);
		add_errnos(&t, c->errnos);
	} else if (c->stages && stage != STAGE_unknown && !(c->stages & 1u << stage)) {
		text_add(&t, "it ended %s (%s %d)", stage_words[stage].meaning, name_errno(err), err);
	} else if (c->stages && stage == STAGE_unknown && !(c->stages & ~IN_UMEM) && incident_umem_excluded(in, id)) {
		text_add(&t, "no memory was refused: %s did not fail, and 0 long-term pins took the slow path",
			 name_fn(id, WIRE_FN_UMEM));
	} else {
		return false;
	}
	f->kind = FINDING_RULED_OUT;
	return true;
}

static void ask(const struct cause *c, const struct incident *in, const struct identity *id, struct finding *ret)
{
	memset(ret, 0, sizeof(*ret));
	if (in->stuck || incident_is_warning(in) || !out_of_place(c, in, id, ret))
		c->fn(in, id, ret);
}

enum cause_when diagnose_asks(const struct incident *in)
{
	if (in->hazard)
		return CAUSE_WARNS;
	return in->stale ? CAUSE_DAMAGES : in->stuck ? CAUSE_HANGS : CAUSE_FAILS;
}

static void ask_all(const struct cause *table, uint32_t n, const struct incident *in,
		    const struct identity *id, struct diagnosis *d)
{
	enum cause_when when = diagnose_asks(in);
	uint32_t i, proven = 0;
	struct finding f;

	for (i = 0; i < n; i++) {
		if (!table[i].fn || !(table[i].when & when))
			continue;
		ask(&table[i], in, id, &f);
		if (f.kind == FINDING_RULED_OUT)
			add_ruled_out(d, &table[i], &f);
		if (f.kind < FINDING_LIKELY)
			continue;
		proven += f.kind == FINDING_PROVEN;
		if (!better(&table[i], &f, d->cause, &d->verdict)) {
			d->also[d->nalso++] = &table[i];
			continue;
		}
		if (d->cause)
			d->also[d->nalso++] = d->cause;
		d->cause = &table[i];
		d->verdict = f;
	}
	d->conflict = proven > 1;
	d->confidence = proven == 1 ? CONFIDENCE_proven : CONFIDENCE_likely;
}

/*
 * Hooks whose silence means something: those that were attached before the registration began. One that found no slot to be
 * followed in has none, though hooks are attached.
 */
static void look_of(const struct incident *in, const struct identity *id, struct identity *ret)
{
	uint64_t start = in->end.start_ns;

	*ret = *id;
	for (int fn = 0; fn < WIRE_FN_MAX; fn++)
		ret->fn_watched[fn] &= start >= id->fn_since_ns[fn] && start;
	ret->putback_watched &= start >= id->folios_since_ns && start;
	ret->target_watched &= start >= id->folios_since_ns && start;
}

void diagnose_with(const struct cause *table, uint32_t n, const struct incident *in,
		   const struct identity *id, struct diagnosis *ret)
{
	struct identity seen;

	assert(n <= CAUSES_MAX);
	memset(ret, 0, sizeof(*ret));
	if (in->stuck || incident_is_warning(in)) {
		ask_all(table, n, in, id, ret);
	} else if (in->end.result != 0) { /* else nothing failed in the end: there is no cause to name */
		look_of(in, id, &seen);
		ask_all(table, n, in, &seen, ret);
	}
	if (ret->cause)
		return;
	ret->confidence = CONFIDENCE_unknown;
	diagnose_unknown(in, id, &ret->verdict);
}

void diagnose(const struct incident *in, const struct identity *id, struct diagnosis *ret)
{
	diagnose_with(causes, ncauses, in, id, ret);
}

enum grade folio_grade(const struct folio_refs *refs)
{
	if (refs->pins == 0)
		return GRADE_plain_reference;
	if (refs->counted || refs->others == 0)
		return GRADE_pin_evident_owner_unseen;
	return GRADE_pin_or_references;
}
