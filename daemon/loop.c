// SPDX-License-Identifier: BSD-2-Clause
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "loop.h"

#define NS_PER_MS 1000000ULL
#define WAIT_MAX_NS (3600ULL * 1000 * NS_PER_MS)

struct source {
	int fd;			/* -1 = free */
	uint32_t generation;	/* tells a reused place from the one an event was queued for */
	loop_fd_fn fn;
	void *ctx;
};

struct timer {
	loop_timer_fn fn;
	void *ctx;
	uint64_t at_ns;
};

struct loop {
	int epoll_fd;
	bool stopped;
	struct clock_pair now;
	struct source sources[LOOP_SOURCES_MAX];
	struct timer timers[LOOP_TIMERS_MAX];
	int ntimers;
};

static uint64_t read_clock(clockid_t id)
{
	struct timespec ts;

	clock_gettime(id, &ts);
	return (uint64_t)ts.tv_sec * 1000000000ULL + (uint64_t)ts.tv_nsec;
}

struct clock_pair loop_clock(void)
{
	return (struct clock_pair){
		.mono_ns = read_clock(CLOCK_MONOTONIC),
		.real_ns = read_clock(CLOCK_REALTIME),
	};
}

struct clock_pair loop_now(const struct loop *l)
{
	return l->now;
}

struct clock_pair loop_refresh(struct loop *l)
{
	l->now = loop_clock();
	return l->now;
}

uint64_t loop_suspended_ns(void)
{
	uint64_t mono = read_clock(CLOCK_MONOTONIC), boot = read_clock(CLOCK_BOOTTIME);

	return boot - mono; /* read in this order, so that it is never negative */
}

int loop_new(struct loop **ret_loop)
{
	struct loop *l = calloc(1, sizeof(*l));

	if (!l)
		return -ENOMEM;
	l->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (l->epoll_fd < 0) {
		int err = -errno;

		free(l);
		return err;
	}
	for (int i = 0; i < LOOP_SOURCES_MAX; i++)
		l->sources[i].fd = -1;
	loop_refresh(l);
	*ret_loop = l;
	return 0;
}

void loop_free(struct loop *l)
{
	if (!l)
		return;
	close(l->epoll_fd);
	free(l);
}

int loop_add(struct loop *l, int fd, uint32_t events, loop_fd_fn fn, void *ctx)
{
	struct epoll_event ev = { .events = events };
	int i;

	for (i = 0; i < LOOP_SOURCES_MAX; i++)
		if (l->sources[i].fd < 0)
			break;
	if (i == LOOP_SOURCES_MAX)
		return -ENOSPC;
	ev.data.u64 = (uint64_t)(l->sources[i].generation + 1) << 32 | (uint32_t)i;
	if (epoll_ctl(l->epoll_fd, EPOLL_CTL_ADD, fd, &ev) < 0)
		return -errno;
	l->sources[i].generation++;
	l->sources[i].fd = fd;
	l->sources[i].fn = fn;
	l->sources[i].ctx = ctx;
	return 0;
}

void loop_del(struct loop *l, int fd)
{
	for (int i = 0; i < LOOP_SOURCES_MAX; i++) {
		if (l->sources[i].fd != fd)
			continue;
		epoll_ctl(l->epoll_fd, EPOLL_CTL_DEL, fd, NULL);
		l->sources[i].fd = -1;
		l->sources[i].generation++;
	}
}

int loop_timer_new(struct loop *l, loop_timer_fn fn, void *ctx)
{
	if (l->ntimers == LOOP_TIMERS_MAX)
		return -ENOSPC;
	l->timers[l->ntimers] = (struct timer){ .fn = fn, .ctx = ctx };
	return l->ntimers++;
}

void loop_timer_set(struct loop *l, int timer, uint64_t at_ns)
{
	if (timer >= 0)
		l->timers[timer].at_ns = at_ns;
}

/* Milliseconds for epoll_wait, rounded up so that a timer is due when the wait ends. */
static int wait_ms(const struct loop *l, uint64_t now_ns, uint64_t max_wait_ns)
{
	uint64_t wait_ns = max_wait_ns < WAIT_MAX_NS ? max_wait_ns : WAIT_MAX_NS;

	for (int i = 0; i < l->ntimers; i++) {
		uint64_t at = l->timers[i].at_ns;

		if (!at)
			continue;
		if (at <= now_ns)
			return 0;
		if (at - now_ns < wait_ns)
			wait_ns = at - now_ns;
	}
	return (int)((wait_ns + NS_PER_MS - 1) / NS_PER_MS);
}

static void run_events(struct loop *l, const struct epoll_event *ev, int n, struct clock_pair now)
{
	for (int i = 0; i < n; i++) {
		const struct source *s = &l->sources[(uint32_t)ev[i].data.u64];

		/* A handler that ran before may have removed this one. */
		if (s->fd >= 0 && s->generation == (uint32_t)(ev[i].data.u64 >> 32))
			s->fn(s->ctx, ev[i].events, now);
	}
}

static void run_timers(struct loop *l, struct clock_pair now)
{
	for (int i = 0; i < l->ntimers; i++) {
		struct timer *t = &l->timers[i];

		if (!t->at_ns || t->at_ns > now.mono_ns)
			continue;
		t->at_ns = 0;
		t->fn(t->ctx, now);
	}
}

int loop_once(struct loop *l, uint64_t max_wait_ns)
{
	struct epoll_event ev[LOOP_SOURCES_MAX];
	struct clock_pair now;
	int n;

	n = epoll_wait(l->epoll_fd, ev, LOOP_SOURCES_MAX,
		       wait_ms(l, read_clock(CLOCK_MONOTONIC), max_wait_ns));
	if (n < 0 && errno != EINTR)
		return -errno;
	now = loop_refresh(l);
	run_events(l, ev, n < 0 ? 0 : n, now);
	run_timers(l, now);
	return 0;
}

int loop_run(struct loop *l)
{
	int err = 0;

	while (!l->stopped && !err)
		err = loop_once(l, WAIT_MAX_NS);
	return err;
}

void loop_stop(struct loop *l)
{
	l->stopped = true;
}
