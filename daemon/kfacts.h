/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Facts about the running kernel: its BTF (enums, sizes), kallsyms (which functions
 * exist and where), page geometry. A fact is yes, no, or unknown with the errno that
 * kept it from being known; unknown is never taken for no.
 */
#ifndef PINWHY_KFACTS_H
#define PINWHY_KFACTS_H

#include <stdbool.h>
#include <stdint.h>

#include "identity.h"
#include "wire.h"

struct btf;

enum answer { ANSWER_NO = 0, ANSWER_YES = 1, ANSWER_UNKNOWN = -1 };

struct kfacts;

/* -ENOENT when the kernel has no BTF; other -errno as they come. */
int kfacts_open(struct kfacts **ret_kf);
void kfacts_free(struct kfacts *kf);

/* Names to look for in BTF at once, and in kallsyms with the next kfacts_refresh(); -ENOSPC
 * past a fixed number. */
int kfacts_watch(struct kfacts *kf, const char *symbol);
/* Reads kallsyms (again: modules came or went). -errno leaves every symbol unknown. */
int kfacts_refresh(struct kfacts *kf);
/* Drops the parsed BTF, some megabytes; the answers taken from it stay. */
void kfacts_drop_btf(struct kfacts *kf);

/* Is the symbol there under exactly this name; *ret_module is its module, "" = vmlinux. */
enum answer kfacts_symbol(const struct kfacts *kf, const char *symbol, const char **ret_module);
uint64_t kfacts_address(const struct kfacts *kf, const char *symbol);	/* 0 = absent or hidden */
enum answer kfacts_trampolines(const struct kfacts *kf);	/* fentry and fexit can be attached to functions */
bool kfacts_btf_func(const struct kfacts *kf, const char *symbol);	/* vmlinux BTF describes it */
/* A function of vmlinux that by its name gives pins back and that nobody watches for. */
bool kfacts_release_unknown(const struct kfacts *kf, const char **ret_name);
bool kfacts_addresses_hidden(const struct kfacts *kf);	/* kallsyms shows zeros */

/* Settings for the programs. After kfacts_refresh(). */
void kfacts_cfg(const struct kfacts *kf, struct wire_cfg *ret_cfg);
/* The node's and the kernel's names and numbers in `id`; the rest of `id` is left alone. */
void kfacts_names(const struct kfacts *kf, struct identity *id);

/* Identity of a loaded module: changes when it is loaded again. 0 = not loaded. */
uint64_t kfacts_module_generation(const char *module);

#endif
