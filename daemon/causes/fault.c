// SPDX-License-Identifier: BSD-2-Clause
/* Page faults inside the pin that got no page, or wait for one. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "causes/placement.h"
#include "causes/refusal.h"
#include "diagnose.h"
#include "names.h"
#include "text.h"

void cause_hugetlb_pool_or_cgroup_empty(const struct incident *in, const struct identity *id, struct finding *ret);
void cause_userfault_stall(const struct incident *in, const struct identity *id, struct finding *ret);
void cause_hugetlb_place_refused(const struct incident *in, const struct identity *id, struct finding *ret);

/* --- no huge page ----------------------------------------------------------------- */

/* Which limit it was, as far as the facts tell. */
static enum detail huge_limit(const struct facts *f, uint64_t bytes)
{
	uint64_t sum;

	if (FACT_KNOWN(f, hugetlb_free_pages) &&
	    f->hugetlb_free_pages <= (FACT_KNOWN(f, hugetlb_reserved_pages) ? f->hugetlb_reserved_pages : 0))
		return DETAIL_huge_pool_empty;
	if (FACT_KNOWN(f, hugetlb_cgroup_max_bytes) && FACT_KNOWN(f, hugetlb_cgroup_current_bytes) &&
	    f->hugetlb_cgroup_max_bytes != UINT64_MAX &&
	    (__builtin_add_overflow(f->hugetlb_cgroup_current_bytes, bytes, &sum) || sum > f->hugetlb_cgroup_max_bytes))
		return DETAIL_huge_cgroup_limit;
	return DETAIL_huge_page_refused;
}

static void tell_huge_facts(const struct incident *in, struct finding *ret)
{
	const struct facts *f = &in->facts;
	char current[TEXT_BYTES_LEN], max[TEXT_BYTES_LEN], group[INCIDENT_CGROUP];

	if (FACT_KNOWN(f, hugetlb_total_pages) && FACT_KNOWN(f, hugetlb_free_pages) && FACT_KNOWN(f, hugetlb_reserved_pages))
		finding_evidence(ret, "pool, read after the failure: %" PRIu64 " pages, %" PRIu64 " free, %" PRIu64 " of these reserved for other mappings",
				 f->hugetlb_total_pages, f->hugetlb_free_pages, f->hugetlb_reserved_pages);
	else
		finding_missing(ret, "hugetlb pool", "nr_hugepages, free_hugepages and resv_hugepages were not read");
	if (FACT_KNOWN(f, hugetlb_cgroup_max_bytes) && FACT_KNOWN(f, hugetlb_cgroup_current_bytes))
		finding_evidence(ret, "tightest hugetlb limit above %.180s: %s of %s in use", incident_cgroup(in, group),
				 text_bytes(current, f->hugetlb_cgroup_current_bytes), text_bytes(max, f->hugetlb_cgroup_max_bytes));
	if (ret->detail == DETAIL_huge_page_refused && FACT_KNOWN(f, hugetlb_free_pages))
		finding_evidence(ret, "pages are free and none could be taken: inside a long-term pin those in CMA or ZONE_MOVABLE are passed over, and a memory policy or a mount's size may rule out others");
}

static void tell_huge_remedies(enum detail detail, uint64_t bytes, struct finding *ret)
{
	uint64_t kb = bytes / 1024;

	if (detail != DETAIL_huge_cgroup_limit)
		finding_remedy(ret, "if the pool is empty: echo N > /sys/kernel/mm/hugepages/hugepages-%" PRIu64 "kB/nr_hugepages (or boot with hugepages=N), or end what holds the pages", kb);
	if (detail != DETAIL_huge_pool_empty)
		finding_remedy(ret, "if the cgroup is at its limit: raise hugetlb.*.max of the cgroup (Kubernetes: limits.hugepages-* of the pod); pages that are free in the pool do not help");
	if (detail == DETAIL_huge_page_refused)
		finding_remedy(ret, "if free pages are all on other NUMA nodes, or in ZONE_MOVABLE or CMA, where a long-term pin may not take them: allocate them elsewhere (nodeN/hugepages, hugetlb_cma=0, no movable zone)");
	finding_remedy(ret, "map with MAP_POPULATE, and without MAP_NORESERVE: then the shortage shows when the memory is mapped, not when it is registered");
}

