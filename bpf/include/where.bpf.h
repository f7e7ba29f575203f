/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Where in the registered range a folio is, by the VMAs of the span. */
#ifndef PINWHY_WHERE_BPF_H
#define PINWHY_WHERE_BPF_H

#include "folio.bpf.h"
#include "vma.bpf.h"

/* May this VMA map the folio? Anonymous folios by their anon_vma, others by their file. */
static __always_inline bool vma_may_map(const struct wire_vma *v, const struct wire_folio *out, __u64 mapping)
{
	struct anon_vma *anon = (void *)(mapping & ~PAGE_MAPPING_FLAGS);

	if (!(out->flags & WIRE_FOLIO_ANON))
		return v->file == mapping;
	return v->anon_root && v->anon_root == (__u64)BPF_CORE_READ(anon, root);
}

struct mapped_search {
	const struct folio *folio;
	__u64 first, end;	/* page numbers in the folio */
	__s64 found;
};

static long mapped_one(__u32 i, void *ctx)
{
	struct mapped_search *m = ctx;
	struct page *p = (void *)m->folio + (m->first + i) * bpf_core_type_size(struct page);

	if (m->first + i >= m->end)
		return 1;
	if (BPF_CORE_READ(p, _mapcount.counter) < 0)
		return 0;
	m->found = m->first + i;
	return 1;
}

/*
 * The first page at or after `from` bytes into the folio that is mapped at all: parts of a large folio
 * may have been unmapped, and other pages may be there now. -1 when none is known to be.
 */
static __always_inline __s64 folio_first_mapped(const struct wire_folio *out, const struct folio *f, __u64 from)
{
	struct mapped_search m = {
		.folio = f, .first = from >> cfg.page_shift, .end = 1ULL << (out->order & 31), .found = -1,
	};

	if (!out->order || (out->flags & WIRE_FOLIO_HUGETLB) || folio_entire_mapcount(f))
		return m.first;
	bpf_loop(THP_PAGES_MAX, mapped_one, &m, 0);
	return m.found;
}

struct place_search {
	const struct wire_span *span;
	const struct wire_folio *folio;
	__u64 index, mapping;
	__u64 found, found_head;	/* of the last VMA that fits */
	__u64 fits;
};

static __always_inline __u64 range_start(const struct wire_span *s)
{
	return s->address & ~((1ULL << cfg.page_shift) - 1);
}

/* Called for each VMA: a loop here would let the verifier try every mixture of their outcomes. */
static long place_one(__u32 i, void *ctx)
{
	struct place_search *p = ctx;
	const struct wire_span *s = p->span;
	const struct wire_folio *out = p->folio;
	const struct wire_vma *v;
	__u64 head, first, last;

	if (i >= WIRE_VMAS_MAX || !s || !out || i >= s->nvmas)
		return 1;
	v = &s->vmas[i];
	if (!vma_may_map(v, out, p->mapping))
		return 0;
	head = v->start + ((p->index - v->pgoff) << cfg.page_shift);
	first = head;
	last = head + (1ULL << (out->order + cfg.page_shift));
	if ((__s64)(head - v->start) < 0)
		first = v->start;
	if (first < range_start(s))
		first = range_start(s);
	if ((__s64)(last - first) <= 0 || first >= v->end || first >= s->address + s->length)
		return 0;
	p->found = first;
	p->found_head = head;
	p->fits++;
	return 0;
}

/* Place of its head page in what it belongs to. */
static __always_inline __u64 folio_index_pages(const struct wire_folio *out, const struct folio *f)
{
	__u64 index = BPF_CORE_READ(f, index);

	return (out->flags & WIRE_FOLIO_HUGETLB) && cfg.hugetlb_index_huge ? index << (out->order & 31) : index;
}

/*
 * Where in the registered range the folio is mapped. False when that is not certain: no VMA or
 * several fit, not all of them were seen, or the folio is not mapped as a whole any more. `mapped` false: it
 * is being moved, and mapped nowhere just now; then where its first page in the range was is told.
 */
static __always_inline bool folio_address(struct wire_folio *out, const struct wire_span *s, const struct folio *f, bool mapped)
{
	struct place_search p = {
		.span = s, .folio = out, .index = folio_index_pages(out, f), .mapping = (__u64)BPF_CORE_READ(f, mapping),
	};
	__u64 end = s->address + s->length, found;
	__s64 page;

	/* The index of a KSM folio is that of one of its users, and not ours to place. */
	if (!(s->have & WIRE_HAVE_VMAS_ALL) || (out->flags & (WIRE_FOLIO_KSM | WIRE_FOLIO_UNMOVABLE_OPS)))
		return false;
	bpf_loop(WIRE_VMAS_MAX, place_one, &p, 0);
	if (p.fits != 1)
		return false;
	page = mapped ? folio_first_mapped(out, f, p.found - p.found_head) : (__s64)((p.found - p.found_head) >> cfg.page_shift);
	if (page < 0)
		return false;
	found = p.found_head + ((__u64)page << cfg.page_shift);
	if (found >= end)
		return false;
	out->address = found < s->address ? s->address : found;
	out->index_pages = (found - range_start(s)) >> cfg.page_shift;
	return true;
}

#endif
