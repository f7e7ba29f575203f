// SPDX-License-Identifier: BSD-2-Clause
/* Pages that had to move for a long-term pin and had nowhere to go. */
#include <errno.h>
#include <inttypes.h>

#include "causes/killed.h"
#include "causes/placement.h"
#include "causes/refusal.h"
#include "geometry.h"
#include "names.h"
#include "text.h"

void cause_hugetlb_in_cma_no_target(const struct incident *in, const struct identity *id, struct finding *ret);
void cause_longterm_migrate_no_target(const struct incident *in, const struct identity *id, struct finding *ret);

/* The migration itself ended for want of memory: then references decided nothing. */
static bool migrate_gave_up(const struct incident *in)
{
	const struct wire_chain *m = incident_chain(in, WIRE_FN_MIGRATE);

	return m && m->result < 0;
}

/* Rules out that pages wanted a target; what it takes for both causes. False: it does not. */
static bool targets_found(const struct incident *in, const struct identity *id, struct finding *f)
{
	const struct wire_reg_end *e = &in->end;

	if (stay_no_target(in))
		return false;
	if (id->fn_watched[WIRE_FN_MIGRATE] && id->putback_watched && !e->passes && !e->folios_seen &&
	    !incident_chain(in, WIRE_FN_MIGRATE))
		finding_because(f, "no migration was tried for this pin (0 migrations)");
	else if (id->target_watched)
		finding_because(f, "0 target pages were refused");
	else
		return false;
	f->kind = FINDING_RULED_OUT;
	return true;
}

/* What keeps a fitting incident from being proof; each reason becomes a line. True: none. */
static bool sure_of_target(const struct incident *in, const struct identity *id, const struct stay *s, struct finding *ret)
{
	const struct wire_reg_end *e = &in->end;
	uint32_t before = ret->nevidence + ret->nmissing;

	if (s->blocked)
		finding_evidence(ret, "not proven: %u of %u folios that stayed have surplus references, which keep them by themselves", s->blocked, s->known);
	else if (s->known != e->folios_seen && !migrate_gave_up(in))
		finding_missing(ret, "pages", "%u of %u folios that stayed were read; the others may have been held", s->known, e->folios_seen);
	if (!failing_pin(in, id, ENOMEM) || !(e->gup_flags & id->foll_longterm))
		finding_missing(ret, "failure of the pin", "a long-term pin that failed with ENOMEM at an address of the range was not seen");
	else if (e->result != -ENOMEM)
		finding_evidence(ret, "not proven: the call ended with %s, not with the ENOMEM of the pin", name_errno((int)-e->result));
	return ret->nevidence + ret->nmissing == before;
}

static void tell_refused(const struct incident *in, const struct identity *id, const struct stay *s, struct finding *ret)
{
	const struct wire_reg_end *e = &in->end;

	finding_evidence(ret, "%s found no page to move to, %u times%s", name_fn(id, WIRE_FN_MIGRATE_TARGET), e->no_target,
			 migrate_gave_up(in) ? "; the migration gave up with ENOMEM" : "");
	finding_evidence(ret, "%u of %u folios that stayed and were read have surplus references", s->blocked, s->known);
	if (s->blocked)
		tell_held(in, id, s, ret);
	else if (s->known)
		ret->grade = GRADE_no_migration_target;
	tell_migration(in, id, ret);
}

/* --- huge pages in CMA -------------------------------------------------------------- */

/* Are they of a size that the buddy allocator cannot give? */
static bool gigantic(const struct wire_folio *f, const struct identity *id)
{
	return f->order > geometry_max_order(geometry_log2(id->page_size));
}

static void tell_huge_remedies(bool is_gigantic, struct finding *ret)
{
	if (is_gigantic)
		finding_remedy(ret, "boot with hugetlb_cma=0 and hugepagesz=1G hugepages=N: gigantic pages set aside at boot lie outside of CMA and need not move");
	else
		finding_remedy(ret, "leave free huge pages outside of CMA: raise nr_hugepages while memory is free, or allow surplus pages (nr_overcommit_hugepages)");
	finding_remedy(ret, "if the buffer may use ordinary or smaller huge pages: register those; they can move");
	finding_remedy(ret, "if a NUMA policy binds the buffer: free huge pages must be on the nodes it names (/sys/devices/system/node/nodeN/hugepages)");
}

