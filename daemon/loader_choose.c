// SPDX-License-Identifier: BSD-2-Clause
/*
 * Which variant of a slot fits a kernel, and why none does: from the facts about that kernel alone. Nothing is loaded,
 * attached or read here.
 */
#include <stdio.h>
#include <string.h>

#include "loader_state.h"

const char *loader_symbol_of(const struct variant *v, char buf[SYMBOL_LEN])
{
	const char *event = strrchr(v->target, '/');

	snprintf(buf, SYMBOL_LEN, "%s%s", v->kind == ATTACH_TRACEPOINT ? "__traceiter_" : "",
		 event ? event + 1 : v->target);
	return buf;
}

bool loader_avoided(const struct loader *l, int i, const char *how)
{
	char all[40], one[96];

	snprintf(all, sizeof(all), ",%s,", how);
	snprintf(one, sizeof(one), ",%s:%s,", slot_rows[i].name, how);
	return strstr(l->avoid, all) || strstr(l->avoid, one);
}

/* Fits `v` this kernel as it is now? Fills reason when not, module when it does. */
static bool feasible(struct loader *l, int i, const struct variant *v)
{
	struct slot *s = &l->slots[i];
	const char *module = "";
	char symbol[SYMBOL_LEN];
	enum answer there;

	if (v->refused) {
		snprintf(s->reason, sizeof(s->reason), "%s: %.120s", v->how, v->why);
		return false;
	}
	if (loader_avoided(l, i, v->how)) {
		snprintf(s->reason, sizeof(s->reason), "%s is to be avoided by configuration", v->how);
		return false;
	}
	if (!v->target[0]) {
		snprintf(s->reason, sizeof(s->reason), "[attach] driver_function names none");
		return false;
	}
	there = kfacts_symbol(l->kf, loader_symbol_of(v, symbol), &module);
	if (there == ANSWER_NO) {
		snprintf(s->reason, sizeof(s->reason), "no %s %s: its module is not loaded, or this kernel does without",
			 v->kind == ATTACH_TRACEPOINT ? "tracepoint" : "function", v->target);
		return false;
	}
	/* A FUNC in BTF alone proves nothing: pahole also lists functions kept under another name. */
	if (v->kind == ATTACH_TRAMPOLINE && (*module || !kfacts_btf_func(l->kf, v->target))) {
		snprintf(s->reason, sizeof(s->reason), "%s: vmlinux BTF does not describe %s", v->how, v->target);
		return false;
	}
	snprintf(s->module, sizeof(s->module), "%s", module);
	return true;
}

static bool demanded(const struct loader *l, int i)
{
	return l->arming && slot_rows[i].object == OBJECT_armed;
}

void loader_choose(struct loader *l, int i)
{
	const char *needs = slot_rows[i].needs;
	struct slot *s = &l->slots[i];

	s->chosen = NULL;
	s->reason[0] = '\0';
	if (l->modes[i] == HOOK_NEVER || (slot_rows[i].on_demand && l->modes[i] != HOOK_ALWAYS && !demanded(l, i))) {
		s->state = SLOT_DISABLED;
		snprintf(s->reason, sizeof(s->reason), "%s",
			 l->modes[i] == HOOK_NEVER ? "switched off in [hooks]" : "attached on demand only");
		return;
	}
	s->state = SLOT_ABSENT;
	/* What is needed comes first in the table. */
	if (*needs && !l->slots[slot_index(needs)].chosen && l->slots[slot_index(needs)].state == SLOT_ABSENT) {
		snprintf(s->reason, sizeof(s->reason), "slot %s is absent, and without it this one must not be", needs);
		return;
	}
	for (uint32_t k = 0; k < s->nvariants && !s->chosen; k++)
		if (feasible(l, i, &s->variants[k]))
			s->chosen = &s->variants[k];
	if (s->chosen)
		return;
	for (uint32_t k = 0; k < s->nvariants; k++) {
		if (!s->variants[k].refused)
			continue;
		/* Says more than that the other variant's function is not there. */
		s->state = SLOT_LOAD_FAILED;
		feasible(l, i, &s->variants[k]);
	}
}
