// SPDX-License-Identifier: BSD-2-Clause
/* Pages whose place forbids a long-term pin, and that could not be moved. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "causes/placement.h"
#include "diagnose.h"
#include "names.h"
#include "text.h"

#define REFUSED_PLACES (WIRE_FOLIO_CMA | WIRE_FOLIO_ISOLATE | WIRE_FOLIO_MOVABLE_ZONE)

void cause_longterm_migrate_blocked_by_ref(const struct incident *in, const struct identity *id,
					   struct finding *ret);

/*
 * Folios for which a surplus reference is by itself a reason not to move. Other page cache, KSM,
 * swap cache, folios under writeback and non-LRU pages have code of their own that may refuse.
 */
static bool clean(const struct wire_folio *f)
{
	const uint32_t doubtful = WIRE_FOLIO_KSM | WIRE_FOLIO_SWAPCACHE | WIRE_FOLIO_WRITEBACK |
				  WIRE_FOLIO_UNMOVABLE_OPS;

	/* A hugetlb folio is page cache of hugetlbfs, which has no code of its own in the way. */
	if (!(f->flags & WIRE_FOLIO_HUGETLB) && (f->flags & WIRE_FOLIO_FILE))
		return false;
	return (f->flags & (WIRE_FOLIO_ANON | WIRE_FOLIO_SHMEM | WIRE_FOLIO_HUGETLB)) &&
	       !(f->flags & doubtful);
}

/* Which of two folios that are held is the one to name: one fit for proof before all, then one whose holder was seen. */
static uint32_t worth(const struct incident *in, const struct wire_folio *f)
{
	return (clean(f) ? 2 : 0) + (incident_holders(in, f, NULL) ? 1 : 0);
}

static void add_blocked(const struct incident *in, struct stay *s, const struct wire_folio *f, const struct folio_refs *refs)
{
	enum grade grade = holder_grade(in, f, refs);

	if (s->blocked == 0)
		s->places = 0;
	s->blocked++;
	s->places |= f->flags & REFUSED_PLACES;
	s->by_grade[grade]++;
	s->flags |= f->flags;
	s->one_pin += (grade == GRADE_pin_evident_owner_unseen || grade == GRADE_another_longterm_pin_in_flight) && (refs->counted || refs->pins == 1);
	s->one_mlocked += refs->extra == 1 && refs->pins == 0 && f->flags & WIRE_FOLIO_MLOCKED;
	if (refs->extra > s->extra_max)
		s->extra_max = refs->extra;
	if (!s->first || worth(in, f) > worth(in, s->first)) {
		s->first = f;
		s->first_clean = clean(f);
	}
}

void stay_look(const struct incident *in, struct stay *s)
{
	const uint32_t need = WIRE_HAVE_PLACEMENT | WIRE_HAVE_COUNTS, huge_cma = WIRE_FOLIO_HUGETLB | WIRE_FOLIO_CMA;
	uint32_t i;

	memset(s, 0, sizeof(*s));
	s->hugetlb_only = true;
	for (i = 0; i < in->nfolios; i++) {
		const struct wire_folio *f = &in->folios[i];
		struct folio_refs refs = folio_refs(f);

		if ((f->have & need) != need || !refs.known || !(f->flags & REFUSED_PLACES))
			continue;
		s->known++;
		s->huge_in_cma += (f->flags & huge_cma) == huge_cma;
		if (!s->any)
			s->any = f;
		if (refs.extra > 0) {
			add_blocked(in, s, f, &refs);
			continue;
		}
		s->hugetlb_only &= !!(f->flags & WIRE_FOLIO_HUGETLB);
		if (s->blocked == 0)
			s->places |= f->flags & REFUSED_PLACES;
	}
}

