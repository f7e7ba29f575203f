/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The last reports, for HTTP. Bounded in number and bytes, all of it taken at start: what is new pushes out what is oldest.
 * At start it is filled from the end of the reports file, so that a restart forgets nothing that is shown.
 */
#ifndef PINWHY_WEB_STORE_H
#define PINWHY_WEB_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define STORE_ID_LEN 37
#define STORE_WORD_LEN 64
#define STORE_TIME_LEN 32

struct store;

struct stored {
	uint64_t number;	/* counts up, from 1 */
	char id[STORE_ID_LEN];
	char time[STORE_TIME_LEN];	/* RFC 3339 in UTC: sorts as text */
	char kind[STORE_WORD_LEN];
	char cause[STORE_WORD_LEN];	/* "" = a kind without verdict */
	const char *line;	/* the report, one line of JSON without newline; until the next store_put() */
	size_t len;
};

struct store_stats {
	uint64_t put;		/* taken in, from the file too */
	uint64_t refused;	/* no report, or bigger than the whole store */
	uint64_t held, held_bytes;
};

/* -ENOMEM. Both at least 1. */
int store_new(struct store **ret_store, uint32_t reports, size_t bytes);
void store_free(struct store *s);	/* NULL-safe */

/* A line of JSON, with or without its newline. -EBADMSG: no report; -EFBIG: bigger than the whole store; -ENOMEM. */
int store_put(struct store *s, const char *line, size_t len);
/*
 * The reports at the end of a file of one report per line, at most as many bytes as the store has. A first and a last line
 * that are cut are passed over. How many, or -errno. Blocks: for the start.
 */
int store_load(struct store *s, const char *path);

/* The newest with a number below `number` (UINT64_MAX: of all). False: there is none. */
bool store_before(const struct store *s, uint64_t number, struct stored *ret_report);
/* By its whole id. */
bool store_find(const struct store *s, const char *id, struct stored *ret_report);
void store_stats(const struct store *s, struct store_stats *ret_stats);

#endif
