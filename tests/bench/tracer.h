/* SPDX-License-Identifier: BSD-2-Clause */
/* What can watch while registrations are measured: all die when they cannot do it whole. */
#ifndef BENCH_TRACER_H
#define BENCH_TRACER_H

#include <stdint.h>

/* One program as it is attached. */
struct hook {
	char slot[48];
	char variant[24];	/* "kprobe", "kretprobe", "fentry", ... */
	char target[96];
	char module[32];	/* "" = vmlinux */
	uint64_t runs;		/* with kernel.bpf_stats_enabled=1 */
};

#define HOOKS_MAX 64

struct hooks {
	uint32_t count;
	struct hook hook[HOOKS_MAX];
};

struct tracer {
	const char *name;
	void (*start)(void);	/* returns when it watches */
	/* `registrations` were made since start: whoever counts them must have the same number. */
	void (*stop)(uint64_t registrations);
	void (*hooks)(struct hooks *ret_hooks);	/* NULL = does not tell */
	void (*between)(void);			/* between rounds, not measured; NULL = nothing to do */
};

extern const struct tracer pinwhy_tracer, floor_tracer, bpftrace_tracer;

/* Restricts pinwhy, and the floor with it, to some slots ("a,b"); what they need comes along. */
void pinwhy_restrict(const char *slots);
/* What pinwhy attached when it was last started: the floor copies it. */
const struct hooks *pinwhy_last_hooks(void);
/* Prints a line of JSON for each program and one for loading all. While it is started. */
void pinwhy_describe(void);

#endif
