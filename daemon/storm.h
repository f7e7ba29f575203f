/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Repeats of one failure within a window: the first few are reported in full, the
 * rest are counted and told by one summary when the window ends.
 */
#ifndef PINWHY_STORM_H
#define PINWHY_STORM_H

#include "diagnose.h"

#define REPORT_ID_LEN 37	/* a UUID as text */

/* What makes two failures the same. */
struct storm_signature {
	uint32_t tgid;
	uint32_t api;
	int32_t result;
	enum confidence confidence;
	const struct cause *cause;
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
};

struct storm;

/* -ENOMEM. A burst or a table of 0 is taken as 1. */
int storm_new(struct storm **ret_storm, const struct pipeline_settings *settings);
void storm_free(struct storm *s);
/*
 * A failure with the id its report would have. True: report it in full. When a full
 * table makes an older window give way, *ret_evicted is that window, else its count is 0.
 */
bool storm_admit(struct storm *s, const struct incident *in, const struct diagnosis *d,
		 const char *report_id, uint64_t real_ns, struct storm_window *ret_evicted);
/* Takes out a window that has ended by now, oldest first. */
bool storm_take_ended(struct storm *s, uint64_t now_mono_ns, struct storm_window *ret_window);
/* Takes out any window, oldest first: for the end. */
bool storm_take(struct storm *s, struct storm_window *ret_window);
/* When the next window ends, 0 = none is open. */
uint64_t storm_next(const struct storm *s);

#endif
