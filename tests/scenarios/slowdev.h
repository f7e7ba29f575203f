/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A block device whose reads take as long as the test wants: device-mapper's delay target over one
 * that answers at once. What waits in it is let go at once by slowdev_release(): no test waits for
 * a time.
 */
#ifndef SCENARIO_SLOWDEV_H
#define SCENARIO_SLOWDEV_H

#include <stdint.h>

#define SLOWDEV_PATH_LEN 32

/* Delay far beyond any test's bound: only a release ends a read. */
#define SLOWDEV_DELAY_MS 600000

void slowdev_create(const char *name, const char *backing, char ret_path[SLOWDEV_PATH_LEN]);
void slowdev_release(const char *name);	/* completes what waits; later reads wait again */
void slowdev_remove(const char *name);

#endif