bool pins_stay(const struct incident *in, const struct identity *id, struct finding *f)
{
	/* A migration that was seen says more than what the kernel was found to be. */
	if (!id->pins_stay || in->end.passes || in->end.folios_seen || incident_chain(in, WIRE_FN_MIGRATE))
		return false;
	finding_because(f, "this kernel moves 0 pages for a long-term pin: it has neither CMA nor a rule for ZONE_MOVABLE");
	f->kind = FINDING_RULED_OUT;
	return true;
}

bool stay_no_target(const struct incident *in)
{
	const struct wire_chain *migrate = incident_chain(in, WIRE_FN_MIGRATE);

	return in->end.no_target > 0 || incident_chain(in, WIRE_FN_MIGRATE_TARGET) ||
	       (migrate && migrate->result < 0);
}

/* The number that excludes the cause. False: it is not excluded. */
static bool excluded(const struct incident *in, const struct identity *id, const struct stay *s,
		     struct finding *f)
{
	const struct wire_reg_end *e = &in->end;
	int pin = incident_errno(in, WIRE_FN_GUP_LONGTERM);

	if (pin && (e->have & WIRE_HAVE_GUP_RESULT) && e->gup_result >= 0)
		finding_because(f, "the last slow-path pin succeeded (%" PRId64 " pages)",
				(int64_t)e->gup_result);
	else if ((pin || incident_pin_short(in, id, NULL)) && id->fn_watched[WIRE_FN_MIGRATE] && id->putback_watched && e->passes == 0 &&
		 e->folios_seen == 0 && !incident_chain(in, WIRE_FN_MIGRATE) && !stay_no_target(in))
		finding_because(f, "no migration was tried for this pin (0 migrations)");
	else if ((pin || incident_pin_short(in, id, NULL)) && id->putback_watched && (e->have & WIRE_HAVE_MIGRATE) && e->migrate_failed == 0 &&
		 e->folios_seen == 0 && !incident_chain(in, WIRE_FN_MIGRATE) && !stay_no_target(in))
		finding_because(f, "the last migration for this pin left 0 pages behind (%" PRId64 " moved)", (int64_t)e->migrate_moved);
	else if (s->known > 0 && s->blocked == 0 && s->known == e->folios_seen && stay_no_target(in))
		finding_because(f, "0 of %u folios that stayed had a surplus reference; no page to move to was found (%u refused)",
				s->known, e->no_target);
	else if (s->known > 0 && s->blocked == 0 && s->known == e->folios_seen && s->hugetlb_only)
		finding_because(f, "0 of %u hugetlb folios that stayed had a surplus reference", s->known);
	else
		return false;
	f->kind = FINDING_RULED_OUT;
	return true;
}

const char *place_name(char buf[FINDING_TEXT], const struct wire_folio *f)
{
	struct text t;

	text_init(&t, buf, FINDING_TEXT);
	if (f->flags & WIRE_FOLIO_CMA)
		text_add(&t, "a MIGRATE_CMA pageblock");
	if ((f->flags & WIRE_FOLIO_CMA) && (f->have & WIRE_HAVE_AREA) && f->area[0])
		text_add(&t, " of area \"%s\"", f->area);
	if (f->flags & WIRE_FOLIO_MOVABLE_ZONE)
		text_item(&t, "ZONE_MOVABLE");
	if (f->flags & WIRE_FOLIO_ISOLATE)
		text_item(&t, "a pageblock that is being isolated (MIGRATE_ISOLATE)");
	return buf;
}

const char *page_name(char buf[FINDING_TEXT], const struct wire_folio *f)
{
	struct text t;

	text_init(&t, buf, FINDING_TEXT);
	if (f->have & WIRE_HAVE_ADDRESS)
		text_add(&t, "page %" PRIu64 " (0x%" PRIx64 ", ", (uint64_t)f->index_pages,
			 (uint64_t)f->address);
	else
		text_add(&t, "a page (");
	text_add(&t, "pfn 0x%" PRIx64 ", node %u", (uint64_t)f->pfn, f->node);
	if (f->order)
		text_add(&t, ", a folio of order %u", f->order);
	text_add(&t, ")");
	return buf;
}

