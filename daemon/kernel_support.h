/* SPDX-License-Identifier: BSD-2-Clause */
/* What the running kernel has of what kernels differ in, and what follows for what can be told. Pure. */
#ifndef PINWHY_KERNEL_SUPPORT_H
#define PINWHY_KERNEL_SUPPORT_H

#include <stdbool.h>
#include <stdint.h>

enum answer { ANSWER_NO = 0, ANSWER_YES = 1, ANSWER_UNKNOWN = -1 };

struct kernel_facts {
	enum answer loops;	/* bpf_loop(): programs may be called back */
	enum answer module_btf;	/* modules have BTF */
	enum answer cma;	/* there can be MIGRATE_CMA pageblocks */
	enum answer movable_rule;	/* a long-term pin must leave ZONE_MOVABLE */
};

struct support {
	const char *id;		/* part of doctor's output: never reused */
	const char *question;
	const char *how;	/* it was answered */
	enum answer answer;
	const char *consequence;	/* "" = none */
};

#define SUPPORTS 5

/* Static storage behind the texts. */
void kernel_support(const struct kernel_facts *f, struct support ret_rows[SUPPORTS]);
const char *answer_name(enum answer a);	/* "yes", "no", "unknown" */

/*
 * Does this kernel move no page for a long-term pin, wherever it lies? Then none of the failures of placement can occur. Only
 * when both reasons to move are known not to be there.
 */
bool kernel_pins_stay(const struct kernel_facts *f);

/* Why a hook is absent that needs bpf_loop(). */
#define NEEDS_LOOPS "needs bpf_loop(), since Linux 5.17"

#endif
