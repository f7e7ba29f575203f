// SPDX-License-Identifier: BSD-2-Clause
#include "join.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "pool.h"

/* What each registration is sure of, and how much more there is for each of them, to be had by those that need it. */
#define FOLIOS_SURE 8
#define FOLIOS_MORE 16
#define PINS_SURE 2
#define PINS_MORE 4
#define HOLDINGS_SURE 8
#define HOLDINGS_MORE 16

struct join_slot {
	uint64_t span_id;	/* 0 = free */
	uint64_t born;		/* order of arrival: the oldest is evicted */
	uint32_t gup_call;	/* the slow-path pin these stayed in */
	uint32_t put_aside;	/* as in struct holders */
	struct chain folios, pins, holdings;
};

struct join {
	struct join_stats stats;
	struct pool *folios, *pins, *holdings;
	uint64_t births;
	uint32_t nslots;
	struct join_slot slots[];
};

int join_new(struct join **ret_join, uint32_t spans)
{
	struct join *j = calloc(1, sizeof(*j) + spans * sizeof(j->slots[0]));
	int err;

	if (!j)
		return -ENOMEM;
	j->nslots = spans;
	/* One has all that it can have, however few there are. */
	err = pool_new(&j->folios, sizeof(struct wire_folio), spans, FOLIOS_SURE, spans * FOLIOS_MORE + WIRE_FOLIOS_MAX);
	if (!err)
		err = pool_new(&j->pins, sizeof(struct wire_holder), spans, PINS_SURE, spans * PINS_MORE + WIRE_HOLDERS_MAX);
	if (!err)
		err = pool_new(&j->holdings, sizeof(struct holding), spans, HOLDINGS_SURE, spans * HOLDINGS_MORE + HOLDINGS_MAX);
	if (err) {
		join_free(j);
		return err;
	}
	*ret_join = j;
	return 0;
}

void join_free(struct join *j)
{
	if (!j)
		return;
	pool_free(j->folios);
	pool_free(j->pins);
	pool_free(j->holdings);
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

static void settle(struct join_count *count, uint64_t *counter, struct pool *pool, struct chain *chain)
{
	*counter += chain->n;
	count->held -= chain->n;
	pool_clear(pool, chain);
}

static void clear(struct join *j, struct join_slot *slot, uint64_t *folios, uint64_t *holders)
{
	settle(&j->stats.folios, folios, j->folios, &slot->folios);
	settle(&j->stats.holders, holders, j->holdings, &slot->holdings);
	pool_clear(j->pins, &slot->pins);
	slot->put_aside = 0;
}

static void orphan(struct join *j, struct join_slot *slot)
{
	clear(j, slot, &j->stats.folios.orphaned, &j->stats.holders.orphaned);
	slot->span_id = 0;
}

/*
 * When part of a batch was pinned, the kernel swallows the error and the caller tries
 * the rest again: the last attempt is the one that decides.
 */
static void supersede_older(struct join *j, struct join_slot *slot, uint32_t gup_call)
{
	if (slot->gup_call != gup_call)
		clear(j, slot, &j->stats.folios.superseded, &j->stats.holders.superseded);
	slot->gup_call = gup_call;
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
		orphan(j, slot);
	}
	slot->span_id = span_id;
	slot->born = ++j->births;
	return slot;
}

static struct join_slot *slot_of(struct join *j, uint64_t span_id, uint32_t gup_call)
{
	struct join_slot *slot = find(j, span_id);

	if (!slot)
		slot = claim(j, span_id);
	supersede_older(j, slot, gup_call);
	return slot;
}

void join_folio(struct join *j, const struct wire_folio *folio)
{
	struct join_slot *slot = slot_of(j, folio->hdr.span_id, folio->gup_call);

	if (slot->folios.n == WIRE_FOLIOS_MAX || !pool_has_room(j->folios, &slot->folios)) {
		j->stats.folios.excess++;
		return;
	}
	pool_add(j->folios, &slot->folios, folio);
	j->stats.folios.held++;
}

/* Index of this pin among those of the registration, their number when it is not there. */
static uint32_t pin_index(const struct join *j, const struct join_slot *slot, uint64_t id)
{
	uint32_t i = 0, at;

	for (at = slot->pins.first; at; at = pool_next(j->pins, at), i++)
		if (((const struct wire_holder *)pool_at(j->pins, at))->pin.id == id)
			break;
	return i;
}

/* So many pins of one folio are kept that there is place for those of each. */
static bool place_for(const struct join *j, const struct join_slot *slot, uint64_t pfn)
{
	uint32_t at, n = 0;

	for (at = slot->holdings.first; at; at = pool_next(j->holdings, at))
		n += ((const struct holding *)pool_at(j->holdings, at))->pfn == pfn;
	return slot->holdings.n < HOLDINGS_MAX && n < HOLDINGS_MAX / WIRE_FOLIOS_MAX;
}

void join_holder(struct join *j, const struct wire_holder *holder)
{
	struct join_slot *slot = slot_of(j, holder->hdr.span_id, holder->gup_call);
	uint32_t pin = pin_index(j, slot, holder->pin.id);
	const struct holding holding = { holder->pfn, holder->page, pin, holder->pin.doubt, holder->pin.calls, 0 };
	bool new_pin = pin == slot->pins.n;
	bool fits = place_for(j, slot, holder->pfn);

	if (!fits || pin >= WIRE_HOLDERS_MAX || !pool_has_room(j->holdings, &slot->holdings) || (new_pin && !pool_has_room(j->pins, &slot->pins))) {
		slot->put_aside += fits;
		j->stats.holders.excess++;
		return;
	}
	if (new_pin)
		pool_add(j->pins, &slot->pins, holder);
	pool_add(j->holdings, &slot->holdings, &holding);
	j->stats.holders.held++;
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
	supersede_older(j, slot, end->gup_calls); /* the deciding attempt may have left none behind */
	ret_incident->nfolios = slot->folios.n;
	pool_copy(j->folios, &slot->folios, ret_incident->folios);
	qsort(ret_incident->folios, ret_incident->nfolios, sizeof(ret_incident->folios[0]), by_index);
	ret_incident->holders.npins = slot->pins.n;
	pool_copy(j->pins, &slot->pins, ret_incident->holders.pins);
	ret_incident->holders.nholdings = slot->holdings.n;
	pool_copy(j->holdings, &slot->holdings, ret_incident->holders.holdings);
	ret_incident->holders.put_aside = slot->put_aside;
	clear(j, slot, &j->stats.folios.joined, &j->stats.holders.joined);
	slot->span_id = 0;
}

void join_finish(struct join *j)
{
	uint32_t i;

	for (i = 0; i < j->nslots; i++)
		if (j->slots[i].span_id)
			orphan(j, &j->slots[i]);
}

void join_stats(const struct join *j, struct join_stats *ret_stats)
{
	*ret_stats = j->stats;
}
