/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Repeats of one failure within a window: the first of a kind is reported in full, the rest
 * are counted and told by one summary when the window ends.
 *
 * Tenants do not pay for each other. Each cgroup has a budget of full reports per window; kinds
 * that come after it is used up are counted in one more summary of that cgroup. When the table of
 * kinds is full, the cgroup that holds most of it gives up its oldest; when that of cgroups is,
 * the one that has been quiet for longest makes room. What gives way is summed up first: no
 * count is lost.
 */
#ifndef PINWHY_STORM_H
#define PINWHY_STORM_H

#include "diagnose.h"

#define REPORT_ID_LEN 37	/* a UUID as text */
#define STORM_TALLIES 8		/* lines in a summary of further kinds */

/* What makes two failures the same. */
struct storm_signature {
	uint32_t tgid;
	uint32_t api;
	int32_t result;
	enum confidence confidence;
	const struct cause *cause;
	enum grade grade;	/* of who holds the pages: whom a later failure names is not folded into one that could not */
	const char *stage;	/* one of the fixed words of incident_stage() */
	char device[WIRE_DEVICE_LEN];
};

/* One window of one signature; what a summary is made of. */
struct storm_window {
	struct storm_signature signature;
	char first_report_id[REPORT_ID_LEN];
	char comm[WIRE_COMM_LEN];
	char driver[WIRE_MODULE_LEN];
	uint64_t count, suppressed;
	uint64_t first_real_ns, last_real_ns, last_mono_ns;
	uint64_t end_mono_ns;	/* 0 = free */
	uint64_t born;
	uint32_t group;
};

/* How many of the further kinds were of one cause, stage and errno. */
struct storm_tally {
	const struct cause *cause;
	const char *stage;
	int32_t result;
	uint64_t count;
};

/*
 * What is told at the end. Of further kinds, the window carries what all of them have in common: a
 * cause and stage of NULL, a result of 0 and empty names mean that they differ; process and names
 * are those of the first.
 */
struct storm_summary {
	struct storm_window window;
	bool other_kinds;
	bool have_cgroup;
	char cgroup[WIRE_CGROUP_LEN];	/* as in struct wire_reg_end */
	uint32_t budget;
	uint32_t ntallies;
	struct storm_tally tallies[STORM_TALLIES];	/* the first that came; the rest has no line */
};

/* A failure with the id its report would have. */
struct storm_failure {
	const struct incident *in;
	const struct diagnosis *diagnosis;
	const char *stage;
	const char *report_id;
	uint64_t real_ns;
};

struct storm_counts {
	uint64_t open;		/* suppressed, and not told by a summary yet */
	uint64_t other_kinds;	/* ever counted as further kinds */
	uint64_t evicted;	/* windows that gave way before their end */
};

struct storm;

/* -ENOMEM. A burst, a budget or a table of 0 is taken as 1. */
int storm_new(struct storm **ret_storm, const struct pipeline_settings *settings);
void storm_free(struct storm *s);
/* Makes room for a failure. Call it before storm_admit() until it is false: what it returns is to be told. */
bool storm_give_way(struct storm *s, const struct storm_failure *f, struct storm_summary *ret_summary);
/* True: report it in full. */
bool storm_admit(struct storm *s, const struct storm_failure *f);
/* The next summary of a window that has ended by now, oldest first. UINT64_MAX takes out all. */
bool storm_take_ended(struct storm *s, uint64_t now_mono_ns, struct storm_summary *ret_summary);
/* When the next window ends, 0 = none is open. */
uint64_t storm_next(const struct storm *s);
void storm_counts(const struct storm *s, struct storm_counts *ret_counts);

#endif
