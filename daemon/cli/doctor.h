/* SPDX-License-Identifier: BSD-2-Clause */
/* What `pinwhy doctor` and `pinwhy doctor --plan` share. */
#ifndef PINWHY_CLI_DOCTOR_H
#define PINWHY_CLI_DOCTOR_H

#include <stdbool.h>
#include <stdint.h>

#include "config.h"
#include "kernel_support.h"
#include "loader.h"

/* Exit status. */
enum verdict { FINE = 0, DEGRADED = 1, CANNOT_RUN = 2 };
extern const char *const verdict_words[];

#define MODULE_BTF_MAX 64

struct doctor_options {
	bool json, plan;
	const char *config;	/* -c, NULL = none */
	const char *btf, *kallsyms;	/* --btf, --kallsyms; NULL = those of the running kernel */
	const char *module_btf[MODULE_BTF_MAX];
	uint32_t nmodule_btf;
};

struct json_object;
struct json_object *doctor_slot_json(const struct slot_status *st);
void doctor_print_slot(const struct slot_status *st);
/* A paragraph behind its label, broken at blanks. */
void doctor_print_wrapped(const char *label, const char *text);
/* What the kernel has of what kernels differ in, and what follows where it is not there. */
struct json_object *doctor_support_json(const struct kernel_facts *kernel);
void doctor_print_support(const struct kernel_facts *kernel);
/* Hooks as the configuration has them. */
struct loader_opts doctor_loader_opts(const struct config *config);

/* The hook plan of a kernel that need not run. Returns the exit status. */
enum verdict doctor_plan(const struct doctor_options *options, const struct config *config);

#endif
