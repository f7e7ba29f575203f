/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The scan for registrations that stay in flight. Looks at the shared span table, never
 * at the registering process beyond /proc: the agent does not wait for what it explains.
 */
#ifndef PINWHY_SPANS_H
#define PINWHY_SPANS_H

#include <stdbool.h>
#include <stdint.h>

#include "identity.h"
#include "wire.h"

struct spans_opts {
	uint64_t after_ns;	/* a registration older than this is stuck, ... */
	uint64_t per_gib_ns;	/* ... plus this much per GiB asked for */
	const char *proc;	/* "/proc"; tests give a tree of their own */
	bool pids_ours;		/* false in a PID namespace: the kernel's numbers are not those of /proc */
};

/* Kept between scans by the caller; starts as zeroes. */
struct spans_state {
	uint64_t in_flight;	/* at the last scan */
	uint64_t unverified;	/* old, but nothing told that the thread is still inside */
	uint64_t ended_unseen;	/* thread gone or outside: its end was missed, slot freed */
	uint64_t outside[WIRE_SPANS];	/* span id seen outside at the last scan */
	struct spans_run {
		uint64_t id;		/* of the span whose thread was seen running, 0 = none */
		uint64_t at_ns;
		uint64_t user, kernel;	/* its time there until then, in ticks of 10 ms */
	} runs[WIRE_SPANS];
};

#define SPANS_FRESH_NS 2000000000ULL

/* `span` is a private copy. */
typedef void (*span_fn)(void *ctx, const struct wire_span *span, const struct sighting *sighting);

/*
 * Calls fn once per stuck registration, and marks it so that its end is reported too.
 * A thread counts as inside when it waits in the system call that opened the span (the same arguments, stack pointer
 * and program counter in user space), or when it is in a long-term pin and the hooks have fired within
 * SPANS_FRESH_NS, or it has used the processor in the kernel and nowhere else for a second.
 * One found outside in two scans running has ended unseen: its slot is freed and counted, never
 * reported as stuck.
 */
void spans_scan(struct wire_span *spans, const struct spans_opts *opts, uint64_t now_ns, struct spans_state *state,
		span_fn fn, void *ctx);

#endif