void cause_hugetlb_in_cma_no_target(const struct incident *in, const struct identity *id, struct finding *ret)
{
	char page[FINDING_TEXT], place[FINDING_TEXT], size[TEXT_BYTES_LEN];
	const struct facts *f = &in->facts;
	struct stay s;
	bool is_gigantic;

	if (pins_stay(in, id, ret))
		return;
	stay_look(in, &s);
	if (targets_found(in, id, ret))
		return;
	if (s.known && s.known == in->end.folios_seen && !s.huge_in_cma) {
		finding_because(ret, "0 of %u folios that stayed are huge pages in CMA", s.known);
		ret->kind = FINDING_RULED_OUT;
		return;
	}
	if (!s.huge_in_cma || !stay_no_target(in) || incident_errno(in, WIRE_FN_GUP_LONGTERM) != ENOMEM)
		return;
	is_gigantic = gigantic(s.any, id);
	ret->detail = is_gigantic ? DETAIL_gigantic_page : DETAIL_huge_page;
	page_name(page, s.any);
	finding_summary(ret, "%s is a huge page of %s in CMA; it must move before a long-term pin and there is no other to move to", page,
			text_bytes(size, (uint64_t)id->page_size << (s.any->order & 31)));
	finding_evidence(ret, "%s lies in %s", page, place_name(place, s.any));
	tell_left_cma(in, s.any, ret);
	tell_refused(in, id, &s, ret);
	if (FACT_KNOWN(f, hugetlb_free_pages))
		finding_evidence(ret, "free huge pages of that size, read after the failure: %" PRIu64 " (those in CMA are no targets)", f->hugetlb_free_pages);
	if (s.huge_in_cma != s.known)
		finding_evidence(ret, "not proven: %u of the folios that stayed are no huge pages in CMA", s.known - s.huge_in_cma);
	if (s.known != in->end.folios_seen && migrate_gave_up(in))
		finding_missing(ret, "pages", "%u of %u folios that stayed were read; which one found no target is not known", s.known, in->end.folios_seen);
	ret->kind = sure_of_target(in, id, &s, ret) && s.huge_in_cma == s.known && s.known == in->end.folios_seen ?
		    FINDING_PROVEN : FINDING_LIKELY;
	tell_huge_remedies(is_gigantic, ret);
	if (!(s.any->have & WIRE_HAVE_AREA))
		tell_place_remedies(in, &s, ret);
}

/* --- ordinary pages ------------------------------------------------------------------ */

/* Can the folios that were not read be huge pages? */
static bool may_hide_huge(const struct incident *in, const struct stay *s)
{
	const struct wire_reg_end *e = &in->end;
	uint32_t i;

	if (s->huge_in_cma)
		return true;
	if (s->known == e->folios_seen && s->known)
		return false;
	for (i = 0; i < e->nvmas; i++)
		if (e->vmas[i].flags & VM_HUGETLB)
			return true;
	return !(e->have & WIRE_HAVE_VMAS_ALL);
}

static void tell_outside(const struct incident *in, struct finding *ret)
{
	const struct facts *f = &in->facts;
	char outside[TEXT_BYTES_LEN], all[TEXT_BYTES_LEN], asked[TEXT_BYTES_LEN];

	if (FACT_KNOWN(f, free_outside_bytes))
		finding_evidence(ret, "free outside of CMA and ZONE_MOVABLE, read after the failure: %s, of %s free in all; the range is %s",
				 text_bytes(outside, f->free_outside_bytes),
				 FACT_KNOWN(f, mem_free_bytes) ? text_bytes(all, f->mem_free_bytes) : "an unknown amount",
				 text_bytes(asked, in->end.length));
	else
		finding_missing(ret, "free memory outside of CMA and ZONE_MOVABLE", "/proc/zoneinfo was not read");
	finding_remedy(ret, "give the kernel more memory outside of ZONE_MOVABLE: lower movablecore= or raise kernelcore= on the command line, online hot-added memory as online_kernel, shrink cma=");
	finding_remedy(ret, "if page cache or other jobs fill the rest: free it before registering (vm.drop_caches=1, fewer jobs on the node)");
	finding_remedy(ret, "if memory is free but only in small pieces (/proc/buddyinfo): echo 1 > /proc/sys/vm/compact_memory, or register memory without huge pages");
}