enum detail place_detail(uint32_t places)
{
	switch (places) {
	case WIRE_FOLIO_CMA:
		return DETAIL_in_cma;
	case WIRE_FOLIO_MOVABLE_ZONE:
		return DETAIL_in_movable_zone;
	case WIRE_FOLIO_ISOLATE:
		return DETAIL_in_isolated_block;
	default:
		return DETAIL_in_several_places;
	}
}

enum grade stay_grade(const struct stay *s)
{
	enum grade g, found = GRADE_none;

	for (g = GRADE_none + 1; g < GRADE_MAX; g++) {
		if (s->by_grade[g] == 0)
			continue;
		if (found != GRADE_none)
			return s->by_grade[GRADE_pin_proven_owner_seen] ? GRADE_mixed_some_owners_seen : GRADE_mixed;
		found = g;
	}
	return found;
}

static void tell_refs(const struct wire_folio *f, struct finding *ret)
{
	struct folio_refs r = folio_refs(f);
	int64_t cache = f->expected - f->mapcount - 1;

	finding_evidence(ret, "references: %" PRId64 " found, %" PRId64 " expected (%" PRId64 " of mappings, %" PRId64
			 " of the page or swap cache, 1 of migration's own isolation) = %" PRId64 " too many",
			 (int64_t)f->refcount, (int64_t)f->expected, (int64_t)f->mapcount, cache, r.extra);
	if (r.counted && r.pins > 0)
		finding_evidence(ret, "_pincount is %" PRId64 ": counted apart, not estimated; it counts pinned pages, not pinners%s",
				 r.pins, r.others > 0 ? "; the rest are plain references" : "");
	else if (r.counted)
		finding_evidence(ret, "_pincount is 0: the surplus are plain references, not DMA pins");
	else if (r.pins == 0)
		finding_evidence(ret, "%" PRId64 " is less than one DMA pin counts for (pins count 1024 each): plain reference%s, not a DMA pin",
				 r.extra, r.extra == 1 ? "" : "s");
	else if (r.others == 0)
		finding_evidence(ret, "%" PRId64 " too many counts like %" PRId64 " DMA pin%s; an estimate, since pins and plain references share one counter on a small folio",
				 r.extra, r.pins, r.pins == 1 ? "" : "s");
	else
		finding_evidence(ret, "%" PRId64 " too many counts like %" PRId64 " DMA pin%s and %" PRId64 " plain reference%s, or like plain references alone: they share one counter on a small folio",
				 r.extra, r.pins, r.pins == 1 ? "" : "s", r.others, r.others == 1 ? "" : "s");
}

/* More free CMA than all areas have together: some of it belongs to none. */
static bool left_cma(const struct incident *in)
{
	const struct facts *f = &in->facts;

	return FACT_KNOWN(f, cma_free_bytes) && FACT_KNOWN(f, cma_total_bytes) && f->cma_free_bytes > f->cma_total_bytes;
}

void tell_left_cma(const struct incident *in, const struct wire_folio *f, struct finding *ret)
{
	char free_cma[TEXT_BYTES_LEN], total[TEXT_BYTES_LEN];

	if (f->flags & WIRE_FOLIO_CMA && !(f->have & WIRE_HAVE_AREA) && !(f->flags & WIRE_FOLIO_AREA_UNTOLD) && left_cma(in))
		finding_evidence(ret, "no listed area has it, and %s of CMA are free where all areas together have %s: it was left behind as CMA, as kexec handover does with its scratch memory",
				 text_bytes(free_cma, in->facts.cma_free_bytes), text_bytes(total, in->facts.cma_total_bytes));
}

