// SPDX-License-Identifier: BSD-2-Clause
/* Transient holders of a page that must move, pages that cannot be isolated, and memory of devices. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "causes/placement.h"
#include "causes/refusal.h"
#include "names.h"

void cause_longterm_migrate_blocked_by_batch_ref(const struct incident *in, const struct identity *id, struct finding *ret);
void cause_longterm_pin_race_two_pinners(const struct incident *in, const struct identity *id, struct finding *ret);
void cause_longterm_isolate_livelock(const struct incident *in, const struct identity *id, struct finding *ret);
void cause_device_coherent_unmigratable(const struct incident *in, const struct identity *id, struct finding *ret);

/* Rules out that a holder decided: nothing had one, and there was no page to move to. False: it does not. */
static bool nobody_held(const struct incident *in, const struct stay *s, struct finding *f)
{
	if (!s->known || s->blocked || s->known != in->end.folios_seen || !stay_no_target(in))
		return false;
	finding_because(f, "0 of %u folios that stayed had a surplus reference; no page to move to was found", s->known);
	f->kind = FINDING_RULED_OUT;
	return true;
}

/*
 * Says of what kind the holder may be, so it never competes with longterm_migrate_blocked_by_ref: that one
 * is proven by the counts whatever the holder is. The signature is narrow: an mlocked folio enters a per-CPU
 * batch of mlock's while it is on the LRU, and a pin drains the batches only for folios that are not on it.
 */
void cause_longterm_migrate_blocked_by_batch_ref(const struct incident *in, const struct identity *id, struct finding *ret)
{
	char page[FINDING_TEXT];
	struct stay s;

	if (pins_stay(in, id, ret))
		return;
	stay_look(in, &s);
	if (nobody_held(in, &s, ret))
		return;
	if (s.blocked && s.one_mlocked != s.blocked) {
		finding_because(ret, "%u of %u folios that are held are mlocked with a single surplus reference, which is what mlock's batch leaves (at most %" PRId64 " surplus)",
				s.one_mlocked, s.blocked, s.extra_max);
		ret->kind = FINDING_RULED_OUT;
		return;
	}
	if (!s.blocked || incident_errno(in, WIRE_FN_GUP_LONGTERM) != ENOMEM)
		return;
	ret->kind = FINDING_LIKELY;
	ret->detail = DETAIL_mlock_batch;
	finding_summary(ret, "%s is mlocked and held by one plain reference: a per-CPU batch of mlock() may hold it", page_name(page, s.first));
	finding_evidence(ret, "%u of %u folios that are held are mlocked, each with exactly 1 surplus reference and no pin", s.one_mlocked, s.blocked);
	tell_migration(in, id, ret);
	finding_missing(ret, "first_pin", "who took the reference was not seen");
	finding_remedy(ret, "retry once: a batch is drained within a second or so, and then the page moves");
	finding_remedy(ret, "if it recurs: register first and mlock() after, or call mlockall() long before; newer kernels drain that batch themselves (lru_cache_drain_for_folio in /proc/kallsyms)");
	tell_place_remedies(in, &s, ret);
}

static void tell_race(const struct incident *in, const struct identity *id, const struct stay *s, struct finding *ret)
{
	uint32_t seen = s->by_grade[GRADE_another_longterm_pin_in_flight];

	ret->kind = FINDING_LIKELY;
	ret->detail = DETAIL_second_pinner;
	if (seen)
		finding_summary(ret, "another long-term pin of the same pages was under way: %u of %u folios that are held count like a pin and lie in its range",
				seen, s->blocked);
	else
		finding_summary(ret, "another long-term pin of the same pages may have been under way: %u of %u folios count exactly one pin, the others none any more",
				s->blocked, s->known);
	finding_evidence(ret, "%u folios that stayed count exactly one pin each, %u had no surplus reference any more when they were looked at", s->one_pin,
			 s->known - s->blocked);
	tell_held(in, id, s, ret);
	tell_migration(in, id, ret);
	finding_missing(ret, "first_pin", seen ? "whether that pin held the pages at that moment was not seen" : "the other pin was not seen");
	finding_remedy(ret, "if several threads or processes register the same memory at once: let one do it first (a registration cache, a lock); later pins of moved pages pass");
	finding_remedy(ret, "retry: the loser of the race passes once the winner is done");
}

/*
 * Likewise about the nature of the holder. One pin on some folios while others of the same migration are held
 * by nothing any more is what a second registration leaves that is itself giving up.
 */
void cause_longterm_pin_race_two_pinners(const struct incident *in, const struct identity *id, struct finding *ret)
{
	uint32_t seen;
	struct stay s;

	if (pins_stay(in, id, ret))
		return;
	stay_look(in, &s);
	seen = s.by_grade[GRADE_another_longterm_pin_in_flight];
	if (nobody_held(in, &s, ret))
		return;
	if (s.blocked && s.by_grade[GRADE_pin_proven_owner_seen] == s.blocked) {
		finding_because(ret, "the pins of all %u folios that are held are in the ledger: none was taken for a registration", s.blocked);
		ret->kind = FINDING_RULED_OUT;
		return;
	}
	if (s.blocked && !s.one_pin && !seen && s.known == in->end.folios_seen) {
		finding_because(ret, "0 of %u folios that are held count exactly one pin (at most %" PRId64 " surplus references)", s.blocked, s.extra_max);
		ret->kind = FINDING_RULED_OUT;
		return;
	}
	if (!s.blocked || incident_errno(in, WIRE_FN_GUP_LONGTERM) != ENOMEM || (!seen && (s.one_pin != s.blocked || s.known == s.blocked)))
		return;
	tell_race(in, id, &s, ret);
}

