// SPDX-License-Identifier: BSD-2-Clause
/* CMA's own side of a hazard: somebody wanted contiguous memory where a first pin holds a page. */
#include <errno.h>
#include <inttypes.h>

#include "causes/placement.h"
#include "names.h"
#include "text.h"

void cause_cma_alloc_blocked_by_pin(const struct incident *in, const struct identity *id, struct finding *ret);

static void tell_allocation(const struct incident *in, const char *asked, struct finding *ret)
{
	const struct wire_contig *c = &in->contig;

	finding_evidence(ret, "%s (pid %u) asked for %" PRIu64 " contiguous pages (%s), and cma_alloc %s%s%s", in->end.comm, in->end.tgid, (uint64_t)c->pages,
			 asked, !c->failed ? "found another range in the end" : "failed", c->result ? " with " : "", c->result ? name_errno(-c->result) : "");
	finding_evidence(ret, "ranges tried that could not be emptied: %u; ranges of these in which a pin of the ledger has a page: %u, the first from frame 0x%" PRIx64 " on",
			 c->busy, c->pinned, (uint64_t)c->range_pfn);
}

static void tell_pin(const struct incident *in, const struct identity *id, struct finding *ret)
{
	const struct wire_pin *pin = &in->holders.pins[0].pin;
	uint64_t age_ns = incident_pin_age_ns(in, pin);

	finding_evidence(ret, "%s (pid %u) pinned %" PRIu64 " page%s from 0x%" PRIx64 ", this one among them, %" PRIu64 ".%03" PRIu64 " s earlier by %s%s, and %s",
			 pin->comm, pin->tgid, (uint64_t)pin->pages, pin->pages == 1 ? "" : "s", (uint64_t)pin->address, age_ns / 1000000000,
			 age_ns / 1000000 % 1000, pin_vias[pin->via].function, pin_not_longterm(pin, id) ? " without FOLL_LONGTERM" : "",
			 !in->contig.held ? "has let go since" : pin->doubt ? "may have let go" : "has not let go");
}

/* What keeps the pin from being the whole reason; each reason becomes a line. True: none. */
static bool tell_doubts(const struct incident *in, const struct folio_refs *refs, struct finding *ret)
{
	const struct wire_contig *c = &in->contig;
	uint32_t before = ret->nmissing;

	if (c->busy > c->pinned)
		finding_missing(ret, "reason of the other ranges", "%u could not be emptied and no pin of the ledger was found in them; the ledger was gone through to its end for %u of these",
				c->busy - c->pinned, c->busy - c->pinned - c->unsearched);
	if (c->result && c->result != -EBUSY)
		finding_missing(ret, "reason of the end", "a busy range is %s, and it ended with %s", name_errno(EBUSY), name_errno(-c->result));
	if (c->failed && !c->result)
		finding_missing(ret, "reason of the end", "with which errno it ended was not seen; a busy range is %s", name_errno(EBUSY));
	if (in->holders.pins[0].pin.since_ns >= c->start_ns)
		finding_missing(ret, "order of the two", "the pin was taken after the allocation had begun");
	if (c->held && in->holders.pins[0].pin.doubt)
		finding_missing(ret, "first_pin.release", "%s", pin_doubts[in->holders.pins[0].pin.doubt].meaning);
	if (!(in->folios[0].flags & WIRE_FOLIO_CMA))
		finding_missing(ret, "pages.migratetype", "that the page lies in CMA was not seen");
	/* Given back, its count is gone as well. */
	if (c->held && !refs->known)
		finding_missing(ret, "pages.refcount", "it is a later page of a large folio, whose references were not read");
	else if (c->held && refs->pins <= 0)
		finding_missing(ret, "pages.pincount", "its references do not count like a pin");
	return ret->nmissing == before;
}

void cause_cma_alloc_blocked_by_pin(const struct incident *in, const struct identity *id, struct finding *ret)
{
	const struct wire_contig *c = &in->contig;
	const struct wire_folio *f = &in->folios[0];
	const struct wire_pin *pin = &in->holders.pins[0].pin;
	struct stay where = { .places = f->flags & WIRE_FOLIO_CMA, .first = f, .any = f };
	char page[FINDING_TEXT], place[FINDING_TEXT], asked[TEXT_BYTES_LEN];
	struct folio_refs refs;

	if (in->hazard && !c->pages) {
		ret->kind = FINDING_RULED_OUT;
		finding_because(ret, "0 contiguous allocations have asked for these pages so far");
		return;
	}
	if (!in->hazard || !in->holders.npins || !in->nfolios)
		return;
	refs = folio_refs(f);
	text_bytes(asked, c->pages * id->page_size);
	ret->detail = c->failed ? DETAIL_contiguous_failed : DETAIL_contiguous_elsewhere;
	ret->grade = !c->held ? GRADE_pin_given_back_since : pin->doubt ? GRADE_pin_evident_owner_unseen : GRADE_pin_proven_owner_seen;
	ret->pin = pin->doubt ? NULL : pin;
	finding_summary(ret, "an allocation of %s of contiguous memory %s: it could not have a range in which %s (pid %u) %s a page by %s", asked,
			c->failed ? "failed" : "had to try again", pin->comm, pin->tgid, pin->doubt ? "had pinned" : "holds", pin_vias[pin->via].function);
	tell_allocation(in, asked, ret);
	if (f->have & WIRE_HAVE_PLACEMENT)
		finding_evidence(ret, "%s, in %s", page_name(page, f), place_name(place, f));
	if (refs.known)
		finding_evidence(ret, "it has %" PRId64 " references where %" PRId64 " were expected, which count like %" PRId64 " pin%s", (int64_t)f->refcount,
				 (int64_t)f->expected, refs.pins, refs.pins == 1 ? "" : "s");
	tell_pin(in, id, ret);
	ret->kind = tell_doubts(in, &refs, ret) ? FINDING_PROVEN : FINDING_LIKELY;
	finding_remedy(ret, "end the process that holds the pin, or let it unregister the memory (cudaHostUnregister), and the range can be emptied");
	finding_remedy(ret, "let the memory of the area be taken before such processes start, as at boot or by the driver that needs it");
	tell_nvidia_remedy(pin, id, ret);
	tell_place_remedies(in, &where, ret);
}