void tell_place_remedies(const struct incident *in, const struct stay *s, struct finding *ret)
{
	const struct wire_folio *f = s->first ? s->first : s->any;
	bool named = f && (f->have & WIRE_HAVE_AREA) && f->area[0];

	if ((s->places & WIRE_FOLIO_CMA) && named && strncmp(f->area, "hugetlb", 7) == 0)
		finding_remedy(ret, "boot with hugetlb_cma=0, if this node allocates no gigantic (1 GiB) pages at run time");
	else if ((s->places & WIRE_FOLIO_CMA) && named)
		finding_remedy(ret, "shrink or drop the CMA area \"%s\" (cma= on the kernel command line, or the driver or device tree that reserves it), if nothing on this node needs contiguous memory from it",
			       f->area);
	else if (s->places & WIRE_FOLIO_CMA && left_cma(in))
		finding_remedy(ret, "boot with kho=off if this node hands no memory over to a next kernel (kho= and kho_scratch= on /proc/cmdline); see pinwhy causes cma_area_left_by_kho");
	else if (s->places & WIRE_FOLIO_CMA)
		finding_remedy(ret, "find what reserves the CMA area (cma= and hugetlb_cma= on /proc/cmdline, the kernel log's \"cma: Reserved\" lines), and drop it if this node does not need it");
	if (s->places & WIRE_FOLIO_MOVABLE_ZONE)
		finding_remedy(ret, "on nodes that register memory keep ZONE_MOVABLE small or empty: movablecore= or kernelcore= on the kernel command line, and hot-added memory online as online_kernel, not online_movable");
	if (s->places & WIRE_FOLIO_ISOLATE)
		finding_remedy(ret, "the block is being emptied (memory hot-remove or a contiguous allocation): retry when that has ended");
}

/* What keeps a fitting incident from being proof; each reason becomes a line. True: none. */
static bool tell_doubts(const struct incident *in, const struct identity *id, const struct stay *s,
			struct finding *ret)
{
	const struct wire_reg_end *e = &in->end;
	uint32_t before = ret->nevidence + ret->nmissing;

	if (s->blocked && !s->first_clean)
		finding_evidence(ret, "not proven: the folio is of a kind (file page cache, swap cache, KSM, writeback) whose own code can refuse to move as well");
	if (stay_no_target(in))
		finding_evidence(ret, "not proven: a page to move to was refused too (%u times), which fails the migration by itself",
				 e->no_target);
	else if (!id->target_watched)
		finding_missing(ret, "failures to find a migration target", "%s is not hooked",
				name_fn(id, WIRE_FN_MIGRATE_TARGET));
	if (!(e->have & WIRE_HAVE_MIGRATE) || e->migrate_failed <= 0)
		finding_missing(ret, "migration", "a migration for this pin that left pages behind was not seen");
	if (!(e->have & WIRE_HAVE_GUP) || !id->foll_longterm || !(e->gup_flags & id->foll_longterm))
		finding_missing(ret, "pin.foll_longterm", "the flags of the failing pin were not read");
	if (e->result != -ENOMEM)
		finding_evidence(ret, "not proven: the call ended with %s, not with the ENOMEM of the pin",
				 name_errno((int)-e->result));
	return ret->nevidence + ret->nmissing == before;
}

void tell_migration(const struct incident *in, const struct identity *id, struct finding *ret)
{
	const struct wire_reg_end *e = &in->end;
	const struct wire_chain *m = incident_chain(in, WIRE_FN_MIGRATE);
	const char *reason = name_enum(&id->migrate_reasons, e->migrate_reason);

	if (m && m->result > 0)
		finding_evidence(ret, "%s left %" PRId64 " folio%s behind%s%s%s", name_fn(id, WIRE_FN_MIGRATE),
				 (int64_t)m->result, m->result == 1 ? "" : "s", *reason ? " (reason " : "",
				 reason, *reason ? ")" : "");
	else
		finding_evidence(ret, "%u folio%s stayed behind after migration", e->folios_seen,
				 e->folios_seen == 1 ? "" : "s");
	finding_evidence(ret, "%s = -ENOMEM%s", name_fn(id, WIRE_FN_GUP_LONGTERM),
			 (e->gup_flags & id->foll_longterm) ? " with FOLL_LONGTERM" : "");
}

