/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The one epoll loop. Owns descriptors' handlers, timers and the time: handlers
 * are told the time of the wake-up and read no clock themselves. Everything is
 * sized at start; nothing here allocates while the loop runs.
 */
#ifndef PINWHY_LOOP_H
#define PINWHY_LOOP_H

#include <stdint.h>
#include <sys/epoll.h>

#include "identity.h"

#define LOOP_SOURCES_MAX 32
#define LOOP_TIMERS_MAX 16

struct loop;

typedef void (*loop_fd_fn)(void *ctx, uint32_t events, struct clock_pair now);
typedef void (*loop_timer_fn)(void *ctx, struct clock_pair now);

struct clock_pair loop_clock(void);
/* How long the machine has slept: CLOCK_BOOTTIME - CLOCK_MONOTONIC. */
uint64_t loop_suspended_ns(void);

int loop_new(struct loop **ret_loop);
/* The time of the wake-up being handled, so that all it causes happens at one time. */
struct clock_pair loop_now(const struct loop *l);
/* Makes it the present, for work outside loop_run(). */
struct clock_pair loop_refresh(struct loop *l);
/* Descriptors stay open. NULL-safe. */
void loop_free(struct loop *l);

/* `events` as for epoll. -ENOSPC when LOOP_SOURCES_MAX are watched, -EPERM for plain files. */
int loop_add(struct loop *l, int fd, uint32_t events, loop_fd_fn fn, void *ctx);
/* Must precede close(fd). Handlers of `fd` do not run any more, not even in this round. */
void loop_del(struct loop *l, int fd);

/* Registers a timer that is not set. Returns its id or -ENOSPC. */
int loop_timer_new(struct loop *l, loop_timer_fn fn, void *ctx);
/* Runs once at or after `at_ns` (CLOCK_MONOTONIC); 0 = not at all. A negative `timer`, one that could not be had, is nothing. */
void loop_timer_set(struct loop *l, int timer, uint64_t at_ns);

/* One wait and everything that is due. -errno when waiting itself fails. */
int loop_once(struct loop *l, uint64_t max_wait_ns);
/* Until loop_stop(). */
int loop_run(struct loop *l);
void loop_stop(struct loop *l);

#endif
