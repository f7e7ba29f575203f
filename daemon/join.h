/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Groups the records of one registration by its span id. The ring keeps order,
 * so a registration's folios come before its end; nothing is re-sorted here but the
 * folios of one registration, by their place in it.
 */
#ifndef PINWHY_JOIN_H
#define PINWHY_JOIN_H

#include "incident.h"
#include "wire.h"

struct join;

/* Of each kind of record: kind_in = joined + superseded + excess + orphaned + held */
struct join_count {
	uint64_t joined;	/* became part of an incident */
	uint64_t superseded;	/* of an attempt that the same registration repeated */
	uint64_t excess;	/* more than there is room for in one registration, or in all of them */
	uint64_t orphaned;	/* their registration's end never came */
	uint64_t held;
};
struct join_stats {
	struct join_count folios, holders;
};

/* Room for `spans` registrations, which share that for the folios and for who holds them. -ENOMEM. */
int join_new(struct join **ret_join, uint32_t spans);
void join_free(struct join *j);
void join_folio(struct join *j, const struct wire_folio *folio);
void join_holder(struct join *j, const struct wire_holder *holder);
/* Moves the records of the span into the incident and copies its end there. */
void join_end(struct join *j, const struct wire_reg_end *end, struct incident *ret_incident);
/* Nothing more will come: what is held is orphaned. */
void join_finish(struct join *j);
void join_stats(const struct join *j, struct join_stats *ret_stats);

#endif
