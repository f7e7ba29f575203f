/* SPDX-License-Identifier: BSD-2-Clause */
/* One daemon per report file: a lock file beside it, held by flock, with the holder's pid inside. */
#ifndef PINWHY_LOCK_H
#define PINWHY_LOCK_H

#include <sys/types.h>

struct lock;

/*
 * -EBUSY when another process holds it, and its pid in *ret_owner (0 = could not be
 * read); else -errno. A target that is no plain file (a pipe, /dev/full) needs no
 * lock: 0, and *ret_lock is NULL. The lock ends with the process, whatever happens.
 */
int lock_acquire(struct lock **ret_lock, const char *target, pid_t *ret_owner);
/* NULL-safe. The lock file stays: removing it would race with the next to open it. */
void lock_release(struct lock *l);

#endif
