/* SPDX-License-Identifier: BSD-2-Clause */
/* A command that is started at once and runs only when it is let go. */
#ifndef PINWHY_COMMAND_H
#define PINWHY_COMMAND_H

#include <sys/types.h>

#define COMMAND_US_FAILED 125	/* exit status: the command did not run because of us */
#define COMMAND_CANNOT_RUN 126
#define COMMAND_NOT_FOUND 127

struct command {
	pid_t pid;
	int gate_fd;	/* closed without a word: it ends and never runs */
	int error_fd;	/* tells the errno of an exec that failed */
};

/* Forks; call it before signals are blocked and threads exist. Only the caller's own privileges are left to it. */
int command_start(struct command *c, char *const *argv);
/* Lets it run. 0 once it has begun, the positive errno of its exec, or -errno. */
int command_go(struct command *c);
/* Gives it up when it has not been let go, waits for its end, and returns the exit status as a shell has it. */
int command_wait(struct command *c);

#endif
