/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Pages on their way to a list of the LRU, or from one to another, wait in per-CPU batches (mm/swap.c, mm/mlock.c), and
 * each batch refers to each of its pages. A long-term pin empties them before it gives up, so that such a reference must
 * not be taken for somebody's who holds the page. Pure: who reads the batches is loader_pages.c.
 */
#ifndef PINWHY_LRUBATCH_H
#define PINWHY_LRUBATCH_H

#include <stdbool.h>
#include <stdint.h>

#include "wire_look.h"

/* An entry of the list: the page frame number of a folio, and whether it is on no list of the LRU yet. */
#define BATCHED_PFN(entry) ((entry) >> 1)
#define BATCHED_NEW(entry) ((entry) & 1)

/* Is there a page among `n` whose surplus of references batches may explain, and which must move? */
bool lrubatch_matters(const struct wire_look *looks, uint32_t n);
/* Sorts a list, for lrubatch_note(). */
void lrubatch_sort(uint64_t *entries, uint32_t n);
/*
 * Notes of each look how often its folio is in the list. Again with a list of another moment: the more counts, for a
 * batch that was emptied in between referred to it while it was looked at, or may have.
 */
void lrubatch_note(struct wire_look *looks, uint32_t n, const uint64_t *entries, uint32_t nentries);

/* What the surplus of references of a page that must move is. */
enum lrubatch_surplus {
	LRUBATCH_NONE,		/* there is none */
	LRUBATCH_EXPLAINED,	/* references of batches, all of it */
	LRUBATCH_TAKEN,		/* or of who has taken it off its list, for a moment */
	LRUBATCH_PERHAPS,	/* batches could not be read */
	LRUBATCH_HELD,		/* somebody's */
};
enum lrubatch_surplus lrubatch_weigh(const struct wire_look *look, const struct wire_folio *folio, int64_t surplus);

#endif
