/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Inside of the loader: shared by loader_choose.c, which finds what fits the kernel, loader_objects.c, which opens it, loader.c,
 * which builds it up, loader_detach.c, which takes it down, and loader_status.c, which tells of it.
 */
#ifndef PINWHY_LOADER_STATE_H
#define PINWHY_LOADER_STATE_H

#include <stdio.h>

#include "corebtf.h"
#include "kfacts_symbols.h"
#include "loader.h"
#include "rdma_layout.h"
#include "slots.h"

#define SYMBOL_LEN 80

struct bpf_link;
struct bpf_object;

struct slot {
	struct variant variants[VARIANTS_MAX];
	uint32_t nvariants;
	const struct variant *chosen;	/* fits this kernel now; NULL = none */
	struct bpf_link *link;
	bool by_tracefs;		/* the link belongs to kretprobe.h */
	int prog_fd;			/* while linked: the object itself is not kept */
	uint64_t generation;		/* of the module when attached */
	uint64_t since_ns;		/* CLOCK_MONOTONIC, while linked */
	char module[32];		/* of the chosen target */
	char symbol[SYMBOL_FULL_LEN];	/* the function as the kernel calls it: the target, perhaps with a suffix; "" = a tracepoint */
	char bypass[SYMBOL_FULL_LEN];	/* a copy of it that calls may go to, which is not hooked; "" = none */
	bool missing;			/* absent for no other reason than that its function is not there */
	uint32_t twins;			/* functions of its name, 0 = one */
	enum slot_state state;
	enum slot_state settled_state;	/* as the last loader_attach() left it, if `settled` */
	bool settled, changed;		/* by that one */
	char reason[192];
};

#define OWN_MAPS_MAX 12

struct object {
	struct bpf_object *obj;		/* while attaching: as soon as its programs hang on their hooks they need it no more */
	bool stale;			/* a variant was refused: what is missing is to be loaded again */
	/* While a program is attached: its maps, in the order of the object, for those of its programs that come later. */
	int maps[OWN_MAPS_MAX];
	uint32_t nmaps;
	uint64_t map_bytes;		/* kernel memory of the maps that it alone has, which go with its programs */
};

struct loader {
	struct kfacts *kf;
	struct wire_cfg cfg;
	struct bpf_object *maps;
	uint64_t map_bytes;		/* kernel memory of these */
	struct object objects[NOBJECTS];
	struct corebtf_names asked;	/* types that the programs ask for */
	struct {			/* those of this kernel, while programs are loaded */
		int fd;
		char path[32];		/* "" = not made */
	} types;
	struct slot slots[NSLOTS];
	enum hook_mode modes[NSLOTS];
	char avoid[256];
	char driver_function[64];	/* [attach] driver_function, "" = none */
	struct wire_span *spans;
	const struct wire_counters *counters;	/* mapped, one per possible CPU */
	uint32_t *gate;			/* mapped: not 0 = nothing is followed */
	struct wire_traced *traced_hints;	/* mapped */
	struct wire_layout *layout;	/* mapped */
	struct rdma_layout rdma;	/* where that is from */
	uint64_t rdma_generation[LAYOUT_OWNERS];	/* of the modules that it was read of */
	uint32_t ncpus;
	uint64_t modules_seen;		/* modules_digest() at the last look */
	uint64_t kallsyms_of;		/* the same when kallsyms was last read */
	int refused;			/* -EPERM or -EACCES of a program's load, 0 = none */
	uint64_t unlocks_missed;	/* runs of nv_unlock, at the last look */
	bool was_blind;			/* hooks were switched off then */
	/* Of the ledger: entries, and stranded pages, whose end was or would not have been seen. */
	struct {
		uint64_t pins, stranded[WIRE_PIN_VIA_MAX];
	} forgotten;
	struct wire_armed *armed;	/* mapped */
	bool arming;			/* the hooks of armed watching are wanted */
	uint64_t armed_wanted_ns;	/* when a process was last seen armed */
	uint32_t armed_epoch;		/* as we set it: programs raise it when in doubt */
	uint64_t armed_missed;		/* runs of release hooks, then */
	uint64_t armed_since_ns;	/* what was told before is not believed any more */
	uint64_t spans_abandoned;	/* in flight when their hooks were taken away */
	struct detachers *detachers;	/* NULL: hooks are taken away one after another */
};

/* The last complaint of libbpf: it alone names the program and the reason. */
extern char libbpf_said[256];

