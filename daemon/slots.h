/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * slots.def as data, and the variants found in the BPF objects: programs named
 * <slot>__<how>. Pure: no kernel is asked here.
 */
#ifndef PINWHY_SLOTS_H
#define PINWHY_SLOTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire.h"

enum object_id {
#define OBJECT(name, ...) OBJECT_##name,
#define SLOT(...)
#include "slots.def"
#undef OBJECT
#undef SLOT
	NOBJECTS
};

enum slot_id {
#define OBJECT(...)
#define SLOT(name, ...) SLOT_ID_##name,
#include "slots.def"
#undef OBJECT
#undef SLOT
	NSLOTS
};

struct object_row {
	const char *name;
	const char *bytes, *end;	/* the ELF object */
	const char *basic, *basic_end;	/* that for a kernel without bpf_loop(); NULL = there is none */
};

struct slot_row {
	const char *name;
	enum object_id object;
	enum wire_fn fn;
	bool on_demand;
	bool expected;
	const char *needs;
	const char *rate;
	const char *purpose;
};

enum attach_kind { ATTACH_KPROBE, ATTACH_KRETPROBE, ATTACH_TRAMPOLINE, ATTACH_TRACEPOINT };

#define VARIANTS_MAX 4

struct variant {
	char program[48];
	char how[24];
	char target[64];	/* function, or tracepoint name */
	enum attach_kind kind;
	bool refused;		/* the kernel would not load or attach it */
	char why[120];
};

extern const struct object_row maps_object;
extern const struct object_row pages_object;	/* no slots: run by pinwhy pages alone */
extern const struct object_row object_rows[NOBJECTS];
extern const struct slot_row slot_rows[NSLOTS];

int slot_index(const char *name);	/* -1 = no such slot */
/* Splits a program's name and section into a variant; returns its slot, or -1. */
int variant_parse(const char *program, const char *section, struct variant *ret_variant);

#endif
