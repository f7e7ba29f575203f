/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A file, pipe, terminal or socket that text is appended to without ever waiting for a
 * reader. `priv` is a target: the functions go into a struct sink_ops as they are.
 */
#ifndef PINWHY_SINKS_TARGET_H
#define PINWHY_SINKS_TARGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * `path` or "-" for standard output. `lines`: the file holds one report per line; a
 * last line without its end was cut short by a crash and is removed, `ret_repaired`
 * bytes long. Anything else there than one of our reports is left alone: -EBADMSG.
 */
int target_open(void **ret_priv, const char *path, bool lines, uint64_t *ret_repaired);
/* Bytes written, -EAGAIN when there is no room now, other -errno. */
ssize_t target_write(void *priv, const char *data, size_t len);
/*
 * Opens the path again. 0: it is another file now, and the last `begun` bytes of the old
 * one were taken back. 1: it is the same, or a stream; nothing changed. -errno: nothing changed.
 */
int target_reopen(void *priv, size_t begun);
int target_fd(const void *priv);
/* Takes the last `begun` bytes back, so that the file ends with a whole report. NULL-safe. */
void target_close(void *priv, size_t begun);

#endif
