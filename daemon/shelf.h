/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Incidents that wait for their facts, each in as much room as what is known of it takes: the arrays of an incident are
 * mostly empty, and its facts are what it waits for.
 */
#ifndef PINWHY_SHELF_H
#define PINWHY_SHELF_H

#include <stddef.h>

#include "incident.h"
#include "storm.h"

/* What a report is called. The id is fixed on the incident's arrival, so that others can point to it. */
struct label {
	const char *kind;
	char report_id[REPORT_ID_LEN];
	char first_report_id[REPORT_ID_LEN];
};

/* An incident on its way to its report. */
struct pending {
	struct label label;
	struct incident in;
};

/* One that waits. */
struct waiting {
	struct facts_request request;	/* id 0 = free */
	uint64_t deadline_ns;	/* UINT64_MAX: its facts are not asked for yet */
	struct label label;
	size_t at, size;	/* of the incident, in the shelf's room */
};

/* The most that one incident takes. */
#define SHELF_INCIDENT_MAX offsetof(struct incident, facts)

struct shelf;

/* For so many incidents, and for so much of them: SHELF_INCIDENT_MAX at least. -ENOMEM. */
int shelf_new(struct shelf **ret_shelf, uint32_t incidents, size_t bytes);
void shelf_free(struct shelf *s);
/* A copy of it waits from now on under an id that is not 0. NULL: there is no room. */
struct waiting *shelf_put(struct shelf *s, const struct pending *pending, uint64_t id);
/* It waits no more. Its facts are not filled in. */
void shelf_take(struct shelf *s, struct waiting *w, struct pending *ret_pending);
/* NULL = there is none of each: */
struct waiting *shelf_find(struct shelf *s, uint64_t id);
/* What is to give way: what is not asked for yet, and of the rest what has waited longest. */
struct waiting *shelf_oldest(struct shelf *s);
/* What has waited longest of those whose deadline has passed. */
struct waiting *shelf_overdue(struct shelf *s, uint64_t now_mono_ns);
/* What is to be asked for next, unless an answer is out. */
struct waiting *shelf_in_turn(struct shelf *s);
/* The first deadline, UINT64_MAX = none. */
uint64_t shelf_deadline(const struct shelf *s);

#endif
