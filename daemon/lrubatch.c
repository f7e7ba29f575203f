// SPDX-License-Identifier: BSD-2-Clause
#include "lrubatch.h"

#include <stdlib.h>

#define PIN_BIAS 1024	/* GUP_PIN_COUNTING_BIAS, include/linux/mm.h: more than there are places in batches for one page */

bool lrubatch_matters(const struct wire_look *looks, uint32_t n)
{
	const uint32_t places = WIRE_FOLIO_CMA | WIRE_FOLIO_ISOLATE | WIRE_FOLIO_MOVABLE_ZONE;

	for (uint32_t i = 0; i < n; i++) {
		const struct wire_folio *f = &looks[i].folio;

		if (looks[i].found == WIRE_LOOK_MEMORY && looks[i].same == i && (f->flags & places) && !f->order &&
		    f->refcount > f->expected)
			return true;
	}
	return false;
}

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

void lrubatch_sort(uint64_t *entries, uint32_t n)
{
	qsort(entries, n, sizeof(*entries), compare);
}

/* The first entry that is not less. */
static uint32_t lower_bound(const uint64_t *entries, uint32_t n, uint64_t entry)
{
	uint32_t low = 0;

	while (n > 0) {
		uint32_t half = n / 2;

		if (entries[low + half] < entry) {
			low += half + 1;
			n -= half + 1;
		} else {
			n = half;
		}
	}
	return low;
}

void lrubatch_note(struct wire_look *looks, uint32_t n, const uint64_t *entries, uint32_t nentries)
{
	for (uint32_t i = 0; i < n; i++) {
		uint64_t pfn = looks[i].same < n ? looks[looks[i].same].folio.pfn : 0;
		uint32_t k = lower_bound(entries, nentries, pfn << 1), times = 0;

		looks[i].flags |= WIRE_LOOK_BATCHED_KNOWN;
		for (; pfn && k < nentries && BATCHED_PFN(entries[k]) == pfn; k++, times++)
			looks[i].flags |= BATCHED_NEW(entries[k]) ? WIRE_LOOK_BATCHED_NEW : 0;
		if (times > looks[i].batched)
			looks[i].batched = times;
	}
}

enum lrubatch_surplus lrubatch_weigh(const struct wire_look *look, const struct wire_folio *folio, int64_t surplus)
{
	bool on_lru = look->flags & WIRE_LOOK_LRU;
	/* Whoever takes a page off its list refers to it; one that was on none cannot be taken off. */
	int64_t taken = !on_lru && !(look->flags & WIRE_LOOK_BATCHED_NEW);

	if (surplus <= 0)
		return LRUBATCH_NONE;
	/* Large folios pass through batches without waiting: folio_may_be_lru_cached(), include/linux/swap.h. */
	if (folio->order)
		return surplus > taken ? LRUBATCH_HELD : LRUBATCH_TAKEN;
	if (look->flags & WIRE_LOOK_BATCHED_KNOWN) {
		if (surplus <= look->batched)
			return LRUBATCH_EXPLAINED;
		return surplus > look->batched + taken ? LRUBATCH_HELD : LRUBATCH_TAKEN;
	}
	/* What is on no list is in a batch, or taken off: one reference either way. */
	if (!on_lru && surplus == 1)
		return LRUBATCH_EXPLAINED;
	return surplus >= PIN_BIAS ? LRUBATCH_HELD : LRUBATCH_PERHAPS;
}
