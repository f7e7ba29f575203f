// SPDX-License-Identifier: BSD-2-Clause
#include "kernel_support.h"

#include <stddef.h>

static enum answer loops(const struct kernel_facts *f)
{
	return f->loops;
}

static enum answer module_btf(const struct kernel_facts *f)
{
	return f->module_btf;
}

static enum answer cma(const struct kernel_facts *f)
{
	return f->cma;
}

static enum answer movable_rule(const struct kernel_facts *f)
{
	return f->movable_rule;
}

static enum answer pins_move(const struct kernel_facts *f)
{
	if (f->cma == ANSWER_YES || f->movable_rule == ANSWER_YES)
		return ANSWER_YES;
	return f->cma == ANSWER_NO && f->movable_rule == ANSWER_NO ? ANSWER_NO : ANSWER_UNKNOWN;
}

static const struct {
	const char *id, *question, *how;
	enum answer (*ask)(const struct kernel_facts *f);
	const char *if_not;	/* what follows */
} rows[SUPPORTS] = {
	{ "bpf_loop", "BPF programs may be called back, by bpf_loop()", "BPF_FUNC_loop of enum bpf_func_id, in vmlinux BTF", loops,
	  "who holds a page is not told, nor are hazards of first pins; there is no pinwhy trace, no pinwhy pages and no [watch] stale" },
	{ "module_btf", "modules have BTF", "/sys/kernel/btf", module_btf,
	  "what a verbs command asked for is known from the pin alone: which of its arguments was refused before that is told as unknown" },
	{ "cma", "memory may be reserved for contiguous allocations (CMA)",
	  "MIGRATE_CMA of enum migratetype, in vmlinux BTF; cma_alloc in kallsyms", cma, "" },
	{ "movable_rule", "a long-term pin must leave ZONE_MOVABLE",
	  "MR_LONGTERM_PIN of enum migrate_reason, in vmlinux BTF; check_and_migrate_movable_pages in kallsyms", movable_rule, "" },
	{ "pins_move", "a page may have to move for a long-term pin", "cma and movable_rule", pins_move,
	  "a long-term pin never fails for the place of a page: those causes cannot occur here, and first pins endanger nothing" },
};

void kernel_support(const struct kernel_facts *f, struct support ret_rows[SUPPORTS])
{
	for (size_t i = 0; i < SUPPORTS; i++) {
		enum answer a = rows[i].ask(f);

		ret_rows[i] = (struct support){
			.id = rows[i].id, .question = rows[i].question, .how = rows[i].how, .answer = a,
			.consequence = a == ANSWER_NO ? rows[i].if_not : "",
		};
	}
}

const char *answer_name(enum answer a)
{
	switch (a) {
	case ANSWER_YES:
		return "yes";
	case ANSWER_NO:
		return "no";
	default:
		return "unknown";
	}
}

bool kernel_pins_stay(const struct kernel_facts *f)
{
	return pins_move(f) == ANSWER_NO;
}
