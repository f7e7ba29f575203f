/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Inside of the loader: shared by loader.c, which builds it up, loader_detach.c, which takes it down, and
 * loader_status.c, which tells of it.
 */
#ifndef PINWHY_LOADER_STATE_H
#define PINWHY_LOADER_STATE_H

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
	char reason[160];
};

struct object {
	struct bpf_object *obj;		/* while attaching: as soon as its programs hang on their hooks they need it no more */
	bool loaded;
	uint64_t generation;		/* of its BTF module when loaded */
	bool stale;			/* a variant was refused: load again with the next */
};

struct loader {
	struct kfacts *kf;
	struct wire_cfg cfg;
	struct bpf_object *maps;
	struct object objects[NOBJECTS];
	struct slot slots[NSLOTS];
	enum hook_mode modes[NSLOTS];
	char avoid[256];
	char driver_function[64];	/* [attach] driver_function, "" = none */
	struct wire_span *spans;
	const struct wire_counters *counters;	/* mapped, one per possible CPU */
	uint32_t *gate;			/* mapped: not 0 = nothing is followed */
	uint32_t ncpus;
	uint64_t modules_seen;		/* modules_digest() at the last look */
	uint64_t kallsyms_of;		/* the same when kallsyms was last read */
	int refused;			/* -EPERM or -EACCES of a program's load, 0 = none */
	uint64_t spans_abandoned;	/* in flight when their hooks were taken away */
};

/* The last complaint of libbpf: it alone names the program and the reason. */
extern char libbpf_said[256];

/* Why the kernel said no to BPF, and what to do about it. Static storage. */
const char *loader_refusal(int err);

void loader_detach_slot(struct loader *l, int i);
/* All slots of an object, and the object: nothing is followed from here to loader_follow(). */
void loader_detach_object(struct loader *l, enum object_id o);
/* What begins from now on is followed again: every hook that there will be is there. */
void loader_follow(struct loader *l);

#endif
