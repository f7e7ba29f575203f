/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A file that grows by whole reports. What does the work here may block, and runs in the sink's own process; it is
 * plain enough to be tested without one.
 */
#ifndef PINWHY_SINKS_FILE_H
#define PINWHY_SINKS_FILE_H

#include <stdbool.h>
#include <stdint.h>

struct batch;
struct outcome;
struct file;

enum file_fsync { FILE_FSYNC_NEVER, FILE_FSYNC_INTERVAL, FILE_FSYNC_EACH };

/* With each batch. */
struct file_settings {
	uint64_t rotate_bytes;	/* 0 = never by size */
	uint64_t rotate_ns;	/* 0 = never by age */
	uint32_t keep;		/* rotated files that stay */
	uint32_t fsync;		/* enum file_fsync */
	uint32_t sync_now;	/* the interval is over */
};

/* Is this the path of a regular file, or of one that is to be made? */
bool file_is_target(const char *path);

/* `lines`: one report per line of JSON, so that one that was cut short can be told and removed. NULL: no memory. */
struct file *file_new(const char *path, bool lines);
/*
 * Opens, locks and repairs. Another process that still has it, such as one of a daemon that was killed, is waited for
 * for `patience_ns`; 0 = forever. -EBADMSG: there is something else in it, which is left alone. -EBUSY: still locked.
 */
int file_open(struct file *f, uint64_t patience_ns, bool durable, uint64_t *ret_repaired);
/* Writes a batch (see sinks/ops.h). Whatever fails, the file ends with a whole report. */
void file_write(struct file *f, const struct batch *b, struct outcome *ret);
void file_free(struct file *f);

#endif
