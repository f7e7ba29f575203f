/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Plain references that armed processes took through get_user_pages_fast() (armed.bpf.c): of which folios, and by which
 * calls. held.bpf.h tells of them, of a folio that has more references than its pins explain.
 *
 * What may be said. put_page() gives such a reference back, and everything else too: it cannot be watched. So an entry says
 * that the process took a reference of this folio then, and never that it has it still: it is a candidate, with that doubt.
 * While it has it the folio cannot be freed. So it is the same page then, or the reference is gone; an entry whose folio is
 * by now another place of its object, or of another object, is known to be of the latter kind, and is not told of. One that
 * was freed and came back to the same place cannot be told from one that never went.
 *
 * Misses: other functions that take references, such as get_user_pages(); folios that were split or made part of a larger one
 * since.
 */
#ifndef PINWHY_REFS_BPF_H
#define PINWHY_REFS_BPF_H

#include "armed.bpf.h"

#define REF_WAYS 8		/* a folio's entries are in one of so many places; the oldest there gives way */
#define REF_BUSY (~0ULL)	/* as an id: the entry is being written */
#define REF_ID (1ULL << 63)	/* apart from the ids of other pins */

static __always_inline struct take *ref_take_of(__u64 id)
{
	__u32 key = id & (TAKES_MAX - 1);
	struct take *t = bpf_map_lookup_elem(&ref_takes, &key);

	return t && t->pin.id == id ? t : NULL;
}

/* Is it there, and not from before everything was forgotten? */
static __always_inline bool ref_there(const struct wire_armed *a, __u64 id)
{
	return id && id != REF_BUSY && (id & ~REF_ID) > a->refs_forgotten;
}

/* The first of a folio's places. */
static __always_inline __u32 ref_places(__u64 folio)
{
	return (((folio >> 6) * 0x9e3779b97f4a7c15ULL) >> 32) & (REFS_MAX - 1) & ~(REF_WAYS - 1);
}

/* What the folio belongs to: that of all processes that have it, unlike mapping, which follows who writes to it. */
static __always_inline __u64 folio_object(const struct folio *f)
{
	__u64 mapping = (__u64)BPF_CORE_READ(f, mapping);
	struct anon_vma *anon = (void *)(mapping & ~PAGE_MAPPING_FLAGS);

	return (mapping & PAGE_MAPPING_FLAGS) == PAGE_MAPPING_ANON ? (__u64)BPF_CORE_READ(anon, root) : mapping;
}

/* --- taken ------------------------------------------------------------------------------ */

/* Never 0. Who takes one by the same way again is the same. */
static __always_inline __u64 ref_taker(const struct take *t)
{
	__u64 who = t->pin.task_start_ns ^ t->pin.tgid;

	for (int i = 0; i < WIRE_KSTACK_MAX; i++)
		who = (who ^ t->stack[i]) * 0x9e3779b97f4a7c15ULL;
	return who | 1;
}

/* The taker's own place from before, or a free one, or that of the oldest: ids are in the order of time. */
static __always_inline struct ref_folio *ref_place(__u64 folio, __u64 who)
{
	struct ref_folio *place = NULL;
	__u64 oldest = REF_BUSY;

#pragma unroll
	for (int i = 0; i < REF_WAYS; i++) {
		__u32 key = ref_places(folio) + i;
		struct ref_folio *r = bpf_map_lookup_elem(&refs, &key);
		__u64 id = r ? r->take : REF_BUSY;

		if (r && id != REF_BUSY && r->folio == folio && r->who == who)
			return r;
		if (id < oldest) {
			oldest = id;
			place = r;
		}
	}
	return place;
}

/* That of the call `id`, which is `t`; its page number `page` is the first one in the folio. */
static __always_inline void ref_enter(const struct wire_armed *a, struct take *t, __u64 id, __u64 who, __u64 folio, __u32 page)
{
	const struct folio *f = (void *)folio;
	__u64 object = folio_object(f), index = BPF_CORE_READ(f, index), was;
	struct ref_folio *r;
	struct take *before;

	/* What belongs to nothing, as memory of drivers, does not move anyway. */
	if (!object)
		return;
	r = ref_place(folio, who);
	was = r ? r->take : REF_BUSY;
	if (was == id)
		return; /* the same call, by another run of its pages */
	COUNT(armed_refs);
	if (!r || was == REF_BUSY || __sync_val_compare_and_swap(&r->take, was, REF_BUSY) != was) {
		COUNT(armed_refs_evicted);
		return;
	}
	before = ref_there(a, was) ? ref_take_of(was) : NULL;
	if (before)
		__sync_fetch_and_add(&before->folios, -1);
	if (before && (r->folio != folio || r->who != who))
		COUNT(armed_refs_evicted);
	r->folio = folio;
	r->who = who;
	r->object = object;
	r->index = index;
	r->page = page;
	__sync_fetch_and_add(&t->folios, 1);
	/* Last: until now the entry is not there for who looks. */
	barrier();
	r->take = id;
}

#endif
