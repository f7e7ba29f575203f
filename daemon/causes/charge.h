/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A charge against RLIMIT_MEMLOCK that was refused: its numbers, and the one cause they speak for.
 * Memory regions are charged to the process's pins, VFIO mappings to its locked memory; io_uring buffers
 * and AF_XDP areas are held against what the user as a whole has charged.
 */
#ifndef PINWHY_CAUSES_CHARGE_H
#define PINWHY_CAUSES_CHARGE_H

#include "diagnose.h"

/* One incident is of one kind, so no two causes of the family can be proven at once. */
enum charge_kind {
	CHARGE_UNKNOWN = 0,	/* numbers are missing, or they fit no refusal */
	CHARGE_ALONE,		/* the request by itself is larger than the limit */
	CHARGE_SUM,		/* with what the process holds already */
	CHARGE_PRIVILEGED,	/* what is held, io_uring apart, is more than the limit would have let in */
	CHARGE_IO_URING,	/* it would fit without the io_uring buffers */
	CHARGE_UNOWNED,		/* it would fit without pages that no live registration explains */
	CHARGE_CAPABILITY,	/* CAP_IPC_LOCK is there, but not where the kernel looks */
	CHARGE_USER,		/* what others of the same user hold leaves no room */
	CHARGE_KINDS
};

/* The sum that the request was held against. */
enum charge_to {
	CHARGE_TO_PROCESS = 0,	/* mm->pinned_vm: memory regions */
	CHARGE_TO_USER,		/* user_struct.locked_vm: io_uring, AF_XDP */
	CHARGE_TO_LOCKED,	/* mm->locked_vm, with mlock(): VFIO */
};

struct charge {
	enum charge_kind kind;
	enum charge_to to;
	bool sure;		/* the numbers exclude the other kinds */
	bool over_before, over_after;
	bool mr_known, uring_known;
	uint64_t asked_pages, limit_pages;
	uint64_t held_pages, held_after_pages;	/* charged already: at the check, after the failure */
	uint64_t earlier_pages;	/* of held_pages: earlier buffers of the same io_uring call */
	uint64_t mr_pages, uring_pages;	/* of this process, read after the failure */
	uint64_t slack_pages;	/* by how much mr_pages may be off: it counts lengths, not pages touched */
};

struct charge charge_of(const struct incident *in, const struct identity *id);
/* What another kind says against a cause: one line with the numbers. */
void charge_because(const struct charge *c, struct finding *ret);

/* Where the limit was set, and how to raise it there to at least `pages`. */
void charge_tell_limit(const struct incident *in, struct finding *ret);
void charge_raise_limit(const struct incident *in, const struct identity *id, uint64_t pages, struct finding *ret);

#endif