void cause_hugetlb_pool_or_cgroup_empty(const struct incident *in, const struct identity *id, struct finding *ret)
{
	const struct wire_vma *v = failing_vma(in, id);
	bool refused = incident_errno(in, WIRE_FN_HUGETLB_ALLOC) == ENOSPC;
	uint64_t bytes = incident_hugetlb_bytes(in);
	char text[VMA_TEXT], size[TEXT_BYTES_LEN];

	if (refusal_rules_out(in, id, REFUSAL_NONE, ret))
		return;
	if (v && !(v->flags & VM_HUGETLB))
		finding_because(ret, "0x%" PRIx64 ", where the pin failed, lies in no huge pages: %s", failing_address(in, id), vma_text(text, v));
	else if (v && !refused && id->fn_watched[WIRE_FN_HUGETLB_ALLOC] && in->end.nchain < WIRE_CHAIN_MAX)
		finding_because(ret, "0 huge pages were refused (%s did not fail)", name_fn(id, WIRE_FN_HUGETLB_ALLOC));
	if (ret->because[0]) {
		ret->kind = FINDING_RULED_OUT;
		return;
	}
	ret->detail = huge_limit(&in->facts, bytes);
	/* Not seen refusing, it takes a limit that was reached to point at it. */
	if (!v || !failing_pin(in, id, EFAULT) || refusal_of(in, id) != REFUSAL_NONE ||
	    (!refused && ret->detail == DETAIL_huge_page_refused))
		return;
	finding_summary(ret, "no huge page of %s could be had for 0x%" PRIx64 ": %s", text_bytes(size, bytes), failing_address(in, id),
			detail_words[ret->detail].meaning);
	if (refused)
		finding_evidence(ret, "%s = -ENOSPC: neither from the pool nor as a surplus page within the limits", name_fn(id, WIRE_FN_HUGETLB_ALLOC));
	else
		finding_missing(ret, "allocation of the huge page", "%s is not hooked", name_fn(id, WIRE_FN_HUGETLB_ALLOC));
	tell_failing_pin(in, id, ret);
	finding_evidence(ret, "the mapping there, when the pin failed: %s", vma_text(text, v));
	tell_huge_facts(in, ret);
	ret->kind = failing_kind(in, id, EFAULT, ret);
	if (!refused)
		ret->kind = FINDING_LIKELY;
	tell_huge_remedies(ret->detail, bytes, ret);
}

/*
 * While there was follow_hugetlb_page() (v6.1 has it, v6.12 does not), a huge page in ZONE_MOVABLE or CMA that
 * is mapped already is refused when it is grabbed (try_grab_folio()): a warning in the kernel log, ENOMEM, and
 * no migration. Any other ENOMEM of such a fault looks the same, so this is never proven. FOLL_UNLOCKABLE (v6.3)
 * tells the old kernels; of those in between nothing is said.
 */
void cause_hugetlb_place_refused(const struct incident *in, const struct identity *id, struct finding *ret)
{
	const struct wire_reg_end *e = &in->end;
	const struct wire_vma *v = failing_vma(in, id);
	char text[VMA_TEXT];

	if (pins_stay(in, id, ret))
		return;
	if (e->passes || e->folios_seen || incident_chain(in, WIRE_FN_MIGRATE))
		finding_because(ret, "pages were moved for this pin: %u migrations tried, %u folios stayed", e->passes, e->folios_seen);
	else if (v && !(v->flags & VM_HUGETLB))
		finding_because(ret, "0x%" PRIx64 ", where the pin failed, lies in no huge pages: %s", failing_address(in, id), vma_text(text, v));
	if (ret->because[0]) {
		ret->kind = FINDING_RULED_OUT;
		return;
	}
	if (!v || id->foll_unlockable || !failing_pin(in, id, ENOMEM) || !id->fn_watched[WIRE_FN_MIGRATE] || !id->putback_watched ||
	    !(e->gup_flags & id->foll_longterm))
		return;
	ret->kind = FINDING_LIKELY;
	ret->detail = DETAIL_huge_page_not_moved;
	finding_summary(ret, "the huge page at 0x%" PRIx64 " may lie in ZONE_MOVABLE or CMA, from where this kernel does not move it for a long-term pin", failing_address(in, id));
	tell_failing_pin(in, id, ret);
	finding_evidence(ret, "the mapping there, when the pin failed: %s", vma_text(text, v));
	finding_evidence(ret, "0 migrations were tried, and this kernel has no FOLL_UNLOCKABLE (v6.3): it refuses a huge page in such a place when it grabs it");
	finding_missing(ret, "place of the huge page", "no folio was seen; a warning at follow_hugetlb_page in the kernel log (once per boot) says the same");
	finding_remedy(ret, "keep huge pages out of ZONE_MOVABLE: boot without movablecore= and kernelcore=, or allocate them at boot (hugepages=N) on a node that has none");
	finding_remedy(ret, "map the memory afresh and register before touching it: a huge page faulted in by a long-term pin is taken from elsewhere");
	finding_remedy(ret, "newer kernels (6.12 is one) move such pages, if free huge pages are left outside");
}

