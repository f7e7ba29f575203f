/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What pinwhy trace says of each record: one line of text, or one JSON object. Records come in the ring's order and
 * are told as they come; of a registration only who makes it and where its range begins is remembered.
 */
#ifndef PINWHY_STEPS_H
#define PINWHY_STEPS_H

#include "decode.h"
#include "identity.h"
#include "text.h"

#define STEPS_SPANS 256	/* registrations remembered; power of two */

struct steps_span {
	uint64_t id;	/* 0 = none */
	uint64_t address;
	uint32_t tgid, tid;
	char comm[WIRE_COMM_LEN];
};

struct steps {
	const struct identity *identity;
	uint64_t base_ns;	/* time 0 of the trace, CLOCK_MONOTONIC */
	struct steps_span spans[STEPS_SPANS];
	struct steps_span current;	/* of the record being told */
	uint64_t ok, failed, first_pins;	/* registrations ended, pins of NVIDIA's driver */
};

struct json_object;

/* Takes note of a decoded record. False: it is none that is told. */
bool steps_note(struct steps *s, const struct event *ev);
/* The record just noted, without a newline; nothing in it can steer a terminal. */
void steps_text(const struct steps *s, const struct event *ev, struct text *t);
/* The same as an object of kind trace_step. -ENOMEM. */
int steps_json(const struct steps *s, const struct event *ev, struct json_object **ret_json);
/* "  0.012345  comm[pid]  " of the record just noted. */
void steps_prefix(const struct steps *s, uint64_t time_ns, struct text *t);
/* The verdict of a report in a line: cause, confidence, summary. It is made when all facts are there; a hazard has its time. */
void steps_verdict(const struct steps *s, struct json_object *report, struct text *t);

#endif