/* The kernel symbol that is there when `v` can be attached: of a tracepoint, the function that calls its probes. */
const char *loader_symbol_of(const struct variant *v, char buf[SYMBOL_LEN]);

/* A loader that knows its variants and settings, and has `kf` asked for what they are to be chosen by. -errno. */
int loader_prepare(struct loader **ret_loader, struct kfacts *kf, const struct loader_opts *opts);
/* Asks for what loader_choose() wants to know of the ways to hook. Before kfacts_refresh(). -ENOSPC. */
int loader_watch_ways(struct kfacts *kf);
/* Why this kernel cannot hook in that way at all; NULL when it can, or when that is not known. */
const char *loader_way_lacks(const struct loader *l, enum attach_kind kind);
uint64_t loader_clock_ns(void);	/* CLOCK_MONOTONIC */

/* Is `how` to be avoided, for all slots or for this one ("slot:how")? */
bool loader_avoided(const struct loader *l, int i, const char *how);

/* Fills what slot `i` is to be: the first variant that fits the kernel, or none, state and reason. Its link is left alone. */
void loader_choose(struct loader *l, int i);

/* Why the kernel said no to BPF, and what to do about it. Static storage. */
const char *loader_refusal(int err);

/*
 * Opens an object to see what is in it; the types that it asks for are noted. -EOPNOTSUPP: nothing of it is for this kernel.
 * The caller closes it.
 */
int loader_survey_object(struct loader *l, const struct object_row *row, struct bpf_object **ret_obj);
/* Opens an object to be loaded; likewise. */
int loader_open_object(struct loader *l, const struct object_row *row, struct bpf_object **ret_obj);
/* Lets go of what is kept of an object whose programs are attached. */
void loader_shed_object(const struct loader *l, struct object *ob, const struct object_row *row);
/* The types of this kernel: modules came or went, or nothing is to be loaded for now. */
void loader_drop_types(struct loader *l);

/* Loads an object that has no slots, with all of its programs. The caller closes it. */
int loader_load_whole(struct loader *l, const struct object_row *row, struct bpf_object **ret_obj);

/* Hands the maps made from maps.bpf.o to another object, before it is loaded. */
int loader_share_maps(const struct loader *l, struct bpf_object *obj);

/* The program to which exits jump that have a failure to tell of: end.bpf.h. */
#define END_PROGRAM "registration_failed"
/* Puts that of a loaded object in its place, before a hook of it is attached; -errno. Drop it when the last hook has gone. */
int loader_place_end(const struct loader *l, enum object_id o, const struct bpf_object *obj);
void loader_drop_end(const struct loader *l, enum object_id o);
/* Kernel memory of the maps that an object, which is loaded, does not have from there. */
uint64_t loader_own_map_bytes(const struct loader *l, const struct bpf_object *obj);
/* Keeps all maps of the first instance of an object, which is loaded, for the next ones. */
void loader_keep_own_maps(const struct loader *l, struct object *ob);
/* Hands those to another instance, before it is loaded. */
int loader_reuse_own_maps(const struct loader *l, const struct object *ob, struct bpf_object *obj);
/* Is a program of it attached? */
bool loader_object_lives(const struct loader *l, enum object_id o);
/* The record, or in `copy` one without the device that it names and that there is none of. */
const void *loader_judge_device(const void *data, size_t size, union judged *copy);
/* Reads where the RDMA core's fields lie, when it was loaded again, for the programs that are attached after this. */
void loader_read_layout(struct loader *l);
/* Lets go of what is kept of an object; programs that are attached stay. */
void loader_forget_object(struct object *ob);
/* The kernel's own figure for one map, from its fdinfo. -ENODATA when it is not there. */
int map_bytes_told(FILE *fdinfo, uint64_t *ret_bytes);

/* Empties the ledger: releases were not or will not be seen, so that who holds what is not known. */
void loader_forget_pins(struct loader *l);
/* Has the kernel skipped a run of the hook on releases since the ledger was last known to be right? */
bool loader_unlocks_missed(const struct loader *l);
void loader_detach_slot(struct loader *l, int i);
/* Starts the threads that take many away, before memory may run out, and ends them. -ENOMEM. */
int loader_start_detachers(struct loader *l);
void loader_stop_detachers(struct loader *l);
/* Nothing that was seen of armed processes counts any more, and nothing is entered. */
void loader_armed_close(struct loader *l);
/* The hooks of armed watching, on which no registration depends. */
void loader_detach_armed(struct loader *l);
/* What begins from now on is followed again: every hook that there will be is there. */
void loader_follow(struct loader *l);

#endif
