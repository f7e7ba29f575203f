/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Does in a process of its own what may block or take long, because the daemon may not: reads facts,
 * since a file of /proc, /sys or a cgroup may block for as long as it likes; hashes passwords.
 *
 *   daemon --- control socket --- zygote        forked at start, while we are small
 *          \-- work socket ------ worker        forked by the zygote, one at a time
 *
 * The worker answers one request at a time. One that is late is killed through its
 * pidfd and given up whether it dies or not; the zygote forks the next, with `exclusive`
 * when the kernel says that it has ended.
 *
 * Why a zygote: a fork of the daemon itself would make all its memory copy-on-write,
 * and the first write to each page needs a new page: in a memory cgroup with
 * nothing left that kills the daemon. The zygote has a few pages of its own, and
 * when one of the two must go, the kernel is told to take it and not the daemon.
 */
#ifndef PINWHY_HELPER_H
#define PINWHY_HELPER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "facts.h"
#include "loop.h"

struct helper;

struct helper_ops {
	const char *name;	/* of the worker process */
	size_t request_size, answer_size;	/* plain data, multiples of 8 bytes */
	uint32_t queue;		/* requests that may wait */
	/* Runs in the worker; may block. The answer is zeroed before. */
	void (*work)(void *ctx, const void *request, void *ret_answer);
	/* Runs in the daemon. */
	void (*answer)(void *ctx, uint64_t id, const void *answer, struct clock_pair now);
	/* Runs in the daemon: no answer will come. NULL: nobody asks. */
	void (*lost)(void *ctx, uint64_t id, struct clock_pair now);
	/* Bytes of a request from its front that mean something, at most request_size. NULL: all. */
	size_t (*size)(const void *request);
	/* No worker begins before the last one is gone for good: two must not write to one file. */
	bool exclusive;
};
/* Those that read facts (struct facts_request, struct facts): by `read`, to `answer`. */
#define HELPER_FACTS(read, answered) { \
	.name = "pinwhy-facts", .request_size = sizeof(struct facts_request), .answer_size = sizeof(struct facts), \
	.queue = 64, .work = (read), .answer = (answered) }

struct helper_stats {
	uint64_t asked, answered;
	uint64_t late;		/* the worker had it and did not answer in time, or died with it */
	uint64_t expired;	/* waited in our queue until its deadline had passed */
	uint64_t refused;	/* queue full */
	uint64_t restarts;	/* workers started after the first */
	uint64_t queued;	/* now, the one being worked on included */
	bool alive;		/* a worker is there */
};

/*
 * Forks the zygote: call before anything big is in memory and before threads exist.
 * `deadline_ns` counts from helper_ask(). `ops` must stay valid.
 */
int helper_start(struct helper **ret_helper, const struct helper_ops *ops, void *ctx,
		 uint64_t deadline_ns);
/* Watches the sockets in `loop`; answers come from there on. */
int helper_attach(struct helper *h, struct loop *loop);
/* -EBUSY when the queue is full. Never blocks. `id` comes with the answer. */
int helper_ask(struct helper *h, uint64_t id, const void *request, struct clock_pair now);
void helper_stats(const struct helper *h, struct helper_stats *ret_stats);
/* The worker's pid, 0 = none: for logs and tests. */
pid_t helper_worker_pid(const struct helper *h);
/* Kills both processes and does not wait for one that cannot die. NULL-safe. */
void helper_stop(struct helper *h);

#endif
