/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The symbols that pinwhy asks for, as a list like /proc/kallsyms has them, and what a compiler made of functions:
 * copies of them under names with a suffix. Pure but for reading the list.
 */
#ifndef PINWHY_KFACTS_SYMBOLS_H
#define PINWHY_KFACTS_SYMBOLS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define SYMBOLS_MAX 192
#define SYMBOL_FULL_LEN 96	/* with suffixes: those that are hooked, .llvm and a number, have room */

/* What a function under a name with a suffix is to the one without. */
enum made {
	MADE_SAME,	/* the function itself, which has no other name */
	MADE_SPLIT,	/* its rest: who has its begin inlined calls this, and never the function */
	MADE_CHANGED,	/* a copy for some of its callers, or for all: its arguments and result may be others */
	MADE_KINDS,
	MADE_NONE = MADE_KINDS,	/* no function of its own: code moved out of the way, reached by a jump */
};

struct symbol {
	char name[64];
	char module[32];	/* of the symbol, or of the first of what was made of it */
	uint64_t address;
	bool found;
	uint32_t times;		/* so often: functions of one name in several modules */
	char made[MADE_KINDS][SYMBOL_FULL_LEN];	/* full name of the first of each kind, "" = none */
	uint32_t arguments;	/* by vmlinux BTF */
	bool in_btf;		/* a FUNC of vmlinux BTF */
};

struct symbols {
	struct symbol rows[SYMBOLS_MAX];
	uint32_t n;
	uint64_t beginnings[64];	/* a bit for the first letters of each: most of what is looked for is not among them */
	bool hidden;			/* an address was 0 */
	char release_unknown[64];	/* "" = none; see kfacts_release_unknown() */
};

/* NULL when it is not asked for. */
const struct symbol *symbols_find(const struct symbols *t, const char *name);
/* The same for names that are seldom among them. */
struct symbol *symbols_asked(struct symbols *t, const char *name);
/* Asks for one more; the same one again is fine. -ENOSPC past SYMBOLS_MAX, or when the name is too long. */
int symbols_add(struct symbols *t, const char *name, struct symbol **ret_symbol);
/* Forgets what was found and reads the list. -EIO. */
int symbols_read(struct symbols *t, FILE *list);

/* The kind of a full name by its suffix; *ret_base is the length of the name without. A name without: MADE_SAME. */
enum made symbols_made(const char *full, size_t *ret_base);

#endif
