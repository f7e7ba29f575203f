// SPDX-License-Identifier: BSD-2-Clause
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "kretprobe.h"
#include "loader_state.h"
#include "privileges.h"

const char *slot_state_name(enum slot_state s)
{
	static const char *const names[] = {
		[SLOT_ABSENT] = "absent",	  [SLOT_DISABLED] = "disabled",
		[SLOT_LOAD_FAILED] = "load_failed", [SLOT_ATTACH_FAILED] = "attach_failed",
		[SLOT_ATTACHED] = "attached",	  [SLOT_ACTIVE] = "active",
		[SLOT_PLANNED] = "planned",	  [SLOT_UNKNOWN] = "unknown",
	};

	return names[s];
}

uint32_t loader_nslots(void)
{
	return NSLOTS;
}

const char *loader_slot_name(uint32_t i)
{
	return slot_rows[i].name;
}

bool loader_slot_watches(uint32_t i, const char *object)
{
	return strcmp(object_rows[slot_rows[i].object].name, object) == 0;
}

/* What a hook on a function of that name does not see. */
static void tell_copies(const struct slot *s, struct slot_status *st)
{
	if (s->bypass[0])
		snprintf(st->note, sizeof(st->note), "calls may go past it to %.64s, which is not hooked: that it saw nothing proves nothing",
			 s->bypass);
	else if (s->twins)
		snprintf(st->note, sizeof(st->note), "%u functions have this name: newer kernels refuse such a hook, older ones take the first",
			 s->twins);
}

/* Does a hook see every call? */
static bool sees_all(const struct slot *s)
{
	return s->link && !s->bypass[0];
}

void loader_status(const struct loader *l, uint32_t slot, struct slot_status *ret_status)
{
	const struct slot_row *row = &slot_rows[slot];
	const struct slot *s = &l->slots[slot];
	const struct variant *v = s->chosen ? s->chosen : &s->variants[0];
	struct slot_status st = {
		.name = row->name, .object = object_rows[row->object].name, .rate = row->rate,
		.purpose = row->purpose, .on_demand = row->on_demand, .expected = row->expected, .state = s->state,
		.changed = s->changed,
	};
	struct bpf_prog_info info = {};
	uint32_t len = sizeof(info);

	snprintf(st.module, sizeof(st.module), "%s", s->module);
	snprintf(st.variant, sizeof(st.variant), "%s", s->chosen ? v->how : "");
	st.by = s->chosen && s->chosen->kind == ATTACH_KRETPROBE ? (s->by_tracefs ? "tracefs" : "perf") : "";
	snprintf(st.target, sizeof(st.target), "%.95s", s->chosen && *s->symbol ? s->symbol : v->target);
	snprintf(st.reason, sizeof(st.reason), "%s", s->reason);
	if (s->chosen)
		tell_copies(s, &st);
	if (s->link && !bpf_obj_get_info_by_fd(s->prog_fd, &info, &len)) {
		st.runs = info.run_cnt;
		st.missed = info.recursion_misses;
		st.verified_insns = info.verified_insns;
	}
	if (s->link && s->by_tracefs) {
		uint64_t hits = 0, missed = 0;

		kretprobe_counts(row->name, &hits, &missed);
		st.runs = st.runs ? st.runs : hits;
		st.missed += missed;
	}
	if (s->state == SLOT_ATTACHED && st.runs)
		st.state = SLOT_ACTIVE;
	*ret_status = st;
}

const char *loader_refusal(int err)
{
	return privileges_refusal(err, libbpf_said);
}

/* Hooks of the registrations themselves were tried, and none got through. */
static bool registrations_refused(const struct loader *l)
{
	bool failed = false;

	for (int i = 0; i < NSLOTS; i++) {
		const struct slot *s = &l->slots[i];

		if (slot_rows[i].object != OBJECT_registration)
			continue;
		if (s->link)
			return false;
		failed |= s->state == SLOT_LOAD_FAILED || s->state == SLOT_ATTACH_FAILED;
	}
	return failed;
}