static void tell_blocked(const struct incident *in, const struct identity *id, const struct stay *s,
			 struct finding *ret)
{
	char page[FINDING_TEXT], place[FINDING_TEXT];
	const struct wire_folio *f = s->first;

	ret->detail = place_detail(s->places);
	page_name(page, f);
	place_name(place, f);
	finding_summary(ret, "%s lies in %s and must move before a long-term pin; it did not: %" PRId64 " references where %" PRId64 " were expected",
			page, place, (int64_t)f->refcount, (int64_t)f->expected);
	finding_evidence(ret, "%s lies in %s%s%s", page, place,
			 *name_enum(&id->zones, f->zone) ? ", zone " : "", name_enum(&id->zones, f->zone));
	tell_left_cma(in, f, ret);
	tell_refs(f, ret);
	tell_held(in, id, s, ret);
	if (s->known > 1)
		finding_evidence(ret, "of %u folios that stayed, %u were read; %u have surplus references: %u plain, %u counting like DMA pins, %u that may be either",
				 in->end.folios_seen, s->known, s->blocked,
				 s->by_grade[GRADE_plain_reference],
				 s->by_grade[GRADE_pin_evident_owner_unseen] + s->by_grade[GRADE_another_longterm_pin_in_flight],
				 s->by_grade[GRADE_pin_or_references]);
	if (s->known > 1 && s->by_grade[GRADE_pin_proven_owner_seen])
		finding_evidence(ret, "%u of the folios are held by pins of the ledger", s->by_grade[GRADE_pin_proven_owner_seen]);
	tell_migration(in, id, ret);
	tell_order_remedies(s, ret);
	tell_place_remedies(in, s, ret);
	tell_holder_remedies(in, s, id, ret);
}

static void tell_gone(const struct incident *in, const struct identity *id, const struct stay *s,
		      struct finding *ret)
{
	ret->detail = DETAIL_reference_gone;
	ret->grade = GRADE_reference_gone;
	finding_summary(ret, "%u folio%s had to move before a long-term pin and did not, but nothing held %s any more when looked at",
			s->known, s->known == 1 ? "" : "s", s->known == 1 ? "it" : "them");
	finding_evidence(ret, "0 of %u folios that stayed had a surplus reference after the migration had failed",
			 s->known);
	tell_rivals(in, s, ret);
	tell_migration(in, id, ret);
	finding_missing(ret, "first_pin", "the reference was gone when the folios were looked at, just after migration gave up");
	finding_remedy(ret, "retry: the holder was transient (a per-CPU batch, an I/O that ended, another pin in progress)");
	tell_place_remedies(in, s, ret);
}

void cause_longterm_migrate_blocked_by_ref(const struct incident *in, const struct identity *id,
					   struct finding *ret)
{
	bool sure;
	struct stay s;

	if (pins_stay(in, id, ret))
		return;
	stay_look(in, &s);
	if (excluded(in, id, &s, ret))
		return;
	/* More folios than this attempt left: they belong to another one. */
	if (incident_errno(in, WIRE_FN_GUP_LONGTERM) != ENOMEM || s.known == 0 ||
	    s.known > in->end.folios_seen)
		return;
	/* Without surplus it takes a watch on everything else to point at a reference at all. */
	if (s.blocked == 0 && (s.hugetlb_only || s.known != in->end.folios_seen || stay_no_target(in) ||
			       !id->target_watched))
		return;
	if (s.blocked)
		tell_blocked(in, id, &s, ret);
	else
		tell_gone(in, id, &s, ret);
	sure = tell_doubts(in, id, &s, ret);
	ret->kind = sure && s.blocked ? FINDING_PROVEN : FINDING_LIKELY;
}