/* --- userfaultfd ------------------------------------------------------------------ */

#define VM_UFFD_MINOR_OLD (1ULL << 37)	/* its place until v6.5; other flags have used the bit since */

static uint64_t uffd_flags(const struct wire_vma *v, const struct identity *id)
{
	return v->flags & (VM_UFFD_MISSING | VM_UFFD_WP | (id->foll_unlockable ? 0 : VM_UFFD_MINOR_OLD));
}

static void tell_uffd_remedies(struct finding *ret)
{
	finding_remedy(ret, "if it is a virtual machine in post-copy migration or a lazily restored process (CRIU): register after all its memory has arrived");
	finding_remedy(ret, "else look for the process that holds the userfaultfd (ls -l /proc/*/fd | grep userfaultfd): its handler thread must answer with UFFDIO_COPY or UFFDIO_ZEROPAGE");
	finding_remedy(ret, "or touch every page of the range before it is registered");
}

static void userfault_hang(const struct incident *in, struct finding *ret)
{
	const char *waits = in->sighting.waits_in;

	if (!waits[0])
		return;
	if (!incident_waits_in(in, "handle_userfault")) {
		finding_because(ret, "the thread waits in %s, not in handle_userfault", waits);
		ret->kind = FINDING_RULED_OUT;
		return;
	}
	ret->kind = FINDING_PROVEN;
	ret->detail = DETAIL_handler_awaited;
	finding_summary(ret, "the registration waits for a userfaultfd handler to supply a page, for %" PRIu64 " s so far",
			incident_lasted_ns(in) / 1000000000);
	finding_evidence(ret, "the thread waits in %s (%s)", waits, in->sighting.verified);
	tell_uffd_remedies(ret);
}

static void userfault_fails(const struct incident *in, const struct identity *id, struct finding *ret)
{
	const struct wire_vma *v = failing_vma(in, id);
	bool may_wait = id->foll_unlockable & in->end.gup_flags;
	bool refused = incident_chain(in, WIRE_FN_USERFAULT);
	char text[VMA_TEXT];

	if (refusal_rules_out(in, id, REFUSAL_NONE, ret) || !v)
		return;
	if (!uffd_flags(v, id)) {
		finding_because(ret, "0x%" PRIx64 ", where the pin failed, lies in a mapping without a userfaultfd (flags 0x%" PRIx64 ")",
				failing_address(in, id), (uint64_t)v->flags);
		ret->kind = FINDING_RULED_OUT;
		return;
	}
	if (!refused && id->fn_watched[WIRE_FN_USERFAULT]) {
		finding_because(ret, "%s refused no fault of this pin (0 times)", name_fn(id, WIRE_FN_USERFAULT));
		ret->kind = FINDING_RULED_OUT;
		return;
	}
	if (!failing_pin(in, id, EFAULT) || refusal_of(in, id) != REFUSAL_NONE || incident_chain(in, WIRE_FN_HUGETLB_ALLOC))
		return;
	ret->kind = refused ? failing_kind(in, id, EFAULT, ret) : FINDING_LIKELY;
	ret->detail = DETAIL_handler_not_waited_for;
	finding_summary(ret, "0x%" PRIx64 " is watched by a userfaultfd, and this pin does not wait for its handler", failing_address(in, id));
	tell_failing_pin(in, id, ret);
	finding_evidence(ret, "the mapping there, when the pin failed: %s, userfaultfd flags 0x%" PRIx64, vma_text(text, v), uffd_flags(v, id));
	finding_evidence(ret, may_wait ? "the pin may wait (FOLL_UNLOCKABLE): a userfaultfd made with UFFD_FEATURE_SIGBUS refuses at once all the same" :
					 "the pin may not give up the map's lock (no FOLL_UNLOCKABLE), which waiting for a handler needs: the fault ends in SIGBUS");
	if (refused)
		finding_evidence(ret, "%s gave SIGBUS for a fault of this pin: the page was absent", name_fn(id, WIRE_FN_USERFAULT));
	else
		finding_missing(ret, "result of the page fault", "it was not seen that the page was absent; other faults that end in SIGBUS give EFAULT too");
	tell_uffd_remedies(ret);
}

void cause_userfault_stall(const struct incident *in, const struct identity *id, struct finding *ret)
{
	if (in->stuck)
		userfault_hang(in, ret);
	else
		userfault_fails(in, id, ret);
}
