/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Who holds a folio that would not move, by what was seen of armed processes (armed.bpf.c); asked on the failure path.
 *
 * What may be said. Every release is seen, from whatever task, and takes one off the folio's entry; only the pins of armed
 * processes add to it. So an entry of one taker never has more pins than that taker holds, whoever else pins the
 * folio: releases of pins that were not seen only lower it. While there is an entry, its taker has not let go.
 * The count that the kernel keeps must agree all the same: a release that was missed would show there.
 * What may be said of plain references is in refs.bpf.h.
 */
#ifndef PINWHY_HELD_BPF_H
#define PINWHY_HELD_BPF_H

#include "armed.bpf.h"
#include "ledger.bpf.h"
#include "refs.bpf.h"

#define GUP_PIN_SHIFT 10	/* GUP_PIN_COUNTING_BIAS, log2: what a pin adds to the references of a small folio */

/* Tells of the call that pinned the folio, and of what makes it doubtful. For bpf_loop(), with a stack of its own. */
static long tell_held(__u32 i, void *ctx)
{
	struct holder_walk *look = ctx;
	struct wire_armed *a = armed_state();
	const struct folio_spot *spot = &look->spot;
	__u64 folio = spot->at, id;
	struct wire_span *s = look->span;
	struct held_folio *h;
	struct take *t;
	__u32 doubt, page, calls;
	bool sent;

	if (!s || !a || !a->open || !a->folios)
		return 1;
	h = bpf_map_lookup_elem(&held, &folio);
	if (!h || h->epoch != a->epoch || h->pins <= 0)
		return 1;
	id = h->take;
	page = h->page;
	calls = h->calls;
	doubt = h->mixed ? WIRE_DOUBT_MIXED : h->pins != look->pins || h->changed_ns >= spot->seen_ns ? WIRE_DOUBT_COUNT : WIRE_DOUBT_NONE;
	t = take_of(id);
	/* Its entry may have become another folio's meanwhile. */
	if (!t || h->folio != folio || h->take != id)
		return 1;
	EMIT(wire_holder, HOLDER, s->id, e, sent, {
		e->pfn = spot->pfn;
		e->page = page;
		e->gup_call = s->gup_calls;
		e->pin = t->pin;
		e->pin.doubt = doubt;
		e->pin.calls = calls;
		frame_names(e, t->stack, t->nstack, true);
		/* Its place may have become a later call's, or all of it is not so any more: then it is told of no page. */
		if (t->pin.id != id || e->pin.id != id || h->take != id || h->epoch != a->epoch)
			e->pfn = 0;
	});
	look->told += sent;
	return 1;
}

/* --- plain references ------------------------------------------------------------------ */

/* Whose pin is held is still there, and its code. Who took a reference need not be. */
static __always_inline bool module_gone_since(__u64 ns)
{
	__u32 zero = 0;
	struct wire_calibration *cal = bpf_map_lookup_elem(&calibration, &zero);

	return !cal || cal->module_gone_ns >= ns;
}

#define REFS_TOLD 2	/* records of one folio: user space has room for so many */

/* The latest of the folio that is older than `before`, and still of what it is now. */
static __always_inline struct ref_folio *ref_latest(const struct wire_armed *a, const struct folio_spot *spot, __u64 before)
{
	const struct folio *f = (void *)spot->at;
	__u64 object = folio_object(f), index = BPF_CORE_READ(f, index), latest = 0;
	struct ref_folio *found = NULL;

#pragma unroll
	for (int i = 0; i < REF_WAYS; i++) {
		__u32 key = ref_places(spot->at) + i;
		struct ref_folio *r = bpf_map_lookup_elem(&refs, &key);
		__u64 id = r ? r->take : 0;

		if (!r || !ref_there(a, id) || id >= before || id <= latest)
			continue;
		if (r->folio != spot->at || r->object != object || r->index != index)
			continue;
		latest = id;
		found = r;
	}
	return found;
}

/* Tells of one, and then of those before it. For bpf_loop(), with a stack of its own. */
static long tell_ref(__u32 i, void *ctx)
{
	struct holder_walk *look = ctx;
	struct wire_armed *a = armed_state();
	struct wire_span *s = look->span;
	struct ref_folio *r;
	struct take *t;
	__u32 page;
	__u64 id;
	bool sent;

	if (!s || !a || look->told >= REFS_TOLD)
		return 1;
	r = ref_latest(a, &look->spot, look->ref);
	if (!r)
		return 1;
	id = r->take;
	page = r->page;
	t = ref_take_of(id);
	/* Its entry may have become another's meanwhile. */
	if (!t || r->folio != look->spot.at || r->take != id)
		return 1;
	look->ref = id;
	if (t->pin.since_ns > look->spot.seen_ns)
		return 0;
	EMIT(wire_holder, HOLDER, s->id, e, sent, {
		e->pfn = look->spot.pfn;
		e->page = page;
		e->gup_call = s->gup_calls;
		e->pin = t->pin;
		e->pin.doubt = WIRE_DOUBT_UNWATCHED;
		frame_names(e, t->stack, t->nstack, !module_gone_since(t->pin.since_ns));
		/* Its place has become a later call's: then it is told of no page. */
		if (t->pin.id != id || e->pin.id != id)
			e->pfn = 0;
	});
	look->told += sent;
	return 0;
}

#endif
