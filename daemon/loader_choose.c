// SPDX-License-Identifier: BSD-2-Clause
/*
 * Which variant of a slot fits a kernel, and why none does: from the facts about that kernel alone. Nothing is loaded,
 * attached or read here.
 */
#include <stdarg.h>
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

/*
 * What the kernel must have for a way to hook. Trampolines: kernel/trace/ftrace.c, only with
 * CONFIG_DYNAMIC_FTRACE_WITH_DIRECT_CALLS.
 */
static const struct {
	enum attach_kind kind;
	const char *symbol, *lacking;
} ways[] = {
	{ ATTACH_KPROBE, "register_kprobe", "this kernel has no kprobes" },
	{ ATTACH_KRETPROBE, "register_kretprobe", "this kernel has no return probes" },
	{ ATTACH_TRAMPOLINE, "register_ftrace_direct", "this kernel has no direct calls from ftrace, or not on this architecture" },
};

/*
 * Arguments that a trampoline passes in registers, and the function in its JIT that shows that it passes those on the stack too
 * (arch/x86/net/bpf_jit_comp.c, v6.6; arch/arm64/net/bpf_jit_comp.c).
 */
#if defined(__x86_64__)
#define REGISTERS 6
#define MORE_ARGUMENTS "save_args"
#else
#define REGISTERS 8
#define MORE_ARGUMENTS "calc_arg_aux"
#endif

int loader_watch_ways(struct kfacts *kf)
{
	int err = kfacts_watch(kf, MORE_ARGUMENTS);

	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]) && !err; i++)
		err = kfacts_watch(kf, ways[i].symbol);
	return err;
}

/* Why a variant does not fit. What says more about this kernel than that a function is not there weighs more. */
struct why {
	enum { WHY_ABSENT = 1, WHY_UNFIT, WHY_COPIES, WHY_REFUSED } weight;
	char text[sizeof(((struct slot *)NULL)->reason)];
};

static bool no(struct why *why, int weight, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
static bool no(struct why *why, int weight, const char *fmt, ...)
{
	va_list args;

	why->weight = weight;
	va_start(args, fmt);
	vsnprintf(why->text, sizeof(why->text), fmt, args);
	va_end(args);
	return false;
}

const char *loader_way_lacks(const struct loader *l, enum attach_kind kind)
{
	const char *module;

	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++)
		if (ways[i].kind == kind && kfacts_symbol(l->kf, ways[i].symbol, &module) == ANSWER_NO)
			return ways[i].lacking;
	return NULL;
}

/* Can this kernel hook at all in the way of `v`? */
static bool way_there(const struct loader *l, const struct variant *v, struct why *why)
{
	const char *lacking = loader_way_lacks(l, v->kind);

	if (lacking)
		return no(why, WHY_UNFIT, "%s: %s", v->how, lacking);
	if (v->kind == ATTACH_TRAMPOLINE && kfacts_has_btf(l->kf) == ANSWER_NO)
		return no(why, WHY_UNFIT, "%s: this kernel was built without BTF", v->how);
	return true;
}

static bool trampoline_fits(const struct loader *l, const struct variant *v, const struct kfacts_function *f, struct why *why)
{
	const char *module;
	uint32_t n = kfacts_btf_arguments(l->kf, v->target);

	/* A FUNC in BTF alone proves nothing: pahole also lists functions kept under another name. */
	if (*f->module || !kfacts_btf_func(l->kf, v->target))
		return no(why, WHY_UNFIT, "%s: vmlinux BTF does not describe %s", v->how, v->target);
	if (*f->name && strcmp(f->name, v->target))
		return no(why, WHY_UNFIT, "%s: %s is there as %.64s only", v->how, v->target, f->name);
	if (n > REGISTERS && kfacts_symbol(l->kf, MORE_ARGUMENTS, &module) == ANSWER_NO)
		return no(why, WHY_UNFIT, "%s: %s has %u arguments, and this kernel's trampolines pass %d", v->how, v->target, n, REGISTERS);
	return true;
}

static bool function_fits(struct loader *l, struct slot *s, const struct variant *v, struct why *why)
{
	struct kfacts_function f;
	enum answer there = kfacts_function(l->kf, v->target, &f);

	if (*f.split)
		return no(why, WHY_COPIES, "calls may go past %s: the compiler split it, and callers may go to %.64s at once", v->target, f.split);
	if (there == ANSWER_NO && *f.changed)
		return no(why, WHY_COPIES, "%s is there as %.64s only, whose arguments may be others", v->target, f.changed);
	if (there == ANSWER_NO)
		return no(why, WHY_ABSENT, "no function %s: its module is not loaded, or this kernel does without", v->target);
	if (v->kind == ATTACH_TRAMPOLINE && !trampoline_fits(l, v, &f, why))
		return false;
	snprintf(s->module, sizeof(s->module), "%s", f.module);
	snprintf(s->symbol, sizeof(s->symbol), "%s", there == ANSWER_YES ? f.name : v->target);
	snprintf(s->bypass, sizeof(s->bypass), "%s", f.changed);
	s->twins = f.times > 1 ? f.times : 0;
	return true;
}

static bool tracepoint_fits(struct loader *l, struct slot *s, const struct variant *v, struct why *why)
{
	const char *module = "";
	char symbol[SYMBOL_LEN];

	if (kfacts_symbol(l->kf, loader_symbol_of(v, symbol), &module) == ANSWER_NO)
		return no(why, WHY_ABSENT, "no tracepoint %s: its module is not loaded, or this kernel does without", v->target);
	snprintf(s->module, sizeof(s->module), "%s", module);
	s->symbol[0] = s->bypass[0] = '\0';
	s->twins = 0;
	return true;
}

/* Fits `v` this kernel as it is now? Fills what it is attached to when it does, *why when not. */
static bool feasible(struct loader *l, int i, const struct variant *v, struct why *why)
{
	struct slot *s = &l->slots[i];

	if (v->refused)
		return no(why, WHY_REFUSED, "%s: %.120s", v->how, v->why);
	if (loader_avoided(l, i, v->how))
		return no(why, WHY_UNFIT, "%s is to be avoided by configuration", v->how);
	if (!v->target[0])
		return no(why, WHY_UNFIT, "[attach] driver_function names none");
	if (!way_there(l, v, why))
		return false;
	return v->kind == ATTACH_TRACEPOINT ? tracepoint_fits(l, s, v, why) : function_fits(l, s, v, why);
}

/* The first variant that fits; if none does, the reason that says most. */
static void choose_variant(struct loader *l, int i)
{
	struct slot *s = &l->slots[i];
	struct why why, most = {};

	for (uint32_t k = 0; k < s->nvariants; k++) {
		if (feasible(l, i, &s->variants[k], &why)) {
			s->chosen = &s->variants[k];
			return;
		}
		if (why.weight == WHY_REFUSED)
			s->state = SLOT_LOAD_FAILED;
		if (why.weight >= most.weight)
			most = why;
	}
	s->missing = most.weight == WHY_ABSENT;
	snprintf(s->reason, sizeof(s->reason), "%s", most.text);
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
	s->missing = false;
	s->reason[0] = '\0';
	/* A slot without a program has one in the other form of its object. */
	if (!s->nvariants && l->modes[i] != HOOK_NEVER) {
		s->state = SLOT_ABSENT;
		snprintf(s->reason, sizeof(s->reason), NEEDS_LOOPS);
		return;
	}
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
	choose_variant(l, i);
}
