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

/* kind_in[FOLIO] = joined + superseded + excess + orphaned + held */
struct join_stats {
	uint64_t joined;	/* became part of an incident */
	uint64_t superseded;	/* of an attempt that the same registration repeated */
	uint64_t excess;	/* beyond WIRE_FOLIOS_MAX of one registration */
	uint64_t orphaned;	/* their registration's end never came */
	uint64_t held;
};

/* Room for the folios of `spans` registrations. -ENOMEM. */
int join_new(struct join **ret_join, uint32_t spans);
void join_free(struct join *j);
void join_folio(struct join *j, const struct wire_folio *folio);
/* Moves the folios of the span into the incident and copies its end there. */
void join_end(struct join *j, const struct wire_reg_end *end, struct incident *ret_incident);
/* Nothing more will come: what is held is orphaned. */
void join_finish(struct join *j);
void join_stats(const struct join *j, struct join_stats *ret_stats);

#endif
