/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The groups a process is in, from its own up to the mount point, in version 2 and in version 1 (one
 * hierarchy per controller). All return 0 or -errno; FACT_NONE where the controller is not in use.
 */
#ifndef PINWHY_ENRICH_CGROUP_H
#define PINWHY_ENRICH_CGROUP_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "enrich/enrich.h"

struct cgroup {
	char dir[PATH_MAX];	/* of the group looked at */
	size_t mount_len;	/* how much of it is the mount point */
	bool v1;
};

/* The path behind "0::" of an open /proc/PID: the version 2 group. */
int cgroup_v2_path(int proc_fd, char *ret_path, size_t size);
/* The group of the process that `controller` accounts it in. */
int cgroup_find(const struct enrich *e, int proc_fd, const char *controller, struct cgroup *ret_group);
/* Moves on to the parent; false when the group has none but the root, which has no limits. */
bool cgroup_up(struct cgroup *g);
/* Is `g` below the root? */
bool cgroup_has_limits(const struct cgroup *g);
/* The path below the mount point. Valid until `g` changes. */
const char *cgroup_name(const struct cgroup *g);

/* One number: "max" and version 1's largest number of pages are UINT64_MAX. */
int cgroup_number(const struct cgroup *g, const char *file, uint64_t *ret_value);
/* "KEY NUMBER" in a file of such lines. */
int cgroup_keyed(const struct cgroup *g, const char *file, const char *key, uint64_t *ret_value);
/* Opens a file of the group; the caller closes it. */
int cgroup_open(const struct cgroup *g, const char *file, FILE **ret_f);

/*
 * The smallest number in `file` from `g` upwards. A level without the file sets no limit;
 * FACT_NONE when no level has one. `ret_tightest` is the group it is in, unless there is no limit.
 */
int cgroup_tightest(const struct cgroup *g, const char *file, uint64_t *ret_value,
		    struct cgroup *ret_tightest);

#endif
