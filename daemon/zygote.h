/* SPDX-License-Identifier: BSD-2-Clause */
/* The two processes behind helper.h, and the messages between them and the daemon. */
#ifndef PINWHY_ZYGOTE_H
#define PINWHY_ZYGOTE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Zygote to daemon; with it come the work socket and a pidfd when err is 0. */
struct zygote_spawned {
	int32_t pid;
	int32_t err;		/* -errno of the fork or what follows it */
};

/*
 * What workers do. Requests and answers are plain data of fixed sizes. On the way a uint64_t id stands before each: the
 * worker echoes it.
 */
struct zygote_job {
	const char *name;	/* of the worker process */
	size_t request_size, answer_size;	/* the request's is a bound */
	/* May block. The answer is zeroed before. */
	void (*work)(void *ctx, const void *request, void *ret_answer);
	void *ctx;
};

/* Forks the zygote. The socket is the caller's to close, the process to reap. */
int zygote_start(const struct zygote_job *job, pid_t *ret_pid, int *ret_fd);
/* Asks for a worker. Never blocks. */
int zygote_ask(int fd);
/* The answer: -EAGAIN when there is none yet, -EPIPE when the zygote is gone. */
int zygote_receive(int fd, struct zygote_spawned *ret_spawned, int ret_fds[2]);

#endif
