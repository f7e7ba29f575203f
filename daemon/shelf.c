// SPDX-License-Identifier: BSD-2-Clause
#include "shelf.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Of an incident, all before its folios, and of its holders, all before their pins, is kept whole. */
#define HEAD_SIZE offsetof(struct incident, folios)
#define HOLDERS_SIZE offsetof(struct holders, pins)

struct shelf {
	unsigned char *room;	/* no gaps between the incidents */
	size_t size, used;
	uint32_t nwaiting;
	struct waiting waiting[];
};

int shelf_new(struct shelf **ret_shelf, uint32_t incidents, size_t bytes)
{
	struct shelf *s = calloc(1, sizeof(*s) + incidents * sizeof(s->waiting[0]));

	if (!s)
		return -ENOMEM;
	s->room = calloc(1, bytes);
	if (!s->room) {
		free(s);
		return -ENOMEM;
	}
	s->size = bytes;
	s->nwaiting = incidents;
	*ret_shelf = s;
	return 0;
}

void shelf_free(struct shelf *s)
{
	if (!s)
		return;
	free(s->room);
	free(s);
}

static size_t size_of(const struct incident *in)
{
	return HEAD_SIZE + in->nfolios * sizeof(in->folios[0]) + HOLDERS_SIZE +
	       in->holders.npins * sizeof(in->holders.pins[0]) + in->holders.nholdings * sizeof(in->holders.holdings[0]);
}

static unsigned char *put(unsigned char *to, const void *from, size_t size)
{
	memcpy(to, from, size);
	return to + size;
}

static void put_incident(unsigned char *to, const struct incident *in)
{
	const struct holders *h = &in->holders;

	to = put(to, in, HEAD_SIZE);
	to = put(to, in->folios, in->nfolios * sizeof(in->folios[0]));
	to = put(to, h, HOLDERS_SIZE);
	to = put(to, h->pins, h->npins * sizeof(h->pins[0]));
	put(to, h->holdings, h->nholdings * sizeof(h->holdings[0]));
}

static const unsigned char *get(const unsigned char *from, void *to, size_t size)
{
	memcpy(to, from, size);
	return from + size;
}

static void get_incident(const unsigned char *from, struct incident *ret_in)
{
	struct holders *h = &ret_in->holders;

	memset(ret_in, 0, sizeof(*ret_in));
	from = get(from, ret_in, HEAD_SIZE);
	from = get(from, ret_in->folios, ret_in->nfolios * sizeof(ret_in->folios[0]));
	from = get(from, h, HOLDERS_SIZE);
	from = get(from, h->pins, h->npins * sizeof(h->pins[0]));
	get(from, h->holdings, h->nholdings * sizeof(h->holdings[0]));
}

static struct facts_request request_of(const struct incident *in, uint64_t id)
{
	struct facts_request request = {
		.id = id,
		.task_start_ns = in->end.task_start_ns,
		.tgid = in->end.tgid, .tid = in->end.tid,
		.address = in->end.address, .length = in->end.length,
		.hugetlb_bytes = incident_hugetlb_bytes(in),
		.held = incident_held(in),
	};

	memcpy(request.device, in->end.device, sizeof(request.device));
	return request;
}

struct waiting *shelf_put(struct shelf *s, const struct pending *pending, uint64_t id)
{
	struct waiting *w = shelf_find(s, 0);
	size_t size = size_of(&pending->in);

	if (!w || size > s->size - s->used)
		return NULL;
	w->request = request_of(&pending->in, id);
	w->deadline_ns = UINT64_MAX;
	w->label = pending->label;
	w->at = s->used;
	w->size = size;
	s->used += size;
	put_incident(s->room + w->at, &pending->in);
	return w;
}

void shelf_take(struct shelf *s, struct waiting *w, struct pending *ret_pending)
{
	size_t behind = w->at + w->size;
	uint32_t i;

	ret_pending->label = w->label;
	get_incident(s->room + w->at, &ret_pending->in);
	w->request.id = 0;
	/* Those behind it close the gap. */
	memmove(s->room + w->at, s->room + behind, s->used - behind);
	s->used -= w->size;
	for (i = 0; i < s->nwaiting; i++)
		if (s->waiting[i].request.id && s->waiting[i].at > w->at)
			s->waiting[i].at -= w->size;
}

struct waiting *shelf_find(struct shelf *s, uint64_t id)
{
	uint32_t i;

	for (i = 0; i < s->nwaiting; i++)
		if (s->waiting[i].request.id == id)
			return &s->waiting[i];
	return NULL;
}

static bool is_asked(const struct waiting *w)
{
	return w->deadline_ns != UINT64_MAX;
}

static bool gives_way(const struct waiting *a, const struct waiting *b)
{
	return is_asked(a) != is_asked(b) ? is_asked(b) : a->request.id < b->request.id;
}

struct waiting *shelf_oldest(struct shelf *s)
{
	struct waiting *oldest = NULL;
	uint32_t i;

	for (i = 0; i < s->nwaiting; i++)
		if (s->waiting[i].request.id && (!oldest || gives_way(&s->waiting[i], oldest)))
			oldest = &s->waiting[i];
	return oldest;
}

struct waiting *shelf_overdue(struct shelf *s, uint64_t now_mono_ns)
{
	struct waiting *found = NULL;
	uint32_t i;

	for (i = 0; i < s->nwaiting; i++) {
		struct waiting *w = &s->waiting[i];

		if (w->request.id && w->deadline_ns <= now_mono_ns && (!found || w->request.id < found->request.id))
			found = w;
	}
	return found;
}

struct waiting *shelf_in_turn(struct shelf *s)
{
	struct waiting *next = NULL;
	uint32_t i;

	for (i = 0; i < s->nwaiting; i++) {
		struct waiting *w = &s->waiting[i];

		if (w->request.id && is_asked(w))
			return NULL;
		if (w->request.id && (!next || w->request.id < next->request.id))
			next = w;
	}
	return next;
}

uint64_t shelf_deadline(const struct shelf *s)
{
	uint64_t first = UINT64_MAX;
	uint32_t i;

	for (i = 0; i < s->nwaiting; i++)
		if (s->waiting[i].request.id && s->waiting[i].deadline_ns < first)
			first = s->waiting[i].deadline_ns;
	return first;
}
