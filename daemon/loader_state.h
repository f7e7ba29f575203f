/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Inside of the loader: shared by loader.c, which builds it up, loader_detach.c, which takes it down, and
 * loader_status.c, which tells of it.
 */
#ifndef PINWHY_LOADER_STATE_H
#define PINWHY_LOADER_STATE_H

#include <stdio.h>

#include "loader.h"
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
	char module[32];		/* of the chosen target */
	enum slot_state state;
	enum slot_state settled_state;	/* as the last loader_attach() left it, if `settled` */
	bool settled, changed;		/* by that one */
	char reason[160];
};

struct object {
	struct bpf_object *obj;		/* while attaching: as soon as its programs hang on their hooks they need it no more */
	bool loaded;
	uint64_t generation;		/* of its BTF module when loaded */
	bool stale;			/* a variant was refused: load again with the next */
	uint64_t map_bytes;		/* kernel memory of the maps that it alone has, which go with its programs */
};

struct loader {
	struct kfacts *kf;
	struct wire_cfg cfg;
	struct bpf_object *maps;
	uint64_t map_bytes;		/* kernel memory of these */
	struct object objects[NOBJECTS];
	struct slot slots[NSLOTS];
	enum hook_mode modes[NSLOTS];
	char avoid[256];
	char driver_function[64];	/* [attach] driver_function, "" = none */
	struct wire_span *spans;
	const struct wire_counters *counters;	/* mapped, one per possible CPU */
	uint32_t *gate;			/* mapped: not 0 = nothing is followed */
	struct wire_traced *traced_hints;	/* mapped */
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
};

/* The last complaint of libbpf: it alone names the program and the reason. */
extern char libbpf_said[256];

/* Is `how` to be avoided, for all slots or for this one ("slot:how")? */
bool loader_avoided(const struct loader *l, int i, const char *how);

/* Why the kernel said no to BPF, and what to do about it. Static storage. */
const char *loader_refusal(int err);

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
/* The kernel's own figure for one map, from its fdinfo. -ENODATA when it is not there. */
int map_bytes_told(FILE *fdinfo, uint64_t *ret_bytes);

/* Empties the ledger: releases were not or will not be seen, so that who holds what is not known. */
void loader_forget_pins(struct loader *l);
/* Has the kernel skipped a run of the hook on releases since the ledger was last known to be right? */
bool loader_unlocks_missed(const struct loader *l);
void loader_detach_slot(struct loader *l, int i);
/* Nothing that was seen of armed processes counts any more, and nothing is entered. */
void loader_armed_close(struct loader *l);
/* The hooks of armed watching, on which no registration depends. */
void loader_detach_armed(struct loader *l);
/* All slots of an object, and the object: nothing is followed from here to loader_follow(). */
void loader_detach_object(struct loader *l, enum object_id o);
/* What begins from now on is followed again: every hook that there will be is there. */
void loader_follow(struct loader *l);

#endif
