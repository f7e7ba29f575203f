/* SPDX-License-Identifier: BSD-2-Clause */
/* The folios that would not move for a long-term pin: what the causes of placement ask of them. */
#ifndef PINWHY_CAUSES_PLACEMENT_H
#define PINWHY_CAUSES_PLACEMENT_H

#include "diagnose.h"

/* What the folios that stayed have in common. Folios in places that pins accept are not counted. */
struct stay {
	uint32_t known;		/* place and counts are known */
	uint32_t blocked;	/* have surplus references */
	uint32_t by_grade[GRADE_MAX];
	uint32_t one_pin;	/* blocked: by what counts like a single pin and nothing else */
	uint32_t one_mlocked;	/* blocked: by a single plain reference, and mlocked */
	uint32_t huge_in_cma;	/* hugetlb folios in CMA */
	uint32_t places;	/* WIRE_FOLIO_* places of the blocked ones, or of all when none is */
	int64_t extra_max;
	uint32_t flags;		/* WIRE_FOLIO_* of the blocked ones together */
	const struct wire_folio *any;	/* the first that is known */
	const struct wire_folio *first;	/* the one to name: blocked and fit for proof, else blocked */
	bool first_clean;
	bool hugetlb_only;	/* of those without surplus */
};
void stay_look(const struct incident *in, struct stay *s);
/* Of all that are blocked. */
enum grade stay_grade(const struct stay *s);

/* Rules the cause out where the kernel moves no page for a long-term pin. False: it may move some. */
bool pins_stay(const struct incident *in, const struct identity *id, struct finding *f);

/* Was a page to move to refused? That stops migration whatever the references are. */
bool stay_no_target(const struct incident *in);

/* "a MIGRATE_CMA pageblock of area \"x\"", "page 37 (0x..., pfn 0x..., node 0)". */
const char *place_name(char buf[FINDING_TEXT], const struct wire_folio *f);
const char *page_name(char buf[FINDING_TEXT], const struct wire_folio *f);
enum detail place_detail(uint32_t places);
void tell_migration(const struct incident *in, const struct identity *id, struct finding *ret);
void tell_place_remedies(const struct incident *in, const struct stay *s, struct finding *ret);
/* CMA that belongs to no area that is listed. */
void tell_left_cma(const struct incident *in, const struct wire_folio *f, struct finding *ret);

/* --- who holds them (holders.c) --- */

/* How a folio with surplus references is held, and whether by whom was seen. */
enum grade holder_grade(const struct incident *in, const struct wire_folio *f, const struct folio_refs *refs);
void tell_holder(const struct incident *in, const struct identity *id, const struct stay *s, struct finding *ret);
/* Other registrations of the process that were pinning the same pages. */
void tell_rivals(const struct incident *in, const struct stay *s, struct finding *ret);
/* The grade, who was seen, and who may be it. */
void tell_held(const struct incident *in, const struct identity *id, const struct stay *s, struct finding *ret);
/* Who may hold those whose holder was not seen (candidates.c). */
void tell_candidates(const struct incident *in, const struct stay *s, const struct identity *id, struct finding *ret);
void tell_order_remedies(const struct stay *s, struct finding *ret);
/* Of a pin of the ledger: the release of its driver that would have pinned otherwise. */
void tell_nvidia_remedy(const struct wire_pin *pin, const struct identity *id, struct finding *ret);
void tell_holder_remedies(const struct incident *in, const struct stay *s, const struct identity *id, struct finding *ret);

#endif
