/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Loads the BPF objects and attaches the slots of slots.def: for each slot the
 * first variant that the running kernel can carry, decided by BTF and kallsyms
 * and confirmed by load and attach. One slot failing never stops the others.
 */
#ifndef PINWHY_LOADER_H
#define PINWHY_LOADER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "identity.h"
#include "kfacts.h"
#include "wire.h"
#include "wire_step.h"

enum slot_state {
	SLOT_ABSENT,		/* no variant fits this kernel, or its module is not loaded */
	SLOT_DISABLED,		/* by configuration, or on demand and not asked for */
	SLOT_LOAD_FAILED,
	SLOT_ATTACH_FAILED,
	SLOT_ATTACHED,
	SLOT_ACTIVE,		/* attached and has fired */
	/* Of a kernel that does not run here (loader_plan.h): */
	SLOT_PLANNED,		/* would be attached */
	SLOT_UNKNOWN,		/* what is known of that kernel does not tell */
};
const char *slot_state_name(enum slot_state s);

/* [hooks] NAME = auto | always | never */
enum hook_mode { HOOK_AUTO, HOOK_ALWAYS, HOOK_NEVER };

struct slot_status {
	const char *name;	/* row of slots.def */
	const char *object;
	const char *rate;	/* cold, rare, hot */
	const char *purpose;
	bool on_demand;
	bool expected;		/* its absence, with its module loaded, degrades the node */
	enum slot_state state;
	bool changed;		/* by the last loader_attach() */
	char module[32];	/* where the target lives, "" = vmlinux or not known */
	char variant[24];	/* "kprobe", "fentry", ... of the one chosen */
	const char *by;		/* of a return probe that is attached, or would be: tracefs, perf; "" = of no other */
	char target[96];	/* function, by the name it has in this kernel, or tracepoint */
	char reason[192];	/* why it is not attached */
	char note[192];		/* what it does not see although it is, or would be, attached */
	uint32_t verified_insns;	/* that the kernel's verifier processed, 0 = not loaded, or not told (before 5.16) */
	uint64_t runs;		/* program run count; 0 while kernel.bpf_stats_enabled is 0 */
	uint64_t missed;	/* recursion_misses, plus return probes without a free instance */
};

struct loader;
struct layout_of;

struct loader_opts {
	const enum hook_mode *modes;	/* one per row of slots.def; NULL = all auto */
	uint32_t ring_bytes;		/* power of two, multiple of the page size */
	const char *avoid;		/* variants not to use, [slot:]how with commas, or NULL */
	const char *driver_function;	/* reg_user_mr of a driver that functions.def lacks, or NULL */
	uint32_t trace;			/* enum wire_trace; 0: every process is followed, and only failures are told */
	const char *trace_comm;		/* with WIRE_TRACE_COMM */
	uint64_t arm_ns;		/* how long a process is armed after its first failure, 0 = it is not */
};

/*
 * Makes the maps and finds out which programs there are; attaches nothing. -EPERM
 * when the kernel refuses BPF, else the errno of what failed. On failure *ret_why is a
 * sentence for the operator with cause and remedy (static storage). `kf` is kept.
 */
int loader_open(struct loader **ret_loader, struct kfacts *kf, const struct loader_opts *opts,
		const char **ret_why);
/*
 * Attaches every slot that can be and is not; detaches those whose module has gone.
 * Cheap when nothing changed: call it at every hint and now and then. Returns the
 * number of slots whose state changed.
 */
int loader_attach(struct loader *l);
/*
 * Other modes, one per row of slots.def. Slots that are not wanted any more are detached, those whose mode is what it was
 * stay as they are; loader_attach() is to be called then. Returns how many modes changed.
 */
unsigned int loader_set_modes(struct loader *l, const enum hook_mode *modes);
/* Detaches all slots; maps stay, so that what is in the ring can still be read. */
void loader_detach(struct loader *l);
void loader_free(struct loader *l);

/* How it is known where module `i` of the RDMA core has its fields (see rdma_layout.h), from 0 on. NULL: there is no more. */
const struct layout_of *loader_layout(const struct loader *l, uint32_t i);

uint32_t loader_nslots(void);
const char *loader_slot_name(uint32_t i);
bool loader_slot_watches(uint32_t i, const char *object);	/* Is it of this BPF object? */
void loader_status(const struct loader *l, uint32_t slot, struct slot_status *ret_status);
/* False, with a sentence on cause and remedy, when nothing is attached because the kernel refuses BPF. */
bool loader_allowed(const struct loader *l, const char **ret_why);
/* False, with a sentence, when something takes the ground from under attached slots
 * (kprobes switched off at run time). */
bool loader_healthy(const struct loader *l, const char **ret_why);
/* Are pids as the kernel counts them those of our /proc? False, with a sentence, in a PID namespace. */
bool loader_pids_ours(const char **ret_why);
/* Fills the fn_* and *_watched fields of `id` from what is attached now. */
void loader_identity(const struct loader *l, struct identity *id);
/* Settings the programs run with, and what the kernel told of itself. */
const struct wire_cfg *loader_cfg(const struct loader *l);
bool loader_placement_known(const struct loader *l, const char **ret_why);

int loader_ring_fd(const struct loader *l);	/* the events map */
void loader_counters(const struct loader *l, struct loss *ret_loss);	/* sums over CPUs */
struct wire_span *loader_spans(const struct loader *l);	/* WIRE_SPANS of them, mapped read-write */
/* Empties the ledger of first pins when a release may have been missed. */
void loader_check_ledger(struct loader *l);
/* A process to trace, from now on. -E2BIG when WIRE_TRACED_MAX are. */
int loader_trace(struct loader *l, uint32_t tgid);
/* None is traced any more: what begins from now on is not followed, nor are ends of what had begun. */
void loader_trace_none(struct loader *l);
/* Can armed watching name anybody here? False, with a sentence why not. */
bool loader_armed_possible(const struct loader *l, const char **ret_why);
/*
 * Looks whether processes are armed. True: loader_attach() is to be called, and then loader_armed_open(). Cheap when nothing
 * changed.
 */
bool loader_armed_step(struct loader *l, uint64_t now_ns);
/* Looks whether what was seen of them still counts, and begins anew when it does not; hooks stay as they are. */
void loader_armed_check(struct loader *l);
/* Pins are entered from now on, if all that gives them back is hooked. */
void loader_armed_open(struct loader *l);
uint32_t loader_armed_processes(const struct loader *l, uint64_t now_ns);
uint64_t loader_armed_folios(const struct loader *l);	/* pinned by them, and not given back */
union judged {
	struct wire_hdr hdr;
	struct wire_holder holder;
	struct wire_cma_blocked blocked;
	struct wire_reg_end end;
	struct wire_stale stale;
	struct wire_step step;
};
/*
 * A record as it may be believed: who holds a page is told with a doubt when a release may have been missed, and the name of a device only
 * when there is one of that name. `copy` is where it is changed.
 */
const void *loader_judge(const struct loader *l, const void *data, size_t size, union judged *copy);
uint64_t loader_runs_missed(const struct loader *l);	/* of all slots: see slot_status.missed */
uint64_t loader_map_bytes(const struct loader *l);	/* kernel memory of the maps, by the kernel's own figures */

#endif
