/* SPDX-License-Identifier: BSD-2-Clause */
/* The service manager's notification socket: one datagram, no library needed. */
#ifndef PINWHY_NOTIFY_H
#define PINWHY_NOTIFY_H

#include <stdint.h>

/* Sends "READY=1" and the like to $NOTIFY_SOCKET. 0 also when there is none; else -errno. */
int notify_send(const char *state);

/* The manager's watchdog, which ends a service that does not say in time that it makes progress. */
struct watchdog {
	uint64_t every_ns;	/* 0 = the manager has none for this process */
	uint64_t next_ns;	/* CLOCK_MONOTONIC */
};

/* From $WATCHDOG_USEC and $WATCHDOG_PID; tells the manager twice in the time it allows. */
void watchdog_init(struct watchdog *w);
/* To be called when a round of periodic work is done, never from a timer of its own: that would tell of nothing. */
void watchdog_progress(struct watchdog *w, uint64_t now_ns);

#endif
