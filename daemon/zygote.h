/* SPDX-License-Identifier: BSD-2-Clause */
/* The two processes behind helper.h, and the messages between them and the daemon. */
#ifndef PINWHY_ZYGOTE_H
#define PINWHY_ZYGOTE_H

#include <stdint.h>
#include <sys/types.h>

#include "facts.h"

/* Zygote to daemon; with it come the work socket and a pidfd when err is 0. */
struct zygote_spawned {
	int32_t pid;
	int32_t err;		/* -errno of the fork or what follows it */
};

/* Worker to daemon: the answer to one struct facts_request. */
struct zygote_answer {
	uint64_t id;
	struct facts facts;
};

typedef void (*zygote_work_fn)(void *ctx, const struct facts_request *req, struct facts *ret_facts);

/* Forks the zygote. The socket is the caller's to close, the process to reap. */
int zygote_start(zygote_work_fn work, void *ctx, pid_t *ret_pid, int *ret_fd);
/* Asks for a worker. Never blocks. */
int zygote_ask(int fd);
/* The answer: -EAGAIN when there is none yet, -EPIPE when the zygote is gone. */
int zygote_receive(int fd, struct zygote_spawned *ret_spawned, int ret_fds[2]);

#endif
