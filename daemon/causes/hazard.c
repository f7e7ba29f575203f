// SPDX-License-Identifier: BSD-2-Clause
/* Nothing failed yet: a first pin lies where a long-term pin would have to move its pages from, and cannot. */
#include <inttypes.h>
#include <string.h>

#include "causes/placement.h"
#include "names.h"
#include "text.h"

void cause_first_pin_strands_pages(const struct incident *in, const struct identity *id, struct finding *ret);

static uint32_t places_of(const struct wire_stranded *n)
{
	return (n->cma ? WIRE_FOLIO_CMA : 0) | (n->movable_zone ? WIRE_FOLIO_MOVABLE_ZONE : 0) | (n->isolated ? WIRE_FOLIO_ISOLATE : 0);
}

static void tell_pin(const struct wire_pin *pin, const struct identity *id, struct finding *ret)
{
	finding_evidence(ret, "%s (pid %u) pinned %" PRIu64 " page%s from 0x%" PRIx64 " by %s%s", pin->comm, pin->tgid, (uint64_t)pin->pages,
			 pin->pages == 1 ? "" : "s", (uint64_t)pin->address, pin_vias[pin->via].function,
			 pin_not_longterm(pin, id) ? " without FOLL_LONGTERM, so that they stayed where they were" : "");
	if (!pin->calls || !id->foll_longterm)
		finding_missing(ret, "first_pin.foll_longterm", "the flags of the pin were not seen");
}

static void tell_stranded(const struct wire_stranded *n, struct finding *ret)
{
	finding_evidence(ret, "%s%" PRIu64 " of %" PRIu64 " pages that were looked at: %" PRIu64 " in MIGRATE_CMA pageblocks, %" PRIu64 " in ZONE_MOVABLE, %" PRIu64 " in pageblocks that are being emptied",
			 n->lower_bound ? "at least " : "", (uint64_t)n->pages, (uint64_t)n->looked, (uint64_t)n->cma, (uint64_t)n->movable_zone,
			 (uint64_t)n->isolated);
	if (n->lower_bound)
		finding_evidence(ret, "of a pin this large one page of each pageblock was looked at, so that there are more");
}

void cause_first_pin_strands_pages(const struct incident *in, const struct identity *id, struct finding *ret)
{
	const struct wire_holder *holder = &in->holders.pins[0];
	const struct wire_stranded *n = &in->stranded;
	bool lasts = n->cma || n->movable_zone;
	char page[FINDING_TEXT], place[FINDING_TEXT];
	struct stay where = { .places = places_of(n), .first = &in->folios[0], .any = &in->folios[0] };

	if (in->contig.pages) {
		ret->kind = FINDING_RULED_OUT;
		finding_because(ret, "of its pages one has already been in the way of a contiguous allocation of %" PRIu64 " pages", (uint64_t)in->contig.pages);
		return;
	}
	if (!in->hazard || !in->holders.npins || !in->nfolios)
		return;
	ret->kind = pin_not_longterm(&holder->pin, id) && in->folios[0].have & WIRE_HAVE_PLACEMENT && lasts ? FINDING_PROVEN : FINDING_LIKELY;
	ret->detail = place_detail(where.places);
	ret->grade = GRADE_pin_proven_owner_seen;
	ret->pin = &holder->pin;
	finding_summary(ret, "%s%" PRIu64 " page%s that %s (pid %u) has just pinned %s where a long-term pin must move memory from, and it cannot while it is held: ibv_reg_mr of it %s fail with ENOMEM",
			n->lower_bound ? "at least " : "", (uint64_t)n->pages, n->pages == 1 ? "" : "s", holder->pin.comm, holder->pin.tgid,
			n->pages == 1 ? "lies" : "lie", lasts ? "will" : "may");
	tell_pin(&holder->pin, id, ret);
	tell_stranded(n, ret);
	if (!lasts)
		finding_missing(ret, "stranded.lasting", "a pageblock is isolated while somebody empties it; when that ends before memory is registered, the pages may stay");
	finding_evidence(ret, "the first of them: %s, in %s", page_name(page, &in->folios[0]), place_name(place, &in->folios[0]));
	finding_remedy(ret, "if this memory is to be registered with a device: register it before anything else pins it (ibv_reg_mr before cudaHostRegister)");
	tell_place_remedies(in, &where, ret);
	tell_nvidia_remedy(&holder->pin, id, ret);
}