bool loader_allowed(const struct loader *l, const char **ret_why)
{
	if (!l->refused)
		return true;
	/* Tracepoints alone see no registration. */
	for (int i = 0; i < NSLOTS; i++)
		if (l->slots[i].link && l->slots[i].chosen->kind != ATTACH_TRACEPOINT && !registrations_refused(l))
			return true;
	*ret_why = loader_refusal(l->refused);
	return false;
}

/* include/linux/proc_ns.h: PROC_PID_INIT_INO, the inode of the initial namespace's file. */
#define INITIAL_PID_NS 0xEFFFFFFCUL

bool loader_pids_ours(const char **ret_why)
{
	struct stat st;

	if (stat("/proc/self/ns/pid", &st) || st.st_ino == INITIAL_PID_NS)
		return true;
	*ret_why = "pinwhy runs in a PID namespace of its own: /proc shows other processes than the kernel names, so "
		   "that facts about a process are missing and stuck registrations are not reported; run it with "
		   "the host's (hostPID: true, --pid=host)";
	return false;
}

/* Switches of the kernel that silence hooks while they stay attached. */
static const struct {
	const char *path;
	bool kprobes_alone;
	const char *why;
} switches[] = {
	{ "/sys/kernel/debug/kprobes/enabled", true,
	  "kprobes are switched off (/sys/kernel/debug/kprobes/enabled is 0): registrations are not seen; write 1 there to see them again" },
	{ "/proc/sys/kernel/ftrace_enabled", false,
	  "ftrace is switched off (sysctl kernel.ftrace_enabled is 0), and hooks at the begin of functions with it: registrations are "
	  "not seen; sysctl kernel.ftrace_enabled=1 to see them again" },
};

static bool switched_off(const char *path)
{
	FILE *f = fopen(path, "re");
	int on = f ? fgetc(f) : '1';

	if (f)
		fclose(f);
	return on == '0';
}

bool loader_healthy(const struct loader *l, const char **ret_why)
{
	bool hooks = false, kprobes = false;

	for (int i = 0; i < NSLOTS; i++) {
		hooks |= l->slots[i].link != NULL;
		kprobes |= l->slots[i].link && (l->slots[i].chosen->kind == ATTACH_KPROBE || l->slots[i].chosen->kind == ATTACH_KRETPROBE);
	}
	for (size_t i = 0; i < sizeof(switches) / sizeof(switches[0]); i++) {
		if (!(switches[i].kprobes_alone ? kprobes : hooks) || !switched_off(switches[i].path))
			continue;
		*ret_why = switches[i].why;
		return false;
	}
	return true;
}

/* What a person calls the function behind a tracepoint. */
static const char *function_name(const struct slot_row *row, const struct variant *v)
{
	return row->fn == WIRE_FN_MIGRATE ? "migrate_pages" : v->target;
}

/*
 * A hook that fires only between the ends of a long-term pin sees nothing without them, nor do the folios
 * that stay without the result of the migration: its silence must not be taken for "did not fail".
 */
static void forget_blind(const struct loader *l, struct identity *id)
{
	static const enum wire_fn inside[] = {
		WIRE_FN_GUP_LONGTERM, WIRE_FN_MIGRATE, WIRE_FN_MIGRATE_TARGET, WIRE_FN_HUGETLB_ALLOC,
	};
	bool pin = sees_all(&l->slots[SLOT_ID_gup_longterm_enter]) && sees_all(&l->slots[SLOT_ID_gup_longterm_exit]);

	for (size_t i = 0; i < sizeof(inside) / sizeof(inside[0]); i++)
		id->fn_watched[inside[i]] &= pin;
	id->putback_watched &= pin && sees_all(&l->slots[SLOT_ID_migrate_result]);
	id->target_watched &= pin;
}

