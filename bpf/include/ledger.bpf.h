/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Who holds a folio that would not move: the first pins of the ledger, asked on the failure path only.
 *
 * Ranges and mappings say which pins may cover a folio. What says that one does is the array of pages that its
 * taker keeps until it lets go: the range may have been unmapped, moved, copied or mapped anew since.
 */
#ifndef PINWHY_LEDGER_BPF_H
#define PINWHY_LEDGER_BPF_H

#include "probe.bpf.h"

struct pin_search {
	struct wire_span *span;
	__u64 mm;
};

static __always_inline bool ranges_meet(__u64 a, __u64 a_pages, __u64 b, __u64 b_pages)
{
	return a < b + b_pages && b < a + a_pages;
}

/* Is part of the pin's memory what this VMA of the span maps, at the same place of the same object? */
static __always_inline bool pin_in_vma(const struct first_pin *p, const struct wire_vma *v)
{
	__u64 pages = (v->end - v->start) >> cfg.page_shift;

	return p->object && (p->object == v->anon_root || p->object == v->file) &&
	       ranges_meet(p->index, p->pin.pages, v->pgoff, pages);
}

static long pin_maybe(void *map, const __u64 *array, struct first_pin *p, struct pin_search *search)
{
	struct wire_span *s = search->span;
	bool may;

	if (!s)
		return 1;
	may = p->mm == search->mm && ranges_meet(p->pin.address >> cfg.page_shift, p->pin.pages, s->address >> cfg.page_shift,
						 (s->length >> cfg.page_shift) + 2);
	for (__u32 i = 0; i < WIRE_VMAS_MAX && !may; i++)
		may = i < s->nvmas && pin_in_vma(p, &s->vmas[i]);
	if (!may)
		return 0;
	if (s->npins >= WIRE_HOLDERS_MAX)
		return 1;
	s->pins[s->npins & (WIRE_HOLDERS_MAX - 1)] = *array;
	s->npins++;
	return 0;
}

static __always_inline __u64 current_mm(void)
{
	return (__u64)BPF_CORE_READ(bpf_get_current_task_btf(), mm);
}

/* Notes the pins of the ledger that may hold pages of the registered range. */
static __always_inline void span_pins(struct wire_span *s)
{
	struct pin_search search = { .span = s, .mm = current_mm() };

	s->npins = 0;
	s->pins_told = 0;
	bpf_for_each_map_elem(&first_pins, pin_maybe, &search, 0);
}

/* Is the page number `page` of the pin one of this folio's? */
static __always_inline bool pin_has_page(const struct first_pin *p, __u64 array, __u64 page, __u64 folio, __u64 folio_pages)
{
	__u64 at = 0;

	if (page >= p->pin.pages || bpf_probe_read_kernel(&at, sizeof(at), (void *)(array + page * sizeof(at))))
		return false;
	return at - folio < folio_pages * bpf_core_type_size(struct page);
}

/* What is asked of a folio, once it is known. */
struct folio_spot {
	__u64 at;	/* kernel pointer */
	__u64 pfn, pages;
	__u64 index;	/* of its head in what it belongs to, in pages */
	__u64 address;	/* in the registered range, 0 = not known */
	__u64 seen_ns;	/* when it was described */
};

/* Who may hold it is looked for in one way after the other. One for all: the stack has no place for three. */
struct holder_walk {
	struct wire_span *span;
	struct folio_spot spot;
	__u64 told;	/* pins of the ledger that hold it, or of an armed process that may */
	__s64 pins;	/* as the kernel counts them */
	__s64 others;	/* references beyond these */
	__u64 ref;	/* the call that was told of last, of those that took plain references */
};

/*
 * The first page of the pin that lies in the folio, -1 when none is seen to: asked at the page where the pin and the
 * folio begin to overlap, once by the place in what both map and once by address.
 */
static __always_inline __s64 pin_covers(const struct first_pin *p, __u64 array, const struct folio_spot *f)
{
	__u64 page = f->index > p->index ? f->index - p->index : 0;

	if (p->object && pin_has_page(p, array, page, f->at, f->pages))
		return page;
	if (p->mm != current_mm() || !f->address)
		return -1;
	page = f->address > p->pin.address ? (f->address - p->pin.address) >> cfg.page_shift : 0;
	return pin_has_page(p, array, page, f->at, f->pages) ? page : -1;
}

static __always_inline bool in_kernel(__u64 at)
{
	return at >= cfg.text_start && at < cfg.text_end;
}

/* Without `modules` only what is the kernel's own: there may be another module by now where a frame of one was. */
static __always_inline void frame_names(struct wire_holder *e, const __u64 *stack, __u32 nstack, bool modules)
{
	static const char format[] = "%ps";

	for (__u32 i = 0; i < WIRE_KSTACK_MAX; i++) {
		__u64 at = stack[i];

		if (i >= nstack || !at)
			break;
		if (!modules && !in_kernel(at))
			at = 0;
		bpf_snprintf(e->stack[i], sizeof(e->stack[i]), format, &at, sizeof(at));
		/* Without a symbol, as in a module that has gone since, it is the address. */
		if (e->stack[i][0] == '0') {
			__builtin_memset(e->stack[i], 0, sizeof(e->stack[i]));
			e->stack[i][0] = '?';
		}
		e->nstack = i + 1;
	}
}

static __always_inline void stack_names(struct wire_holder *e, const struct first_pin *p)
{
	frame_names(e, p->stack, p->nstack, true);
}

#endif
