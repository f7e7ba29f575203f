/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Facts from /proc, cgroupfs, sysfs and RDMA netlink. Runs in the helper process: every
 * file may block. Each source is one row of the table in enrich.c and fills the facts
 * it names there; a fact that cannot be read carries the errno that prevented it.
 */
#ifndef PINWHY_ENRICH_H
#define PINWHY_ENRICH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "facts.h"

struct enrich {
	const char *root;	/* "" on a live system; tests put a tree there */
	uint64_t ticks_per_s;	/* USER_HZ */
	uint64_t page_bytes;
	uint64_t budget_ns;	/* sources that would begin later than this are left out; 0 = no limit */
	uint64_t until_ns;	/* CLOCK_MONOTONIC at which that is; set by enrich_read() */
	int (*rdma_open)(void);	/* a socket that speaks RDMA netlink, or -errno; NULL = do not ask */
	const char *nvml;	/* the library that knows BAR1; NULL = do not ask */
};

#define NVML_LIBRARY "libnvidia-ml.so.1"

/* For the system we run on. BAR1 is not asked for: that is the caller's to say. */
struct enrich enrich_system(const char *root);

/*
 * All sources. A source that does not begin in time leaves its facts at -ETIMEDOUT, so that what
 * was read before is not lost to the deadline of the whole. `ctx` is a struct enrich.
 */
void enrich_read(void *ctx, const struct facts_request *req, struct facts *ret_facts);
/* Nanoseconds until `until_ns`; UINT64_MAX without a limit. */
uint64_t enrich_left_ns(const struct enrich *e);
/* `until_ns`, or in `most_ns` from now when that is sooner. */
uint64_t enrich_until(const struct enrich *e, uint64_t most_ns);

/*
 * One row per source, either about the node or about the process; tests check that each fact
 * belongs to exactly one. A source about the process gets an open /proc/PID that is certain to be
 * the process meant.
 */
struct enrich_source {
	const char *name;
	uint64_t facts;		/* bits of enum fact_id */
	void (*node)(const struct enrich *e, const struct facts_request *req, struct facts *f);
	void (*process)(const struct enrich *e, const struct facts_request *req, int proc_fd,
			struct facts *f);
	bool waits;		/* for a lock or a file that others may keep for ever: read by a child */
};
extern const struct enrich_source enrich_sources[];
extern const uint32_t enrich_nsources;

/* One source alone. */
void enrich_read_one(const struct enrich_source *s, const struct enrich *e,
		     const struct facts_request *req, struct facts *f);

/* The same with an open /proc/PID, or the -errno that kept it from being opened. */
void enrich_run(const struct enrich_source *s, const struct enrich *e, const struct facts_request *req,
		int proc_fd, struct facts *f);
/* The sources that wait, in a child that is given up when the time is over. */
void enrich_read_waiting(const struct enrich *e, const struct facts_request *req, int proc_fd,
			 struct facts *f);
void enrich_fail(struct facts *f, uint64_t facts, int err);

/* The sources: each fills the facts that its row names, one file per question. */
#define ENRICH_NODE(fn) void fn(const struct enrich *e, const struct facts_request *req, struct facts *f)
#define ENRICH_PROCESS(fn) \
	void fn(const struct enrich *e, const struct facts_request *req, int proc_fd, struct facts *f)
ENRICH_NODE(enrich_meminfo);
ENRICH_NODE(enrich_zoneinfo);
ENRICH_NODE(enrich_node_free);
ENRICH_NODE(enrich_device);
ENRICH_NODE(enrich_settings);
ENRICH_NODE(enrich_nvidia);
ENRICH_NODE(enrich_hugetlb_pool);
ENRICH_NODE(enrich_bar1);
ENRICH_PROCESS(enrich_process);
ENRICH_PROCESS(enrich_cgroup);
ENRICH_PROCESS(enrich_cgroup_rdma);
ENRICH_PROCESS(enrich_cgroup_hugetlb);
ENRICH_PROCESS(enrich_limits);
ENRICH_PROCESS(enrich_io_uring);
ENRICH_PROCESS(enrich_holders);
ENRICH_PROCESS(enrich_pins_later);
ENRICH_PROCESS(enrich_maps);
ENRICH_PROCESS(enrich_job);
ENRICH_PROCESS(enrich_rdma);

/*
 * Opens /proc/PID of the process meant: -ESRCH when it is gone, or when its number belongs to
 * another by now.
 */
int enrich_open_process(const struct enrich *e, const struct facts_request *req, int *ret_fd);

/* Sets a u64 fact, or its error (negative). */
#define ENRICH_SET(f, fact, value) ((f)->fact = (value), (f)->err[FACT_##fact] = 0)
#define ENRICH_FAIL(f, fact, error) ((f)->err[FACT_##fact] = (error))

/* A name that comes from elsewhere and must stay one component below the directory it is put in. */
bool enrich_is_component(const char *name, size_t size);

#endif
