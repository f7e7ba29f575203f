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

#include "btfpack.h"
#include "identity.h"
#include "kernel_support.h"
#include "wire.h"

struct btf;

#define RUNNING_KALLSYMS "/proc/kallsyms"

struct kfacts;

/* Of the running kernel. -ENOENT when it has no BTF; other -errno as they come. */
int kfacts_open(struct kfacts **ret_kf);
/*
 * The same for a kernel that may show no BTF: `pack` is then a file of btfpack.h in its place, NULL or "" = there is none. On
 * failure `error` (BTFPACK_ERROR_MAX bytes) says what is wrong and what to do. `pack` must live as long.
 */
int kfacts_open_with(struct kfacts **ret_kf, const char *pack, char *error);
/* The pack that stands in for the kernel's BTF, NULL = none does. */
const char *kfacts_pack(const struct kfacts *kf);
/*
 * Of any kernel: its vmlinux BTF, which belongs to the facts from then on, and the path of a list like /proc/kallsyms, which
 * must live as long. -ENOMEM. What only a running kernel has (its name, its boot) stays empty.
 */
int kfacts_of_btf(struct kfacts **ret_kf, struct btf *btf, const char *kallsyms);
void kfacts_free(struct kfacts *kf);

/* Names to look for in BTF, while it is kept, and in kallsyms with the next kfacts_refresh(); -ENOSPC past a fixed number. */
int kfacts_watch(struct kfacts *kf, const char *symbol);
const char *kfacts_watched(const struct kfacts *kf, uint32_t i);	/* the names so far; NULL past the last */
/* Looks for them, in kallsyms again: modules came or went. -errno leaves every symbol of kallsyms unknown. */
int kfacts_refresh(struct kfacts *kf);
/* Drops the parsed BTF, some megabytes; the answers taken from it stay. */
void kfacts_drop_btf(struct kfacts *kf);
/* NULL after that. It stays the facts' own. */
struct btf *kfacts_btf(const struct kfacts *kf);

/* Is the symbol there under exactly this name; *ret_module is its module, "" = vmlinux. */
enum answer kfacts_symbol(const struct kfacts *kf, const char *symbol, const char **ret_module);
/* The function `symbol` as compilers leave it. */
struct kfacts_function {
	const char *name;	/* what it is called: `symbol`, or that with a suffix which changes nothing; "" = not there */
	const char *module;	/* "" = vmlinux */
	const char *split;	/* its rest, which is called without it: a hook on `name` misses those calls; "" = none */
	const char *changed;	/* a copy that may have other arguments, beside it or alone; "" = none */
	uint32_t times;		/* so often in the list: functions of one name in several modules */
};
enum answer kfacts_function(const struct kfacts *kf, const char *symbol, struct kfacts_function *ret_function);
/* Does any of its code run, under whatever name? */
enum answer kfacts_code(const struct kfacts *kf, const char *symbol);
/* Was the kernel built with BTF, whether it shows it or not? Without it its verifier knows no types. */
enum answer kfacts_has_btf(const struct kfacts *kf);
uint64_t kfacts_address(const struct kfacts *kf, const char *symbol);	/* 0 = absent or hidden */
bool kfacts_btf_func(const struct kfacts *kf, const char *symbol);	/* vmlinux BTF describes it */
uint32_t kfacts_btf_arguments(const struct kfacts *kf, const char *symbol);	/* by that; 0 also when it does not */
/* A function of vmlinux that by its name gives pins back and that nobody watches for. */
bool kfacts_release_unknown(const struct kfacts *kf, const char **ret_name);
bool kfacts_addresses_hidden(const struct kfacts *kf);	/* kallsyms shows zeros */

/* After kfacts_refresh(). */
void kfacts_kernel(const struct kfacts *kf, struct kernel_facts *ret_facts);
/* Does the kernel have bpf_loop()? By BTF alone: known as soon as kfacts are open. */
bool kfacts_loops(const struct kfacts *kf);

/* Settings for the programs. After kfacts_refresh(). */
void kfacts_cfg(const struct kfacts *kf, struct wire_cfg *ret_cfg);
/* The node's and the kernel's names and numbers in `id`; the rest of `id` is left alone. */
void kfacts_names(const struct kfacts *kf, struct identity *id);

/* Identity of a loaded module: changes when it is loaded again. 0 = not loaded. */
uint64_t kfacts_module_generation(const char *module);

#endif
