// SPDX-License-Identifier: BSD-2-Clause
#include "pool.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct pool {
	size_t record_size;
	uint32_t share;
	uint32_t spare;		/* of the rest */
	uint32_t free;		/* first free place */
	uint32_t *next;		/* by place - 1 */
	unsigned char *records;	/* likewise */
};

int pool_new(struct pool **ret_pool, size_t record_size, uint32_t chains, uint32_t share, uint32_t rest)
{
	uint32_t i, n = chains * share + rest;
	struct pool *p = calloc(1, sizeof(*p));

	if (!p)
		return -ENOMEM;
	p->record_size = record_size;
	p->share = share;
	p->spare = rest;
	p->next = calloc(n, sizeof(*p->next));
	p->records = calloc(n, record_size);
	if (!p->next || !p->records) {
		pool_free(p);
		return -ENOMEM;
	}
	p->free = 1;
	for (i = 1; i < n; i++)
		p->next[i - 1] = i + 1;
	*ret_pool = p;
	return 0;
}

void pool_free(struct pool *p)
{
	if (!p)
		return;
	free(p->next);
	free(p->records);
	free(p);
}

bool pool_has_room(const struct pool *p, const struct chain *c)
{
	return c->n < p->share || p->spare;
}

static unsigned char *place(const struct pool *p, uint32_t at)
{
	return p->records + (size_t)(at - 1) * p->record_size;
}

void pool_add(struct pool *p, struct chain *c, const void *record)
{
	uint32_t at = p->free;

	p->free = p->next[at - 1];
	p->next[at - 1] = 0;
	p->spare -= c->n >= p->share;
	memcpy(place(p, at), record, p->record_size);
	*(c->n ? &p->next[c->last - 1] : &c->first) = at;
	c->last = at;
	c->n++;
}

const void *pool_at(const struct pool *p, uint32_t at)
{
	return place(p, at);
}

uint32_t pool_next(const struct pool *p, uint32_t at)
{
	return p->next[at - 1];
}

void pool_copy(const struct pool *p, const struct chain *c, void *ret_records)
{
	unsigned char *to = ret_records;
	uint32_t at;

	for (at = c->first; at; at = p->next[at - 1], to += p->record_size)
		memcpy(to, place(p, at), p->record_size);
}

void pool_clear(struct pool *p, struct chain *c)
{
	if (c->n) {
		p->next[c->last - 1] = p->free;
		p->free = c->first;
	}
	p->spare += c->n > p->share ? c->n - p->share : 0;
	memset(c, 0, sizeof(*c));
}
