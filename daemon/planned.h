/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A kernel that does not run here, as far as files tell of it: its vmlinux BTF, a copy of its /proc/kallsyms, and BTF of
 * modules. What they cannot tell is unknown.
 */
#ifndef PINWHY_PLANNED_H
#define PINWHY_PLANNED_H

#include <stdbool.h>
#include <stdint.h>

#include "kfacts.h"

#define PLANNED_ERROR_MAX 512

struct planned;

/*
 * Reads both files. -errno, with what is wrong and what to do about it in `error` (PLANNED_ERROR_MAX bytes). `kallsyms` must live
 * as long as the result.
 */
int planned_open(struct planned **ret_planned, const char *btf, const char *kallsyms, char *error);
void planned_free(struct planned *p);
/*
 * Adds BTF of a module, or of each module that a folder like /sys/kernel/btf has. A file's name is the module's, with or without
 * ".btf"; "vmlinux" is passed over. -errno, with `error` as above.
 */
int planned_add_modules(struct planned *p, const char *path, char *error);

struct kfacts *planned_kfacts(const struct planned *p);	/* belongs to `p` */
uint32_t planned_modules(const struct planned *p);	/* so many are in the list */
bool planned_module_listed(const struct planned *p, const char *module);
/* Does the BTF of a module describe a function? Unknown without its BTF. */
enum answer planned_module_describes(const struct planned *p, const char *module, const char *function);
/* Functions of vmlinux BTF, and how many of them the list has under no name. Far more than a few: they are not of one kernel. */
void planned_functions(const struct planned *p, uint32_t *ret_described, uint32_t *ret_unlisted);

#endif
