/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The maps that all objects share. Every object declares them, the loader makes
 * them once from maps.bpf.o and hands the same ones to the others, so that one
 * ring keeps the order of events of one registration across objects.
 */
#ifndef PINWHY_MAPS_BPF_H
#define PINWHY_MAPS_BPF_H

#include "kernel.h"
#include "wire.h"
#include <bpf/bpf_helpers.h>

enum {
	BPF_ANY = 0,
	BPF_NOEXIST = 1,
	BPF_F_NO_PREALLOC = 1U << 0,
	BPF_F_MMAPABLE = 1U << 10,
	BPF_MAP_TYPE_HASH = 1,
	BPF_MAP_TYPE_ARRAY = 2,
	BPF_MAP_TYPE_PROG_ARRAY = 3,
	BPF_MAP_TYPE_LRU_HASH = 9,
	BPF_MAP_TYPE_RINGBUF = 27,
};

/* Events to the daemon. The size is a setting. */
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 20);
} events SEC(".maps");

/* Registrations in flight; the daemon maps it to scan for stuck ones. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, WIRE_SPANS);
	__type(key, __u32);
	__type(value, struct wire_span);
} spans SEC(".maps");

/* Not 0 while the daemon takes hooks away or changes them: the silence of a hook would mean nothing then. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u32);
} gate SEC(".maps");

/*
 * One set of counters per CPU; the loader gives it as many as there are. Not a per-CPU map: reading
 * one takes a bpf() call, and while that call is preempted the kernel runs no kprobe program on
 * its CPU (bpf_disable_instrumentation(), kernel/bpf/syscall.c), so that looking would lose events.
 */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct wire_counters);
} counters SEC(".maps");

/* The program of each object that tells of a failed registration: see end.bpf.h. The loader fills it. */
struct {
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY);
	__uint(max_entries, WIRE_ENDS_MAX);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, sizeof(__u32));
} ends SEC(".maps");

/* The OOM killer's latest victims, by tgid. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 128);
	__type(key, __u32);
	__type(value, struct wire_oom);
} oom_kills SEC(".maps");

/* Exports of GPU memory that failed, by tgid, until one does not. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 128);
	__type(key, __u32);
	__type(value, struct wire_export);
} failed_exports SEC(".maps");

/*
 * The ledger: first pins that are held, by the kernel address of the array of pages that their taker keeps. It names
 * the pin whoever lets go of it, from whatever thread. Full: what comes then is counted and not entered, since
 * those that are long there are as likely to be in the way.
 */
#define FIRST_PINS_MAX 4096
struct first_pin {
	struct wire_pin pin;
	__u32 nstack;
	__u32 in_the_way;	/* of who moves pages, as far as was looked: not 0 when not all of them were */
	__u32 traced;	/* a step told of it: so will one of its release, though its process may be gone by then */
	__u32 pad;
	__u64 stranded;	/* pages of it, as counted */
	/* Kernel pointers, which never leave the maps. */
	__u64 stack[WIRE_KSTACK_MAX];
	__u64 mm;
	__u64 object;	/* root anon_vma or f_mapping behind its first page, 0 = not known */
	__u64 index;	/* page offset of its first page in there */
};
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, FIRST_PINS_MAX);
	__type(key, __u64);
	__type(value, struct first_pin);
} first_pins SEC(".maps");

/* Threads that pin for the ledger at this moment, by tid: what they pin is not noted a second time (modpins.bpf.h). */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 256);
	__type(key, __u32);
	__type(value, __u32);
} lock_threads SEC(".maps");

/* Armed watching: see armed.bpf.c. The daemon maps it. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct wire_armed);
} armed SEC(".maps");

/* Folios that armed processes have pinned, by their kernel address. */
#define HELD_MAX 4096
struct held_folio {
	__u64 folio;		/* the key again: an entry may become another's while it is looked at */
	__u64 take;		/* id of the first call that pinned it */
	__u64 changed_ns;
	__s32 pins;		/* taken and not given back; at most as many as its taker has */
	__u32 mixed;		/* by more than one taker */
	__u32 epoch;
	__u32 page;		/* of the call: the first one in the folio */
	__u32 calls;		/* of this taker that pinned it since the entry was made */
	__u32 pad;
	__u64 last;		/* the latest of them */
};
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, HELD_MAX);
	__type(key, __u64);
	__type(value, struct held_folio);
} held SEC(".maps");

/* The calls that pinned them, by their ids. The oldest gives way. */
#define TAKES_MAX 1024	/* power of two */
struct take {
	struct wire_pin pin;
	__u64 stack[WIRE_KSTACK_MAX];	/* kernel addresses, which never leave the maps */
	__u32 nstack;
	__s32 folios;	/* that are entered as its own */
	__u32 busy;	/* somebody writes it */
	__u32 pad;
};
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, TAKES_MAX);
	__type(key, __u32);
	__type(value, struct take);
} takes SEC(".maps");

/* Folios that armed processes took plain references of, some places for each: see refs.bpf.h. */
#define REFS_MAX 4096	/* power of two */
struct ref_folio {
	__u64 take;		/* id of the latest call of this taker, 0 = free */
	__u64 folio, object, index;	/* what it is, what it belonged to, and where in there; kernel pointers */
	__u64 who;		/* who took it, and by which stack */
	__u32 page;		/* of the call: the first one in the folio */
	__u32 pad;
};
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, REFS_MAX);
	__type(key, __u32);
	__type(value, struct ref_folio);
} refs SEC(".maps");

/* The calls that took them, as above. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, TAKES_MAX);
	__type(key, __u32);
	__type(value, struct take);
} ref_takes SEC(".maps");

/* pinwhy trace: the tgids of traced processes, and what keeps all others from asking. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC); /* the daemon makes it, and has no use for it */
	__uint(max_entries, WIRE_TRACED_MAX);
	__type(key, __u32);
	__type(value, __u32);
} traced SEC(".maps");
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct wire_traced);
} traced_hints SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct wire_calibration);
} calibration SEC(".maps");

/* Where the RDMA core's fields lie. The daemon writes it when a module of it comes, before its hooks are attached. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct wire_layout);
} layout SEC(".maps");

#endif
