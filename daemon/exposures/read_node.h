/* SPDX-License-Identifier: BSD-2-Clause */
/* Fills struct node from /proc, /sys and /dev. Only pinwhy doctor does so, once. */
#ifndef PINWHY_EXPOSURES_READ_NODE_H
#define PINWHY_EXPOSURES_READ_NODE_H

#include <dirent.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "enrich/enrich.h"
#include "exposures/node.h"

/* Everything, below e->root, however long it takes. `machine` is what uname(2) says. */
void node_read(const struct enrich *e, const char *machine, struct node *ret);

/*
 * The same in a child process that is killed after `deadline_ms`: files of a process that is stuck
 * in a registration may never answer. What was not read by then carries -ETIMEDOUT.
 */
void node_read_within(const struct enrich *e, const char *machine, unsigned int deadline_ms, struct node *ret);

/* --- for the readers; 0, NODE_ABSENT or -errno -------------------------------------- */

#define SOURCE(name, path, what) int32_t read_##name(const struct enrich *e, struct node *n);
#include "exposures/sources.def"
#undef SOURCE

/* The first line of one file, cut to `size`. */
int node_line(const struct enrich *e, const char *path, char *ret, size_t size);
int node_number(const struct enrich *e, const char *path, uint64_t *ret);
int node_dir(const struct enrich *e, const char *path, DIR **ret);
bool node_exists(const struct enrich *e, const char *path);
/* The next entry but "." and "..", NULL at the end. */
struct dirent *node_entry(DIR *dir);
/* For a file in debugfs that is not there: NODE_ABSENT, or -ENODEV when debugfs itself is not. */
int node_debugfs(const struct enrich *e, int err);
/* "There is no such file" is an answer. */
int32_t absent_is_fine(int err);

#endif