/* Since when folios that stay, and those that find no target, are seen. */
static uint64_t folios_since(const struct loader *l)
{
	static const enum slot_id seen_by[] = { SLOT_ID_putback, SLOT_ID_migrate_target, SLOT_ID_migrate_result };
	uint64_t since = 0;

	for (size_t i = 0; i < sizeof(seen_by) / sizeof(seen_by[0]); i++)
		if (l->slots[seen_by[i]].link && l->slots[seen_by[i]].since_ns > since)
			since = l->slots[seen_by[i]].since_ns;
	return since;
}

void loader_identity(const struct loader *l, struct identity *id)
{
	bool named[WIRE_FN_MAX] = {};
	const char *inlined;

	kfacts_names(l->kf, id);
	memset(id->fn_watched, 0, sizeof(id->fn_watched));
	for (int i = 0; i < NSLOTS; i++) {
		const struct slot *s = &l->slots[i];
		enum wire_fn fn = slot_rows[i].fn;

		/* Two ways into the same function: the first one that is hooked names it. */
		if (fn == WIRE_FN_NONE || !s->nvariants || id->fn_watched[fn] || (named[fn] && !s->link))
			continue;
		named[fn] = true;
		snprintf(id->fn_name[fn], sizeof(id->fn_name[fn]), "%s",
			 function_name(&slot_rows[i], s->chosen ? s->chosen : &s->variants[0]));
		snprintf(id->fn_module[fn], sizeof(id->fn_module[fn]), "%s", s->module);
		id->fn_watched[fn] = sees_all(s);
		id->fn_since_ns[fn] = s->link ? s->since_ns : 0;
	}
	/* 7.3: a copy of it is inlined where buffers are registered, and that one is not seen. */
	if (kfacts_symbol(l->kf, "io_account_mem", &inlined) == ANSWER_YES)
		id->fn_watched[WIRE_FN_URING_ACCOUNT] = false;
	id->putback_watched = sees_all(&l->slots[SLOT_ID_putback]);
	id->target_watched = sees_all(&l->slots[SLOT_ID_migrate_target]);
	id->folios_since_ns = folios_since(l);
	forget_blind(l, id);
}

const struct wire_cfg *loader_cfg(const struct loader *l)
{
	return &l->cfg;
}

bool loader_placement_known(const struct loader *l, const char **ret_why)
{
	struct wire_calibration cal = {};
	uint32_t zero = 0;

	if (kfacts_addresses_hidden(l->kf))
		*ret_why = "/proc/kallsyms shows no addresses (kernel.kptr_restrict with no CAP_SYSLOG): zone and "
			   "pageblock of pages cannot be read; set kernel.kptr_restrict=1 or give CAP_SYSLOG";
	else if (!(l->cfg.addr_mem_section && l->cfg.addr_last_section) && !l->cfg.section_roots)
		*ret_why = "/proc/kallsyms has no mem_section or no end of it (CONFIG_KALLSYMS_ALL off, or no sparse memory), and "
			   "/proc/kcore, which needs CAP_SYS_RAWIO, does not tell it either: zone and pageblock of pages cannot be read";
	else if (bpf_map_lookup_elem(bpf_map__fd(bpf_object__find_map_by_name(l->maps, "calibration")), &zero, &cal) ||
		 !cal.vmemmap)
		*ret_why = "the kernel's memory map was not found where expected (vmemmap): zone and pageblock of "
			   "pages cannot be read";
	else
		return true;
	return false;
}

int loader_ring_fd(const struct loader *l)
{
	return bpf_map__fd(bpf_object__find_map_by_name(l->maps, "events"));
}

struct wire_span *loader_spans(const struct loader *l)
{
	return l->spans;
}

