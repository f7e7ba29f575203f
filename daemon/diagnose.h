/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * From an incident to a verdict. Every cause of causes.def is asked; each is a
 * pure function of the incident. Order never decides: two causes "proven" at once
 * both become "likely" and are counted as a conflict.
 */
#ifndef PINWHY_DIAGNOSE_H
#define PINWHY_DIAGNOSE_H

#include <stdbool.h>
#include <stdint.h>

#include "incident.h"

enum confidence {
#define CONFIDENCE(word, meaning) CONFIDENCE_##word,
#define DETAIL(word, meaning)
#define GRADE(word, meaning)
#include "words.def"
#undef CONFIDENCE
#undef DETAIL
	CONFIDENCE_MAX
};

enum detail {
	DETAIL_none = 0,
#define CONFIDENCE(word, meaning)
#define DETAIL(word, meaning) DETAIL_##word,
#include "words.def"
#undef DETAIL
#undef GRADE
	DETAIL_MAX
};

enum grade {
	GRADE_none = 0,
#define DETAIL(word, meaning)
#define GRADE(word, meaning) GRADE_##word,
#include "words.def"
#undef CONFIDENCE
#undef DETAIL
#undef GRADE
	GRADE_MAX
};

extern const struct word confidence_words[CONFIDENCE_MAX];
extern const struct word detail_words[DETAIL_MAX];	/* [DETAIL_none] is { NULL, NULL } */
extern const struct word grade_words[GRADE_MAX];

#define FINDING_LINES 16
#define FINDING_TEXT 320
#define FINDING_WHAT 48

enum finding_kind {
	FINDING_SILENT = 0,	/* the cause has nothing to say about this incident */
	FINDING_RULED_OUT,	/* excluded, by the number in `because` */
	FINDING_LIKELY,
	FINDING_PROVEN,
};

struct finding {
	enum finding_kind kind;
	enum detail detail;
	enum grade grade;	/* first_pin.grade */
	const struct wire_pin *pin;	/* of the ledger, in the incident: who holds the page that is named. NULL = not seen */
	char because[FINDING_TEXT];	/* RULED_OUT: the number that excludes it */
	char summary[FINDING_TEXT];	/* one sentence */
	char evidence[FINDING_LINES][FINDING_TEXT];
	uint32_t nevidence;
	char remedies[FINDING_LINES][FINDING_TEXT];
	uint32_t nremedies;
	struct {
		char what[FINDING_WHAT];
		char why[FINDING_TEXT];
	} missing[FINDING_LINES];	/* what would have decided it, and why it is not there */
	uint32_t nmissing;
	char candidates[FINDING_LINES][FINDING_TEXT];	/* who may hold the page, and what speaks for it */
	uint32_t ncandidates;
};

/* Append a line; lines past FINDING_LINES are a programmer's error. */
void finding_because(struct finding *f, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void finding_summary(struct finding *f, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void finding_evidence(struct finding *f, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void finding_remedy(struct finding *f, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void finding_missing(struct finding *f, const char *what, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
void finding_candidate(struct finding *f, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

typedef void (*cause_fn)(const struct incident *in, const struct identity *id, struct finding *ret);

enum cause_when {
	CAUSE_FAILS = 1 << 0,	/* asked of calls that failed */
	CAUSE_HANGS = 1 << 1,	/* asked of calls that have not come back */
	CAUSE_DAMAGES = 1 << 2,	/* asked of regions that were made and whose memory was replaced */
	CAUSE_WARNS = 1 << 3,	/* asked of pins that will make others fail */
};

/* One row of causes.def. `what`, `how`, `confirm` are the pages of `pinwhy causes ID`. */
struct cause {
	const char *id;
	const int *errnos;	/* what the failing function returns, 0-terminated; NULL = any */
	uint32_t stages;	/* IN(stage) of all where it can happen; 0 = any */
	uint32_t when;		/* enum cause_when */
	const char *title;	/* "the memory cannot be moved out of a CMA area": used by explain */
	const char *what, *how, *confirm;
	cause_fn fn;		/* NULL: no hook can see it; a page of documentation only */
};
extern const struct cause causes[];
extern const uint32_t ncauses;
/* NULL when there is no such cause. */
const struct cause *cause_find(const char *id);

#define CAUSES_MAX 96

struct diagnosis {
	const struct cause *cause;	/* NULL = unknown */
	enum confidence confidence;
	bool conflict;
	struct finding verdict;		/* of `cause`; for unknown: what was seen and what was missing */
	struct {
		const struct cause *cause;
		char because[FINDING_TEXT];
	} ruled_out[CAUSES_MAX];
	uint32_t nruled_out;
	/*
	 * Other causes that fit. When they fit as well as `cause` does, which of them is
	 * `cause` is alphabetical and means nothing.
	 */
	const struct cause *also[CAUSES_MAX];
	uint32_t nalso;
};

/* Which kind of cause is asked of it. */
enum cause_when diagnose_asks(const struct incident *in);
void diagnose(const struct incident *in, const struct identity *id, struct diagnosis *ret);
/* The same over any table of at most CAUSES_MAX rows. */
void diagnose_with(const struct cause *table, uint32_t n, const struct incident *in,
		   const struct identity *id, struct diagnosis *ret);
/* The finding of "unknown": fills what was seen, what to look at, what was missing. */
void diagnose_unknown(const struct incident *in, const struct identity *id, struct finding *ret);

/* What such references may be called, and no more. */
enum grade folio_grade(const struct folio_refs *refs);

#endif
