/* SPDX-License-Identifier: BSD-2-Clause */
/* Names of numbers: errnos, pin flags, access flags, functions of the chain. */
#ifndef PINWHY_NAMES_H
#define PINWHY_NAMES_H

#include <stdint.h>

#include "identity.h"
#include "text.h"
#include "wire.h"

/* `err` is positive. "ENOMEM"; an unknown number gives "errno". */
const char *name_errno(int err);
/* "out of memory"; fixed words, whatever the locale. */
const char *name_errno_words(int err);
/* Positive errno by name, 0 = no such name. */
int name_errno_number(const char *name);
/* Of madvise, those that throw pages away: "MADV_DONTNEED"; else "another". */
const char *name_advice(uint32_t advice);

/* The function behind a chain entry as this kernel calls it; never empty. */
const char *name_fn(const struct identity *id, uint32_t fn);
/* Its module, or "vmlinux". */
const char *name_fn_module(const struct identity *id, uint32_t fn);
/* registration.api */
const char *name_api(uint32_t api);
/* Is it a provider's reg_user_mr? */
/* The function whose return ends a registration of this kind. */
enum wire_fn name_api_entry(uint32_t api);
bool name_fn_is_driver(uint32_t fn);
/* What a first pin was taken through, by enum wire_pin_via. */
struct pin_via {
	const char *function;
	const char *module;
};
extern const struct pin_via pin_vias[WIRE_PIN_VIA_MAX];
/* Why one that was seen may not be what holds the page, by enum wire_doubt. */
struct pin_doubt {
	const char *word, *meaning;
};
extern const struct pin_doubt pin_doubts[WIRE_DOUBT_MAX];
/* Name of `value` in an enum of the kernel, "" when it has none. */
const char *name_enum(const struct enum_names *names, uint64_t value);

/* Calls `each` with the name of every flag that is set, and "0x..." for the rest. */
typedef void (*name_each_fn)(void *ctx, const char *name);
void name_access(uint32_t access, name_each_fn each, void *ctx);
void name_gup_flags(const struct identity *id, uint32_t flags, name_each_fn each, void *ctx);

#endif
