/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The hooks of a kernel that does not run here: chosen by what chooses them for one that does, loaded and attached by nobody.
 */
#ifndef PINWHY_LOADER_PLAN_H
#define PINWHY_LOADER_PLAN_H

#include "loader.h"
#include "planned.h"

/*
 * Plans every slot, those on demand too. loader_status() then tells of SLOT_PLANNED, SLOT_ABSENT, SLOT_UNKNOWN, or
 * SLOT_DISABLED where the configuration forbids it. -errno; `p` must live as long. Of the rest of loader.h only loader_free()
 * and loader_armed_possible() may be called.
 */
int loader_plan(struct loader **ret_loader, const struct planned *p, const struct loader_opts *opts);

/* What a kernel has of what hooks need. */
struct way {
	const char *id;		/* part of doctor's output: never reused */
	const char *question;
	enum answer answer;
	const char *if_not;	/* what follows */
};
#define WAYS 6
void loader_ways(const struct loader *l, struct way ret_ways[WAYS]);

#endif
