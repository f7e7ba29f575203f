/* SPDX-License-Identifier: BSD-2-Clause */
/* What a request for reports asks for. Pure: the time is given. */
#ifndef PINWHY_WEB_QUERY_H
#define PINWHY_WEB_QUERY_H

#include <stdbool.h>
#include <stdint.h>

#include "web/store.h"

#define QUERY_LIMIT_DEFAULT 100
#define QUERY_LIMIT_MAX 10000

struct query {
	char since[STORE_TIME_LEN];	/* "" = any; compared as text */
	char cause[STORE_WORD_LEN];	/* "" = any; "none" = reports without a verdict */
	uint32_t limit;
	bool json;			/* format=json: the report itself, also for a browser */
};

void query_init(struct query *q);
/* One argument as it is behind its decoding; `value` NULL: it has none. What is wrong with it, or NULL. */
const char *query_set(struct query *q, const char *key, const char *value, uint64_t now_real_ns);
bool query_fits(const struct query *q, const struct stored *report);

/* Is it made like the id of a report? */
bool query_is_id(const char *s);

/*
 * Is a Host header one of ours? `hosts`: names, with commas between them, "" = none; `node`: this machine's name. A page of
 * another site can give a name of its own our address and then read what we answer, but it cannot choose that name: addresses,
 * localhost, the machine's name and those that were configured are ours.
 */
bool query_host_ours(const char *host, const char *node, const char *hosts);

#endif
