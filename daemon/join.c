// SPDX-License-Identifier: BSD-2-Clause
#include "join.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct join_slot {
	uint64_t span_id;	/* 0 = free */
	uint64_t born;		/* order of arrival: the oldest is evicted */
	uint32_t nfolios;
	uint32_t gup_call;	/* the slow-path pin these stayed in */
	struct wire_folio folios[WIRE_FOLIOS_MAX];
};

struct join {
	struct join_stats stats;
	uint64_t births;
	uint32_t nslots;
	struct join_slot slots[];
};

int join_new(struct join **ret_join, uint32_t spans)
{
	struct join *j = calloc(1, sizeof(*j) + spans * sizeof(j->slots[0]));

	if (!j)
		return -ENOMEM;
	j->nslots = spans;
	*ret_join = j;
	return 0;
}

void join_free(struct join *j)
{
	free(j);
}

static struct join_slot *find(struct join *j, uint64_t span_id)
{
	uint32_t i;

	for (i = 0; i < j->nslots; i++)
		if (j->slots[i].span_id == span_id)
			return &j->slots[i];
	return NULL;
}

static void release(struct join *j, struct join_slot *slot, uint64_t *counter)
{
	*counter += slot->nfolios;
	j->stats.held -= slot->nfolios;
	slot->nfolios = 0;
	slot->span_id = 0;
}

static struct join_slot *claim(struct join *j, uint64_t span_id)
{
	struct join_slot *slot = find(j, 0);
	uint32_t i;

	if (!slot) {
		slot = &j->slots[0];
		for (i = 1; i < j->nslots; i++)
			if (j->slots[i].born < slot->born)
				slot = &j->slots[i];
		release(j, slot, &j->stats.orphaned);
	}
	slot->span_id = span_id;
	slot->born = ++j->births;
	return slot;
}

static void supersede(struct join *j, struct join_slot *slot)
{
	j->stats.superseded += slot->nfolios;
	j->stats.held -= slot->nfolios;
	slot->nfolios = 0;
}

void join_folio(struct join *j, const struct wire_folio *folio)
{
	struct join_slot *slot = find(j, folio->hdr.span_id);

	if (!slot)
		slot = claim(j, folio->hdr.span_id);
	/*
	 * When part of a batch was pinned, the kernel swallows the error and the caller tries
	 * the rest again: the last attempt is the one that decides.
	 */
	if (slot->gup_call != folio->gup_call)
		supersede(j, slot);
	slot->gup_call = folio->gup_call;
	if (slot->nfolios == WIRE_FOLIOS_MAX) {
		j->stats.excess++;
		return;
	}
	slot->folios[slot->nfolios++] = *folio;
	j->stats.held++;
}

/* By place in the range; those whose place is unknown last, by pfn. */
static int by_index(const void *pa, const void *pb)
{
	const struct wire_folio *a = pa, *b = pb;
	bool at_a = a->have & WIRE_HAVE_ADDRESS, at_b = b->have & WIRE_HAVE_ADDRESS;

	if (at_a != at_b)
		return at_a ? -1 : 1;
	if (at_a && a->index_pages != b->index_pages)
		return a->index_pages < b->index_pages ? -1 : 1;
	if (a->pfn != b->pfn)
		return a->pfn < b->pfn ? -1 : 1;
	return (a->ordinal > b->ordinal) - (a->ordinal < b->ordinal);
}

void join_end(struct join *j, const struct wire_reg_end *end, struct incident *ret_incident)
{
	struct join_slot *slot = find(j, end->hdr.span_id);

	memset(ret_incident, 0, sizeof(*ret_incident));
	ret_incident->end = *end;
	if (!slot)
		return;
	if (slot->gup_call != end->gup_calls)
		supersede(j, slot); /* the deciding attempt left none behind */
	ret_incident->nfolios = slot->nfolios;
	memcpy(ret_incident->folios, slot->folios, slot->nfolios * sizeof(slot->folios[0]));
	qsort(ret_incident->folios, ret_incident->nfolios, sizeof(slot->folios[0]), by_index);
	release(j, slot, &j->stats.joined);
}

void join_finish(struct join *j)
{
	uint32_t i;

	for (i = 0; i < j->nslots; i++)
		if (j->slots[i].span_id)
			release(j, &j->slots[i], &j->stats.orphaned);
}

void join_stats(const struct join *j, struct join_stats *ret_stats)
{
	*ret_stats = j->stats;
}
