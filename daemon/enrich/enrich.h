/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Facts from /proc, cgroupfs and sysfs. Runs in the helper process: every file
 * may block. Each source is one row of the table in enrich.c and fills the facts
 * it names there; a fact that cannot be read carries the errno that prevented it.
 */
#ifndef PINWHY_ENRICH_H
#define PINWHY_ENRICH_H

#include <stdint.h>

#include "facts.h"

struct enrich {
	const char *root;	/* "" on a live system; tests put a tree there */
	uint64_t ticks_per_s;	/* USER_HZ */
	uint64_t page_bytes;
};

/* For the system we run on. */
struct enrich enrich_system(const char *root);

/* All sources. Facts not found keep the error facts_unknown() gave them. `ctx` is a struct enrich. */
void enrich_read(void *ctx, const struct facts_request *req, struct facts *ret_facts);

/* One row per source; tests check that each fact belongs to exactly one. */
struct enrich_source {
	const char *name;
	void (*fn)(const struct enrich *e, const struct facts_request *req, struct facts *f);
	uint64_t facts;		/* bits of enum fact_id */
};
extern const struct enrich_source enrich_sources[];
extern const uint32_t enrich_nsources;

/* The sources, one file each. */
void enrich_meminfo(const struct enrich *e, const struct facts_request *req, struct facts *f);
void enrich_zoneinfo(const struct enrich *e, const struct facts_request *req, struct facts *f);
void enrich_process(const struct enrich *e, const struct facts_request *req, struct facts *f);
void enrich_device(const struct enrich *e, const struct facts_request *req, struct facts *f);

/* process.c has made sure that `proc_fd`, an open /proc/PID, is the process meant. */
void enrich_cgroup(const struct enrich *e, int proc_fd, struct facts *f);

/* Sets a u64 fact, or its error (negative). */
#define ENRICH_SET(f, fact, value) ((f)->fact = (value), (f)->err[FACT_##fact] = 0)
#define ENRICH_FAIL(f, fact, error) ((f)->err[FACT_##fact] = (error))

#endif
