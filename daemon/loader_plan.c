// SPDX-License-Identifier: BSD-2-Clause
#include "loader_plan.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "loader_state.h"

/* kernel/trace/trace_kprobe.c: what makes probes for those who write to kprobe_events in tracefs. */
#define TRACEFS_PROBES "create_or_delete_trace_kprobe"

static const struct {
	const char *id, *question;
	const char *symbol;	/* that shows it; "" = BTF's own, see kfacts_has_btf() */
	const char *if_not;
} ways[WAYS] = {
	{ "kprobes", "functions can be hooked by kprobes", "register_kprobe", "registrations are not seen at all" },
	{ "kretprobes", "returns can be hooked by kprobes", "register_kretprobe", "errors of registrations are not seen" },
	{ "tracefs_probes", "return probes can be made through tracefs, with room for many calls at once", TRACEFS_PROBES,
	  "perf's have room for 10 calls, or two for each processor, and what is beyond is counted as missed" },
	{ "trampolines", "functions of the kernel itself can be hooked by fentry and fexit", "register_ftrace_direct",
	  "no process is armed, so that who pinned a page is told less often; the rest is hooked by kprobes" },
	{ "kernel_btf", "the kernel was built with BTF", "", "its verifier knows no types, and may refuse programs; pinwhy needs a pack of its BTF" },
	{ "placement", "the memory map can be found", "mem_section",
	  "zone and pageblock of pages cannot be read (CONFIG_KALLSYMS_ALL off, or no sparse memory)" },
};

static int watch_ways(struct kfacts *kf)
{
	int err = 0;

	for (size_t i = 0; i < WAYS && !err; i++)
		if (*ways[i].symbol)
			err = kfacts_watch(kf, ways[i].symbol);
	return err;
}

void loader_ways(const struct loader *l, struct way ret_ways[WAYS])
{
	const char *module;

	for (size_t i = 0; i < WAYS; i++)
		ret_ways[i] = (struct way){
			.id = ways[i].id, .question = ways[i].question, 
			.answer = *ways[i].symbol ? kfacts_symbol(l->kf, ways[i].symbol, &module) : kfacts_has_btf(l->kf),
			.if_not = ways[i].if_not,
		};
}

static const struct {
	enum slot_id slot;
	const char *modules;
} homes[] = {
#define FN(...)
#define DRIVER(id, name, module, function) { SLOT_ID_##module##_reg_mr_exit, #module },
#include "functions.def"
#undef FN
#undef DRIVER
#define HOME(slot, modules) { SLOT_ID_##slot, modules },
#include "homes.def"
#undef HOME
};

static const char *home_of(int i)
{
	for (size_t k = 0; k < sizeof(homes) / sizeof(homes[0]); k++)
		if ((int)homes[k].slot == i)
			return homes[k].modules;
	return "";
}

/* Is one of the modules loaded, as the list says? `describes`: one whose BTF has the function is put there. */
static bool home_listed(const struct planned *p, const char *modules, const char *function, char describes[64])
{
	char words[128], *save, *module;
	bool listed = false;

	describes[0] = '\0';
	snprintf(words, sizeof(words), "%s", modules);
	for (module = strtok_r(words, " ", &save); module; module = strtok_r(NULL, " ", &save)) {
		listed |= planned_module_listed(p, module);
		if (planned_module_describes(p, module, function) == ANSWER_YES)
			snprintf(describes, 64, "%.63s", module);
	}
	return listed;
}

/* What a list that was made without the module cannot tell. */
static void doubt(const struct planned *p, struct slot *s, int i)
{
	const struct variant *v = NULL;
	const char *modules = home_of(i);
	char describes[64] = "";
	bool listed = !*modules;

	for (uint32_t k = 0; k < s->nvariants && !listed && !*describes; k++) {
		v = &s->variants[k];
		listed = home_listed(p, modules, v->target, describes);
	}
	if (listed)
		return;
	s->state = SLOT_UNKNOWN;
	if (*describes)
		snprintf(s->reason, sizeof(s->reason), "%.31s was not loaded when the list was made; its BTF has %s: %s is expected",
			 describes, v->target, v->how);
	else
		snprintf(s->reason, sizeof(s->reason), "%.60s was not loaded when the list was made", modules);
}

static void plan_slot(struct loader *l, const struct planned *p, int i)
{
	const char *needs = slot_rows[i].needs;
	struct slot *s = &l->slots[i];
	const struct slot *needed = *needs ? &l->slots[slot_index(needs)] : NULL;

	loader_choose(l, i);
	if (i == SLOT_ID_driver_reg_mr_exit && !l->driver_function[0])
		s->state = SLOT_DISABLED;
	if (s->chosen) {
		s->state = SLOT_PLANNED;
		if (!needed || needed->state == SLOT_PLANNED)
			return;
		s->chosen = NULL;
		s->state = needed->state;
		snprintf(s->reason, sizeof(s->reason), "slot %s is %s, and without it this one must not be", needs, slot_state_name(needed->state));
	} else if (s->state == SLOT_ABSENT && s->missing) {
		doubt(p, s, i);
	}
}

int loader_plan(struct loader **ret_loader, const struct planned *p, const struct loader_opts *opts)
{
	struct kfacts *kf = planned_kfacts(p);
	const char *module;
	struct loader *l;
	int err = watch_ways(kf);

	if (!err)
		err = loader_prepare(&l, kf, opts);
	if (err)
		return err;
	err = kfacts_refresh(kf);
	if (err) {
		loader_free(l);
		return err;
	}
	for (int i = 0; i < NSLOTS; i++) {
		if (l->modes[i] == HOOK_AUTO)
			l->modes[i] = HOOK_ALWAYS;
		l->slots[i].by_tracefs = kfacts_symbol(kf, TRACEFS_PROBES, &module) == ANSWER_YES && !loader_avoided(l, i, "tracefs");
		plan_slot(l, p, i);
	}
	*ret_loader = l;
	return 0;
}
