// SPDX-License-Identifier: BSD-2-Clause
#include "threads.h"

#include <stdio.h>
#include <string.h>

#include "common.h"

#define BOUND_MS 60000

struct wanted {
	pid_t tid;
	const char *function;
	const _Atomic bool *ended;
	bool asleep;
};

static bool sleeps_in(void *ctx)
{
	struct wanted *wanted = ctx;
	char path[64], name[128] = "";
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/wchan", wanted->tid);
	f = fopen(path, "re");
	if (!f)
		return atomic_load(wanted->ended);
	if (!fgets(name, sizeof(name), f))
		name[0] = '\0';
	fclose(f);
	wanted->asleep = !strncmp(name, wanted->function, strlen(wanted->function));
	return wanted->asleep || atomic_load(wanted->ended);
}

bool thread_sleeps_in(pid_t tid, const char *function, const _Atomic bool *ended)
{
	struct wanted wanted = { tid, function, ended, false };

	poll_until(sleeps_in, &wanted, BOUND_MS);
	return wanted.asleep;
}
