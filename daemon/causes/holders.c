// SPDX-License-Identifier: BSD-2-Clause
/* Who holds the pages that would not move: what may be said of it, and what to do about it. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "causes/placement.h"
#include "names.h"
#include "text.h"

enum grade holder_grade(const struct incident *in, const struct wire_folio *f, const struct folio_refs *refs)
{
	/* Its taker's array has the page, and the count agrees. Without a pin in the count the ledger would be wrong. */
	if (refs->pins > 0 && incident_holders(in, f, NULL))
		return GRADE_pin_proven_owner_seen;
	/* It may hold the page, or have let go of it to move it: the count cannot tell, so that it is said beside it. */
	if (folio_grade(refs) == GRADE_pin_evident_owner_unseen && incident_rivals(in, f, NULL))
		return GRADE_another_longterm_pin_in_flight;
	return folio_grade(refs);
}

/* The pin that holds the folio which the verdict names, NULL when it is not in the ledger. */
static const struct wire_pin *named_pin(const struct incident *in, const struct stay *s)
{
	const struct wire_pin *pin = NULL;
	struct folio_refs refs = folio_refs(s->first);

	if (holder_grade(in, s->first, &refs) == GRADE_pin_proven_owner_seen)
		incident_holders(in, s->first, &pin);
	return pin;
}

static void tell_flags(const struct identity *id, const struct wire_pin *pin, struct text *t)
{
	if (!pin->calls)
		text_add(t, "; its flags were not seen");
	else if (!id->foll_longterm)
		text_add(t, " with flags 0x%x", pin->gup_flags);
	else
		text_add(t, " %s FOLL_LONGTERM", pin->gup_flags & id->foll_longterm ? "with" : "without");
}

void tell_holder(const struct incident *in, const struct identity *id, const struct stay *s, struct finding *ret)
{
	const struct wire_pin *pin = named_pin(in, s);
	struct folio_refs refs = folio_refs(s->first);
	uint32_t n = incident_holders(in, s->first, NULL);
	uint64_t age_ns;
	char buf[FINDING_TEXT];
	struct text t;
	uint32_t calls;
	bool again;

	if (!pin)
		return;
	/* One entry for each page: the call that made it may be over while a later one holds on. */
	calls = incident_calls(in, s->first, pin);
	again = pin->via != WIRE_PIN_VIA_NVIDIA && calls > 1;
	age_ns = incident_pin_age_ns(in, pin);
	text_init(&t, buf, sizeof(buf));
	text_add(&t, "%s (pid %u%s) pinned ", pin->comm, pin->tgid, incident_own_pin(in, pin) ? ", the process itself" : "");
	if (again)
		text_add(&t, "this page %u times, first ", calls);
	else
		text_add(&t, "%" PRIu64 " page%s from 0x%" PRIx64 ", this one among them, ", (uint64_t)pin->pages, pin->pages == 1 ? "" : "s",
			 (uint64_t)pin->address);
	text_add(&t, "%" PRIu64 ".%03" PRIu64 " s earlier by %s", age_ns / 1000000000, age_ns / 1000000 % 1000, pin_vias[pin->via].function);
	tell_flags(id, pin, &t);
	finding_evidence(ret, "%s, and has %s", buf, again ? "had it pinned ever since, though maybe by later ones alone" : "not let go");
	if (n > 1)
		finding_evidence(ret, "at least %u pins of the ledger cover that page", n);
	if (!refs.counted && refs.pins > n)
		finding_evidence(ret, "its references count like %" PRId64 " pins; at least %u of them %s in the ledger", refs.pins, n, n == 1 ? "is" : "are");
	ret->pin = pin;
}

void tell_rivals(const struct incident *in, const struct stay *s, struct finding *ret)
{
	const struct wire_pin *pin = NULL;
	uint32_t i, n = 0;

	for (i = 0; i < in->nfolios && !n; i++)
		n = incident_rivals(in, &in->folios[i], &pin);
	if (!n)
		return;
	finding_evidence(ret, "at that moment thread %u of the process was in a long-term pin of its own, of %" PRIu64 " page%s from 0x%" PRIx64 "%s",
			 pin->tid, (uint64_t)pin->pages, pin->pages == 1 ? "" : "s", (uint64_t)pin->address, n > 1 ? ", and others" : "");
	if (s->blocked)
		finding_remedy(ret, "if threads register overlapping memory at once: let one do it first; a later pin of moved pages passes");
}

void tell_held(const struct incident *in, const struct identity *id, const struct stay *s, struct finding *ret)
{
	ret->grade = stay_grade(s);
	tell_holder(in, id, s, ret);
	tell_rivals(in, s, ret);
	tell_candidates(in, s, id, ret);
}

void tell_order_remedies(const struct stay *s, struct finding *ret)
{
	finding_remedy(ret, "register the memory before anything else pins it: while nobody holds the page, the long-term pin moves it by itself");
	if (s->by_grade[GRADE_plain_reference] || s->by_grade[GRADE_pin_or_references])
		finding_remedy(ret, "if the holder is a pipe or an I/O in flight: retry after the pipe was read or the I/O has completed");
}

/* Which releases pin long-term on this architecture. */
static void tell_nvidia_release(const struct identity *id, const char *when, struct finding *ret)
{
	if (strcmp(id->machine, "x86_64") == 0)
		finding_remedy(ret, "%sNVIDIA's driver on x86_64: from 535.171.04 in the 535 series, and from 550.67, its pin is long-term and moves the page first", when);
	else if (strcmp(id->machine, "aarch64") == 0)
		finding_remedy(ret, "%sNVIDIA's driver on arm64: no release read so far (to 595.45.04) pins long-term there; only the order of the pins or the place of the memory can help", when);
}

void tell_nvidia_remedy(const struct wire_pin *pin, const struct identity *id, struct finding *ret)
{
	/* A release that pins long-term would change nothing about a pin that was. */
	if (pin->via == WIRE_PIN_VIA_NVIDIA && !(pin->gup_flags & id->foll_longterm))
		tell_nvidia_release(id, "the holder is ", ret);
}

void tell_holder_remedies(const struct incident *in, const struct stay *s, const struct identity *id, struct finding *ret)
{
	const struct wire_pin *pin = named_pin(in, s);

	if (pin)
		tell_nvidia_remedy(pin, id, ret);
	else if (s->by_grade[GRADE_pin_evident_owner_unseen] || s->by_grade[GRADE_pin_or_references])
		tell_nvidia_release(id, "if the holder is ", ret);
}
