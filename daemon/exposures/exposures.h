/* SPDX-License-Identifier: BSD-2-Clause */
/* What makes a registration failure possible on a node: rules over values that were read. */
#ifndef PINWHY_EXPOSURES_H
#define PINWHY_EXPOSURES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "exposures/node.h"

enum severity {
	SEVERITY_NONE = 0,	/* not exposed */
	SEVERITY_LOW,		/* costs, or needs a change of this node first */
	SEVERITY_MEDIUM,	/* fails under a condition that workloads bring along */
	SEVERITY_HIGH,		/* fails with what runs on this node now */
};
const char *severity_name(enum severity s);

#define EXPOSURE_TEXT 400
#define EXPOSURE_EVIDENCE_MAX 32
#define EXPOSURE_REMEDIES_MAX 8
#define EXPOSURE_UNCHECKED_MAX 4

struct unchecked {
	char what[96], why[240];
};

struct exposure {
	const char *id;
	enum severity severity;
	char what[EXPOSURE_TEXT];
	uint32_t nevidence, evidence_left_out, nremedies, nunchecked;
	char evidence[EXPOSURE_EVIDENCE_MAX][EXPOSURE_TEXT];
	char remedies[EXPOSURE_REMEDIES_MAX][EXPOSURE_TEXT];
	struct unchecked unchecked[EXPOSURE_UNCHECKED_MAX];
};

enum exposure_id {
#define EXPOSURE(id, ...) EXPOSURE_##id,
#include "exposures/exposures.def"
#undef EXPOSURE
	EXPOSURES_MAX
};

#define NOT_CHECKED_MAX (NODE_SOURCES + EXPOSURES_MAX * EXPOSURE_UNCHECKED_MAX)

struct exposures {
	struct exposure rows[EXPOSURES_MAX];	/* by enum exposure_id; severity NONE = not exposed */
	uint32_t nnot_checked;
	struct unchecked not_checked[NOT_CHECKED_MAX];
};

void exposures_judge(const struct node *n, struct exposures *ret);

/* --- for the rules -------------------------------------------------------------- */

/* All text goes through these: what could steer a terminal is escaped here, once. */
void exposure_found(struct exposure *e, enum severity s, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
void exposure_evidence(struct exposure *e, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* The same remedy twice is told once. */
void exposure_remedy(struct exposure *e, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void exposure_unchecked(struct exposure *e, const char *what, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/*
 * Is one of the boot parameters in `names` (NULL at the end) set? Appends those that are, as
 * they were written, to `ret` of `size` bytes with blanks between them.
 */
bool node_booted_with(const struct node *n, const char *const names[], char *ret, size_t size);
uint64_t node_movable_pages(const struct node *n);	/* managed, all nodes */
uint64_t node_cma_pages(const struct node *n);		/* CmaTotal, or what the zones say when that is more */
uint64_t node_mib(const struct node *n, uint64_t pages);

enum longterm { LONGTERM_UNKNOWN, LONGTERM_NO, LONGTERM_YES };
/* Does the NVIDIA driver of this full version pin host memory with FOLL_LONGTERM on this machine? */
enum longterm nvidia_longterm(const char *version, const char *machine);
/* Severity of memory that a long-term pin must leave: high where a driver is known to strand pages in it. */
enum severity placement_severity(const struct node *n);

#endif