static void no_target_enomem(const struct incident *in, const struct identity *id, struct finding *ret)
{
	char page[FINDING_TEXT] = "a page";
	struct stay s;

	stay_look(in, &s);
	if (targets_found(in, id, ret))
		return;
	if (s.known && s.huge_in_cma == s.known && s.known == in->end.folios_seen) {
		finding_because(ret, "all %u folios that stayed are huge pages in CMA", s.known);
		ret->kind = FINDING_RULED_OUT;
		return;
	}
	if (!stay_no_target(in) || incident_errno(in, WIRE_FN_GUP_LONGTERM) != ENOMEM)
		return;
	/* Not one was seen, and they may be huge: then both causes fit alike. */
	if (!s.known && may_hide_huge(in, &s))
		return;
	if (s.any)
		page_name(page, s.any);
	ret->detail = DETAIL_no_target_page;
	finding_summary(ret, "%s must move before a long-term pin, and no memory outside of CMA and ZONE_MOVABLE was free to move it to", page);
	tell_refused(in, id, &s, ret);
	ret->kind = FINDING_PROVEN;
	if (may_hide_huge(in, &s)) {
		finding_missing(ret, "kind of the pages", "some that stayed may be huge pages, whose targets come from another pool");
		ret->kind = FINDING_LIKELY;
	}
	if (!sure_of_target(in, id, &s, ret))
		ret->kind = FINDING_LIKELY;
	tell_outside(in, ret);
}

static void no_target_killed(const struct incident *in, const struct identity *id, struct finding *ret)
{
	const struct wire_reg_end *e = &in->end;
	bool moving = e->passes || e->no_target || e->folios_seen || e->stage == WIRE_STAGE_PLACEMENT;
	bool sure = true;

	if (oom_rules_out(in, 1u << OOM_NONE, ret))
		return;
	if (!(e->have & WIRE_HAVE_OOM) && !(moving && e->have & WIRE_HAVE_SIGNAL))
		return;
	ret->detail = DETAIL_killed_while_moving;
	finding_summary(ret, "memory that a long-term pin may use ran out while the range was pinned%s, and the OOM killer ended the process",
			moving ? " and its pages were moved" : "");
	tell_oom(in, id, ret);
	finding_evidence(ret, "%u migrations were tried for this pin, %u target pages refused", e->passes, e->no_target);
	if (!moving) {
		finding_missing(ret, "migration", "no page was seen being moved for this pin: all memory may have run out");
		sure = false;
	}
	if (!(e->have & WIRE_HAVE_OOM)) {
		finding_missing(ret, "choice of the OOM killer", "the process is its victim, but its constraint was not seen");
		sure = false;
	} else if (e->oom.by_tid != e->tid) {
		finding_evidence(ret, "not proven: thread %u asked for the memory, not the one that was registering", e->oom.by_tid);
		sure = false;
	}
	ret->kind = e->have & WIRE_HAVE_OOM && oom_seen(in, id, ret) && sure ? FINDING_PROVEN : FINDING_LIKELY;
	tell_outside(in, ret);
}

void cause_longterm_migrate_no_target(const struct incident *in, const struct identity *id, struct finding *ret)
{
	if (pins_stay(in, id, ret))
		return;
	if (incident_decisive_errno(in) == ENOMEM)
		no_target_enomem(in, id, ret);
	else
		no_target_killed(in, id, ret);
}
