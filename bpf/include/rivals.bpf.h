/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Other registrations of the process that are in a long-term pin of the same addresses at this moment: until such a pin
 * has looked where its pages lie it holds them where they are. Asked on the failure path only. Misses: those of
 * other processes that share the memory, and long-term pins that are no registration.
 */
#ifndef PINWHY_RIVALS_BPF_H
#define PINWHY_RIVALS_BPF_H

#include "ledger.bpf.h"

static long rival_maybe(__u32 key, void *ctx)
{
	struct holder_walk *w = ctx;
	struct wire_span *s = w->span, *o;

	o = bpf_map_lookup_elem(&spans, &key);
	if (!s || !o)
		return 1;
	/* One whose end was missed is in no pin. */
	if (!o->tid || o->tid == s->tid || o->tgid != s->tgid || !o->in_longterm || o->abandoned_id == o->id)
		return 0;
	if (!ranges_meet(o->gup_start >> cfg.page_shift, o->gup_pages, s->address >> cfg.page_shift, (s->length >> cfg.page_shift) + 2))
		return 0;
	if (s->nrivals >= WIRE_RIVALS_MAX)
		return 1;
	s->rivals[s->nrivals & (WIRE_RIVALS_MAX - 1)] = key;
	s->nrivals++;
	return 0;
}

/* Notes them. */
static __always_inline void span_rivals(struct wire_span *s)
{
	struct holder_walk walk = { .span = s };

	s->nrivals = 0;
	bpf_loop(WIRE_SPANS, rival_maybe, &walk, 0);
}

/* Tells of one that is still there and whose range has a page of the folio. */
static long rival_one(__u32 i, void *ctx)
{
	struct holder_walk *w = ctx;
	struct wire_span *s = w->span, *o;
	__u64 page, start, pages;
	__u32 key;
	bool sent;

	if (!s || i >= WIRE_RIVALS_MAX || i >= s->nrivals)
		return 1;
	key = s->rivals[i & (WIRE_RIVALS_MAX - 1)];
	o = bpf_map_lookup_elem(&spans, &key);
	if (!o || !o->tid || o->tgid != s->tgid || !o->in_longterm || !w->spot.address)
		return 0;
	start = o->gup_start;
	pages = o->gup_pages;
	if (!ranges_meet(start >> cfg.page_shift, pages, w->spot.address >> cfg.page_shift, w->spot.pages))
		return 0;
	page = w->spot.address > start ? (w->spot.address - start) >> cfg.page_shift : 0;
	EMIT(wire_holder, HOLDER, s->id, e, sent, {
		e->pfn = w->spot.pfn;
		e->page = page;
		e->gup_call = s->gup_calls;
		e->pin.id = o->id ?: 1;
		e->pin.since_ns = o->start_ns;
		e->pin.address = start;
		e->pin.pages = pages;
		e->pin.tgid = o->tgid;
		e->pin.tid = o->tid;
		e->pin.gup_flags = o->gup_flags;
		e->pin.calls = 1;
		e->pin.via = WIRE_PIN_VIA_REGISTRATION;
	});
	(void)sent;
	return 0;
}

#endif
