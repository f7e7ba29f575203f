/* SPDX-License-Identifier: BSD-2-Clause */
/* A thread, of this process or another, looked at from outside: is it stuck where the test wants it? */
#ifndef SCENARIO_THREADS_H
#define SCENARIO_THREADS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <sys/types.h>

/*
 * Waits, with a bound, until the thread sleeps in a kernel function whose name starts with
 * `function`. False when it does not, or when `ended` says that it went its way.
 */
bool thread_sleeps_in(pid_t tid, const char *function, const _Atomic bool *ended);

#endif
