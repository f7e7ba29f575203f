// SPDX-License-Identifier: BSD-2-Clause
/*
 * pinwhy doctor --plan: how the hooks of a kernel would be attached, and what it supports, from its BTF and its list of
 * symbols. Nothing is loaded, and nothing that these do not tell is guessed.
 */
#include <json-c/json.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/doctor.h"
#include "loader_plan.h"
#include "planned.h"

#define RUNNING_BTF "/sys/kernel/btf/vmlinux"
#define SAID_MAX 16
#define FOREIGN_PERCENT 2	/* of functions that only one of two files knows; a kernel's own files differ by a few in a thousand */

struct plan {
	const char *btf, *kallsyms;
	struct planned *kernel;
	struct loader *loader;
	enum verdict verdict;
	char problems[SAID_MAX][PLANNED_ERROR_MAX];
	uint32_t nproblems;
	char unknown[SAID_MAX][PLANNED_ERROR_MAX];
	uint32_t nunknown;
};

static void problem(struct plan *p, enum verdict v, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
static void problem(struct plan *p, enum verdict v, const char *fmt, ...)
{
	va_list args;

	if (v > p->verdict)
		p->verdict = v;
	if (p->nproblems == SAID_MAX)
		return;
	va_start(args, fmt);
	vsnprintf(p->problems[p->nproblems++], sizeof(p->problems[0]), fmt, args);
	va_end(args);
}

static void unknown(struct plan *p, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void unknown(struct plan *p, const char *fmt, ...)
{
	va_list args;

	if (p->nunknown == SAID_MAX)
		return;
	va_start(args, fmt);
	vsnprintf(p->unknown[p->nunknown++], sizeof(p->unknown[0]), fmt, args);
	va_end(args);
}

static int read_files(struct plan *p, const struct doctor_options *o)
{
	char error[PLANNED_ERROR_MAX];
	int err = planned_open(&p->kernel, p->btf, p->kallsyms, error);

	for (uint32_t i = 0; i < o->nmodule_btf && !err; i++)
		err = planned_add_modules(p->kernel, o->module_btf[i], error);
	if (err)
		problem(p, CANNOT_RUN, "%s", error);
	return err;
}

/* Do both files speak of one kernel? */
static void compare_files(struct plan *p)
{
	uint32_t described, unlisted;

	planned_functions(p->kernel, &described, &unlisted);
	if (!described)
		problem(p, DEGRADED, "the BTF describes no functions (one that was reduced to types?), so that fentry and fexit are not planned");
	else if (unlisted * 100ULL > described * (uint64_t)FOREIGN_PERCENT)
		problem(p, CANNOT_RUN, "%s and %s are not of one kernel: %u of %u functions that the BTF describes are not in the list", p->btf,
			p->kallsyms, unlisted, described);
	if (!planned_modules(p->kernel))
		unknown(p, "modules: the list has none, so that nothing is known of hooks in them; copy it while they are loaded, from /proc/kallsyms");
}

static void examine_slots(struct plan *p)
{
	for (uint32_t i = 0; i < loader_nslots(); i++) {
		struct slot_status st;

		loader_status(p->loader, i, &st);
		if (st.expected && st.state == SLOT_ABSENT)
			problem(p, DEGRADED, "hook %s (%s): %s", st.name, st.purpose, st.reason);
		if (st.expected && st.state == SLOT_UNKNOWN)
			unknown(p, "hook %s (%s): %s", st.name, st.purpose, st.reason);
	}
}

static void examine(struct plan *p)
{
	const char *why;

	compare_files(p);
	examine_slots(p);
	if (!loader_armed_possible(p->loader, &why))
		problem(p, FINE, "%s: who pinned a page is not told of armed processes ([watch] arm_seconds)", why);
	if (kfacts_addresses_hidden(planned_kfacts(p->kernel)))
		problem(p, FINE, "the list shows no addresses: it was copied without CAP_SYSLOG or with kernel.kptr_restrict=2; names are enough here");
	unknown(p, "what the verifier of that kernel says of each program: a hook that it refuses is attached in the next way, or not");
	unknown(p, "lockdown, capabilities, tracefs, switches of kprobes and ftrace: pinwhy doctor on that node tells");
	unknown(p, "addresses, the shape of the memory map, and exposures of the node: the same");
}

/* --- output --------------------------------------------------------------------- */

static struct json_object *said_json(const char lines[][PLANNED_ERROR_MAX], uint32_t n)
{
	struct json_object *a = json_object_new_array();

	for (uint32_t i = 0; i < n; i++)
		json_object_array_add(a, json_object_new_string(lines[i]));
	return a;
}

static struct json_object *ways_json(const struct loader *l)
{
	struct json_object *a = json_object_new_array();
	struct way ways[WAYS];

	loader_ways(l, ways);
	for (int i = 0; i < WAYS; i++) {
		struct json_object *o = json_object_new_object();

		json_object_object_add(o, "id", json_object_new_string(ways[i].id));
		json_object_object_add(o, "question", json_object_new_string(ways[i].question));
		json_object_object_add(o, "answer", json_object_new_string(answer_name(ways[i].answer)));
		json_object_object_add(o, "consequence", json_object_new_string(ways[i].answer == ANSWER_NO ? ways[i].if_not : ""));
		json_object_array_add(a, o);
	}
	return a;
}

static void print_json(const struct plan *p)
{
	struct json_object *o = json_object_new_object(), *slots = json_object_new_array();
	struct kernel_facts kernel;

	if (p->loader)
		kfacts_kernel(planned_kfacts(p->kernel), &kernel);
	for (uint32_t i = 0; p->loader && i < loader_nslots(); i++) {
		struct slot_status st;

		loader_status(p->loader, i, &st);
		json_object_array_add(slots, doctor_slot_json(&st));
	}
	json_object_object_add(o, "verdict", json_object_new_string(verdict_words[p->verdict]));
	json_object_object_add(o, "plan", json_object_new_boolean(true));
	json_object_object_add(o, "btf", json_object_new_string(p->btf));
	json_object_object_add(o, "kallsyms", json_object_new_string(p->kallsyms));
	json_object_object_add(o, "agent_version", json_object_new_string(PINWHY_VERSION));
	json_object_object_add(o, "problems", said_json(p->problems, p->nproblems));
	json_object_object_add(o, "ways", p->loader ? ways_json(p->loader) : json_object_new_array());
	json_object_object_add(o, "support", p->loader ? doctor_support_json(&kernel) : json_object_new_array());
	json_object_object_add(o, "slots", slots);
	json_object_object_add(o, "not_known", said_json(p->unknown, p->nunknown));
	puts(json_object_to_json_string_ext(o, JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_NOSLASHESCAPE));
	json_object_put(o);
}

static void print_ways(const struct loader *l)
{
	struct way ways[WAYS];
	char text[512];

	loader_ways(l, ways);
	for (int i = 0; i < WAYS; i++) {
		bool no = ways[i].answer == ANSWER_NO;

		snprintf(text, sizeof(text), "%s: %s%s%s", ways[i].question, answer_name(ways[i].answer), no ? ": " : "", no ? ways[i].if_not : "");
		doctor_print_wrapped("  way", text);
	}
}

static void print_text(const struct plan *p)
{
	struct kernel_facts kernel;

	printf("pinwhy %s, planned for the kernel of %s and %s: %s\n", PINWHY_VERSION, p->btf, p->kallsyms, verdict_words[p->verdict]);
	for (uint32_t i = 0; i < p->nproblems; i++)
		doctor_print_wrapped("  problem", p->problems[i]);
	if (!p->loader)
		return;
	print_ways(p->loader);
	kfacts_kernel(planned_kfacts(p->kernel), &kernel);
	doctor_print_support(&kernel);
	for (uint32_t i = 0; i < loader_nslots(); i++) {
		struct slot_status st;

		loader_status(p->loader, i, &st);
		doctor_print_slot(&st);
	}
	for (uint32_t i = 0; i < p->nunknown; i++)
		doctor_print_wrapped("  not known", p->unknown[i]);
}

enum verdict doctor_plan(const struct doctor_options *options, const struct config *config)
{
	struct plan *p = calloc(1, sizeof(*p));
	struct loader_opts opts = doctor_loader_opts(config);
	enum verdict verdict;

	if (!p) {
		fputs("pinwhy doctor: out of memory\n", stderr);
		return CANNOT_RUN;
	}
	p->btf = options->btf ? options->btf : RUNNING_BTF;
	p->kallsyms = options->kallsyms ? options->kallsyms : RUNNING_KALLSYMS;
	if (!read_files(p, options)) {
		int err = loader_plan(&p->loader, p->kernel, &opts);

		if (err)
			problem(p, CANNOT_RUN, "cannot plan: %s", strerror(-err));
		else
			examine(p);
	}
	if (options->json)
		print_json(p);
	else
		print_text(p);
	loader_free(p->loader);
	planned_free(p->kernel);
	verdict = p->verdict;
	free(p);
	return verdict;
}