/* Adds one CPU's counters into the sums. */
static void add_counters(struct loss *sum, const struct wire_counters *c)
{
	for (int i = 0; i < WIRE_API_MAX; i++) {
		sum->reg_ok += c->reg_ok[i];
		sum->reg_failed += c->reg_failed[i];
		sum->api_ok[i] += c->reg_ok[i];
		sum->api_failed[i] += c->reg_failed[i];
	}
	for (int i = 0; i < WIRE_KIND_MAX; i++) {
		sum->emitted[i] += c->emitted[i];
		sum->dropped[i] += c->dropped[i];
	}
	sum->spans_overflow += c->spans_overflow;
	sum->spans_missed_end += c->spans_missed_end;
	sum->ends_without_span += c->ends_without_span;
	sum->chain_overflow += c->chain_overflow;
	sum->pin_flag_disagree += c->pin_flag_disagree;
	sum->vma_lock_busy += c->vma_lock_busy;
	sum->stale_unwatched += c->stale_unwatched;
	sum->pins_taken += c->pins_taken;
	sum->pins_released += c->pins_released;
	sum->pins_unkept += c->pins_unkept;
	sum->pins_unseen += c->pins_unseen;
	sum->cma_busy += c->cma_busy;
	sum->cma_pinned += c->cma_pinned;
	sum->cma_failures += c->cma_failures;
	sum->armed_processes += c->armed_processes;
	sum->armed_refused += c->armed_refused;
	sum->armed_unkept += c->armed_unkept;
	sum->armed_evicted += c->armed_evicted;
	sum->modpins_taken += c->modpins_taken;
	sum->modpins_evicted += c->modpins_evicted;
	sum->armed_refs += c->armed_refs;
	sum->armed_refs_evicted += c->armed_refs_evicted;
	for (int via = 0; via < WIRE_PIN_VIA_MAX; via++) {
		sum->stranded[via] += c->stranded[via];
		sum->freed[via] += c->freed[via];
	}
}

/* Counters are read one after the other while they change: no pin was given back that was not taken. */
static uint64_t at_most(uint64_t n, uint64_t most)
{
	return n < most ? n : most;
}

void loader_counters(const struct loader *l, struct loss *ret_loss)
{
	struct loss sum = { .spans_missed_end = l->spans_abandoned };

	for (uint32_t i = 0; i < l->ncpus; i++)
		add_counters(&sum, &l->counters[i]);
	sum.pins_released = at_most(sum.pins_released + l->forgotten.pins, sum.pins_taken);
	for (int via = 0; via < WIRE_PIN_VIA_MAX; via++)
		sum.freed[via] = at_most(sum.freed[via] + l->forgotten.stranded[via], sum.stranded[via]);
	*ret_loss = sum;
}

uint64_t loader_runs_missed(const struct loader *l)
{
	struct slot_status st;
	uint64_t sum = 0;

	for (uint32_t i = 0; i < NSLOTS; i++) {
		loader_status(l, i, &st);
		sum += st.missed;
	}
	return sum;
}

static uint64_t unlocks_missed(const struct loader *l)
{
	struct slot_status st;

	loader_status(l, SLOT_ID_nv_unlock, &st);
	return st.missed;
}

bool loader_unlocks_missed(const struct loader *l)
{
	return unlocks_missed(l) != l->unlocks_missed;
}

void loader_check_ledger(struct loader *l)
{
	bool blind = !loader_healthy(l, &(const char *){ NULL });
	uint64_t missed = unlocks_missed(l);

	/* Blind until now, what was given back meanwhile was counted nowhere. */
	if (missed != l->unlocks_missed || blind || l->was_blind)
		loader_forget_pins(l);
	l->unlocks_missed = missed;
	l->was_blind = blind;
}

bool loader_object_lives(const struct loader *l, enum object_id o)
{
	for (int i = 0; i < NSLOTS; i++)
		if (slot_rows[i].object == o && l->slots[i].link)
			return true;
	return false;
}

uint64_t loader_map_bytes(const struct loader *l)
{
	uint64_t sum = l->map_bytes;

	for (int o = 0; o < NOBJECTS; o++)
		if (loader_object_lives(l, (enum object_id)o))
			sum += l->objects[o].map_bytes;
	return sum;
}
