/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Facts about one failure that only user space can read, and the request for
 * them. Plain data: travels over a socket to and from the helper process, into
 * captures, and into causes. facts.def is the list.
 */
#ifndef PINWHY_FACTS_H
#define PINWHY_FACTS_H

#include <errno.h>
#include <stdint.h>

#include "wire.h"

enum fact_id {
#define FACT_U64(name, what) FACT_##name,
#define FACT_STR(name, bytes, what) FACT_##name,
#include "facts.def"
#undef FACT_U64
#undef FACT_STR
	FACT_MAX
};

struct facts {
	int32_t err[FACT_MAX];	/* 0 = known, else -errno that kept it from being read */
#define FACT_U64(name, what) uint64_t name;
#define FACT_STR(name, bytes, what) char name[bytes];
#include "facts.def"
#undef FACT_U64
#undef FACT_STR
};

/* Two answers that are no failure to read: this node has no such thing, and nobody asked. */
#define FACT_NONE (-ENODATA)
#define FACT_NOT_ASKED (-ENOMSG)

#define FACT_KNOWN(f, name) ((f)->err[FACT_##name] == 0)

/* Whose open files may tell who holds pages of the range. */
enum facts_held {
	FACTS_HELD_NOT,		/* nothing of it is held: nobody is asked */
	FACTS_HELD_ALONE,	/* by mappings it is the process's alone */
	FACTS_HELD_SHARED,	/* others may have it mapped as well */
};

/* What to read facts about. `task_start_ns` tells a reused pid from the process meant. */
struct facts_request {
	uint64_t id;		/* echoed in the answer */
	uint64_t task_start_ns;	/* CLOCK_BOOTTIME of the process's start */
	uint64_t hugetlb_bytes;	/* page size of the hugetlb mapping in question, 0 = none */
	uint64_t address, length;	/* of the registered range */
	uint32_t tgid, tid;
	enum facts_held held;
	uint32_t pad;
	char device[WIRE_DEVICE_LEN];
};

/* One row per fact, for code that walks them: capture, enrich, tests. */
struct fact_desc {
	const char *name;
	const char *what;
	uint32_t offset;
	uint32_t size;		/* of a string; 0 = u64 */
};
extern const struct fact_desc fact_descs[FACT_MAX];

/* Marks every fact unknown with `err` (a negative errno). */
void facts_unknown(struct facts *f, int err);

#endif
