/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pinwhy trace: every registration of one process, success included, step by step. A process of its own with its
 * own maps and hooks, beside a daemon or another trace.
 */
#ifndef PINWHY_TRACE_H
#define PINWHY_TRACE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct config;

struct trace_opts {
	const struct config *config;	/* how to attach, the ring's size, what facts to read */
	pid_t pid;			/* 0 = none */
	const char *comm;		/* NULL = none */
	char *const *command;		/* NULL = none */
	bool json;
	const char *output;		/* NULL = standard output */
	uint64_t seconds, count;	/* end after so long, so many registrations; 0 = no such limit */
};

/* The exit status. */
int trace_run(const struct trace_opts *opts);

#endif