/* --- pages that can be neither pinned nor isolated -------------------------------------- */

#define ROUNDS_LIKELY 100
#define ROUNDS_SURE 1000	/* a pin that makes progress goes through its pages a few times */
#define STUCK_NS (10 * 1000000000ULL)

static void tell_livelock(const struct incident *in, uint64_t seconds, struct finding *ret)
{
	ret->detail = DETAIL_not_isolated;
	finding_summary(ret, "a long-term pin has been trying for %" PRIu64 " s to get a page out of memory that must stay movable, and cannot take it off the LRU to move it",
			seconds);
	finding_evidence(ret, "the thread is inside (%s)%s%s", in->sighting.verified, in->sighting.waits_in[0] ? ", waits in " : "",
			 in->sighting.waits_in);
	finding_remedy(ret, "kill the process: the pin looks for fatal signals between two rounds; it has no other end");
	finding_remedy(ret, "register memory that nothing else works on: reclaim, compaction, a GPU driver or another pin that has the page isolated keeps it from being isolated again");
	finding_remedy(ret, "keep registered memory out of ZONE_MOVABLE and CMA (movablecore=, kernelcore=, cma=): then it is never isolated");
}

void cause_longterm_isolate_livelock(const struct incident *in, const struct identity *id, struct finding *ret)
{
	const struct wire_reg_end *e = &in->end;
	enum stage stage = incident_stage_of(in, id);
	uint32_t rounds = e->collects > e->passes ? e->collects - e->passes : 0;
	uint64_t ns = incident_lasted_ns(in);

	if (pins_stay(in, id, ret))
		return;
	if (stage != STAGE_pin && stage != STAGE_placement)
		finding_because(ret, "it is %s", stage_words[stage].meaning);
	else if (incident_waits_in(in, "handle_userfault"))
		finding_because(ret, "the thread waits in handle_userfault: it goes through no pages");
	else if (e->collects && rounds < ROUNDS_LIKELY)
		finding_because(ret, "the pin went through its pages %u times, %u migrations were tried: that is progress", e->collects, e->passes);
	if (ret->because[0]) {
		ret->kind = FINDING_RULED_OUT;
		return;
	}
	if (e->collects) {
		tell_livelock(in, ns / 1000000000, ret);
		finding_evidence(ret, "the pin went through its pages %u times in one go and tried %u migrations: each other round found pages it may not pin and could not isolate", e->collects, e->passes);
		ret->kind = rounds >= ROUNDS_SURE && e->passes < rounds / ROUNDS_LIKELY ? FINDING_PROVEN : FINDING_LIKELY;
		return;
	}
	/* Where the rounds have no function of their own (6.1) they cannot be counted. */
	if (id->fn_watched[WIRE_FN_COLLECT] || stage != STAGE_pin || e->passes || e->folios_seen || !(e->have & WIRE_HAVE_GUP) || ns < STUCK_NS ||
	    strcmp(in->sighting.verified, SIGHTING_SPINS) != 0)
		return;
	tell_livelock(in, ns / 1000000000, ret);
	finding_evidence(ret, "in the pin for long, without a migration, and using its processor in the kernel all the time");
	finding_missing(ret, "rounds of the pin", "this kernel has no function that could be counted; a pin of memory that must be cleared or copied looks the same");
	ret->kind = FINDING_LIKELY;
}

/* --- memory of devices -------------------------------------------------------------------- */

void cause_device_coherent_unmigratable(const struct incident *in, const struct identity *id, struct finding *ret)
{
	const struct wire_reg_end *e = &in->end;

	if (pins_stay(in, id, ret))
		return;
	if (!failing_pin(in, id, EBUSY) || !(e->gup_flags & id->foll_longterm))
		return;
	ret->kind = FINDING_LIKELY;
	ret->detail = DETAIL_device_coherent;
	finding_summary(ret, "0x%" PRIx64 " seems to lie in coherent memory of a device, which could not be moved to the host for a long-term pin", failing_address(in, id));
	tell_failing_pin(in, id, ret);
	finding_evidence(ret, "the only step of a long-term pin that gives EBUSY is moving a device-coherent page to host memory");
	finding_missing(ret, "the page", "the kind of the page at that address was not read");
	finding_remedy(ret, "move the buffer to the host first: hipMemPrefetchAsync(ptr, size, hipCpuDeviceId) or a copy into host memory");
	finding_remedy(ret, "if it is to stay on the device: register it through a dma-buf of the GPU driver");
	finding_remedy(ret, "if host memory was short at that moment: free some and retry");
}
