// SPDX-License-Identifier: BSD-2-Clause
/*
 * pinwhy doctor: what this node supports, found out by attaching every hook for a
 * moment, and which of its settings make a failure possible.
 */
#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <json-c/json.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "cli/cli.h"
#include "enrich/enrich.h"
#include "exposures/exposures.h"
#include "exposures/read_node.h"
#include "loader.h"
#include "privileges.h"

enum verdict { FINE = 0, DEGRADED = 1, CANNOT_RUN = 2 };

static const char *const verdict_words[] = { "fine", "degraded", "cannot run" };

#define RING_BYTES 65536 /* nothing is read from it */
#define PROBLEMS_MAX 32
#define READ_DEADLINE_MS 10000 /* a second is plenty on a large node that is well */
#define COLUMNS 100
#define LABEL "            " /* as wide as what stands before every paragraph */

struct examination {
	struct kfacts *kf;
	struct loader *loader;
	struct identity id;
	struct exposures exposures;
	enum verdict verdict;
	char problems[PROBLEMS_MAX][512];
	uint32_t nproblems;
};

static void problem(struct examination *x, enum verdict v, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
static void problem(struct examination *x, enum verdict v, const char *fmt, ...)
{
	va_list args;

	if (v > x->verdict)
		x->verdict = v;
	if (x->nproblems == PROBLEMS_MAX)
		return;
	va_start(args, fmt);
	vsnprintf(x->problems[x->nproblems++], sizeof(x->problems[0]), fmt, args);
	va_end(args);
}

static void examine_slots(struct examination *x)
{
	const char *why;

	if (!loader_allowed(x->loader, &why)) {
		problem(x, CANNOT_RUN, "%s", why);
		return;
	}
	for (uint32_t i = 0; i < loader_nslots(); i++) {
		struct slot_status st;

		loader_status(x->loader, i, &st);
		if (st.expected && st.state == SLOT_ABSENT)
			continue; /* its module may not be loaded; told in the list */
		if (st.expected && st.state < SLOT_ATTACHED)
			problem(x, DEGRADED, "hook %s (%s): %s", st.name, st.purpose, st.reason);
	}
	if (!loader_armed_possible(x->loader, &why))
		problem(x, FINE, "%s: who pinned a page is not told of armed processes ([watch] arm_seconds)", why);
	if (access("/sys/kernel/tracing/events", F_OK) && access("/sys/kernel/debug/tracing/events", F_OK))
		problem(x, DEGRADED, "tracefs is not mounted, so that tracepoints cannot be attached and return probes have few "
			"instances: mount -t tracefs tracefs /sys/kernel/tracing");
	if (!loader_placement_known(x->loader, &why))
		problem(x, DEGRADED, "%s", why);
	if (!loader_pids_ours(&why))
		problem(x, DEGRADED, "%s", why);
	if (!loader_healthy(x->loader, &why))
		problem(x, DEGRADED, "%s", why);
}

/* What loading needs is told by its failure. The last two are for when memory is short: nothing of them shows now. */
static void examine_privileges(struct examination *x)
{
	uint64_t effective = privileges_effective();
	const char *why;

	if (!x->loader || !loader_allowed(x->loader, &why))
		return;
	for (uint32_t i = 0; i < ncapabilities; i++) {
		const struct capability *c = &capabilities[i];
		char name[32];

		if (!capability_missing(c, effective))
			continue;
		snprintf(name, sizeof(name), "cap_%s", c->name);
		for (char *p = name; *p; p++)
			*p = (char)toupper((unsigned char)*p);
		problem(x, i + 2 < ncapabilities ? DEGRADED : FINE, "%s is missing: %s", name, c->lost);
	}
}

/* Settings of the node are no fault of its hooks: they do not change the verdict. */
static void examine_node(struct examination *x)
{
	struct enrich enrich = enrich_system("");
	struct node *node = calloc(1, sizeof(*node));
	struct utsname uts;

	if (!node) {
		problem(x, CANNOT_RUN, "no memory to look at the node");
		return;
	}
	uname(&uts);
	node_read_within(&enrich, uts.machine, READ_DEADLINE_MS, node);
	exposures_judge(node, &x->exposures);
	free(node);
}

/* Attaches everything for as long as it takes to look. */
static void examine_hooks(struct examination *x)
{
	struct loader_opts opts = { .ring_bytes = RING_BYTES };
	const char *why = "";
	int err;

	err = kfacts_open(&x->kf);
	if (err) {
		problem(x, CANNOT_RUN, "this kernel has no BTF (/sys/kernel/btf/vmlinux: %s): it must be built with "
			"CONFIG_DEBUG_INFO_BTF=y", strerror(-err));
		return;
	}
	kfacts_names(x->kf, &x->id);
	err = loader_open(&x->loader, x->kf, &opts, &why);
	if (err) {
		problem(x, CANNOT_RUN, "%s", why);
		return;
	}
	loader_attach(x->loader);
	examine_slots(x);
}

/* --- output --------------------------------------------------------------------- */

static struct json_object *slot_json(const struct slot_status *st)
{
	struct json_object *o = json_object_new_object();

	json_object_object_add(o, "name", json_object_new_string(st->name));
	json_object_object_add(o, "object", json_object_new_string(st->object));
	json_object_object_add(o, "state", json_object_new_string(slot_state_name(st->state)));
	json_object_object_add(o, "expected", json_object_new_boolean(st->expected));
	json_object_object_add(o, "on_demand", json_object_new_boolean(st->on_demand));
	json_object_object_add(o, "variant", json_object_new_string(st->variant));
	json_object_object_add(o, "target", json_object_new_string(st->target));
	json_object_object_add(o, "module", json_object_new_string(st->module));
	json_object_object_add(o, "rate", json_object_new_string(st->rate));
	json_object_object_add(o, "purpose", json_object_new_string(st->purpose));
	json_object_object_add(o, "reason", json_object_new_string(st->reason));
	return o;
}

static struct json_object *lines_json(const char lines[][EXPOSURE_TEXT], uint32_t n)
{
	struct json_object *a = json_object_new_array();

	for (uint32_t i = 0; i < n; i++)
		json_object_array_add(a, json_object_new_string(lines[i]));
	return a;
}

static struct json_object *exposures_json(const struct exposures *ex)
{
	struct json_object *a = json_object_new_array();

	for (uint32_t i = 0; i < EXPOSURES_MAX; i++) {
		const struct exposure *e = &ex->rows[i];
		struct json_object *o;

		if (e->severity == SEVERITY_NONE)
			continue;
		o = json_object_new_object();
		json_object_object_add(o, "id", json_object_new_string(e->id));
		json_object_object_add(o, "severity", json_object_new_string(severity_name(e->severity)));
		json_object_object_add(o, "what", json_object_new_string(e->what));
		json_object_object_add(o, "evidence", lines_json(e->evidence, e->nevidence));
		json_object_object_add(o, "remedies", lines_json(e->remedies, e->nremedies));
		json_object_array_add(a, o);
	}
	return a;
}

static struct json_object *not_checked_json(const struct exposures *ex)
{
	struct json_object *a = json_object_new_array();

	for (uint32_t i = 0; i < ex->nnot_checked; i++) {
		struct json_object *o = json_object_new_object();

		json_object_object_add(o, "what", json_object_new_string(ex->not_checked[i].what));
		json_object_object_add(o, "why", json_object_new_string(ex->not_checked[i].why));
		json_object_array_add(a, o);
	}
	return a;
}

static void print_json(const struct examination *x)
{
	struct json_object *o = json_object_new_object(), *slots = json_object_new_array();
	struct json_object *problems = json_object_new_array();

	for (uint32_t i = 0; x->loader && i < loader_nslots(); i++) {
		struct slot_status st;

		loader_status(x->loader, i, &st);
		json_object_array_add(slots, slot_json(&st));
	}
	for (uint32_t i = 0; i < x->nproblems; i++)
		json_object_array_add(problems, json_object_new_string(x->problems[i]));
	json_object_object_add(o, "verdict", json_object_new_string(verdict_words[x->verdict]));
	json_object_object_add(o, "kernel", json_object_new_string(x->id.kernel));
	json_object_object_add(o, "agent_version", json_object_new_string(PINWHY_VERSION));
	json_object_object_add(o, "problems", problems);
	json_object_object_add(o, "slots", slots);
	json_object_object_add(o, "exposures", exposures_json(&x->exposures));
	json_object_object_add(o, "not_checked", not_checked_json(&x->exposures));
	puts(json_object_to_json_string_ext(o, JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_NOSLASHESCAPE));
	json_object_put(o);
}

/* A paragraph behind its label, broken at blanks. A word that is longer than a line stays whole. */
static void print_wrapped(const char *label, const char *text)
{
	size_t column = strlen(LABEL);

	printf("%-*s", (int)column, label);
	while (*text) {
		size_t len = strcspn(text, " ");

		if (column > strlen(LABEL) && column + 1 + len > COLUMNS) {
			printf("\n" LABEL);
			column = strlen(LABEL);
		} else if (column > strlen(LABEL)) {
			putchar(' ');
			column++;
		}
		printf("%.*s", (int)len, text);
		column += len;
		text += len;
		text += strspn(text, " ");
	}
	putchar('\n');
}

static void print_exposures(const struct exposures *ex)
{
	char text[EXPOSURE_TEXT + 64];
	bool any = false;

	for (uint32_t i = 0; i < EXPOSURES_MAX; i++) {
		const struct exposure *e = &ex->rows[i];

		if (e->severity == SEVERITY_NONE)
			continue;
		any = true;
		snprintf(text, sizeof(text), "%s (%s): %s", e->id, severity_name(e->severity), e->what);
		print_wrapped("  exposure", text);
		for (uint32_t k = 0; k < e->nevidence; k++)
			print_wrapped("    seen", e->evidence[k]);
		for (uint32_t k = 0; k < e->nremedies; k++)
			print_wrapped("    remedy", e->remedies[k]);
	}
	if (!any)
		print_wrapped("  exposure", ex->nnot_checked ? "none, as far as could be checked" : "none");
	for (uint32_t i = 0; i < ex->nnot_checked; i++) {
		snprintf(text, sizeof(text), "%s: %s", ex->not_checked[i].what, ex->not_checked[i].why);
		print_wrapped("  unchecked", text);
	}
}

static void print_text(const struct examination *x)
{
	printf("pinwhy %s on %s: %s\n", PINWHY_VERSION, x->id.kernel[0] ? x->id.kernel : "this kernel",
	       verdict_words[x->verdict]);
	for (uint32_t i = 0; i < x->nproblems; i++)
		printf("  problem   %s\n", x->problems[i]);
	print_exposures(&x->exposures);
	for (uint32_t i = 0; x->loader && i < loader_nslots(); i++) {
		struct slot_status st;

		loader_status(x->loader, i, &st);
		printf("  hook      %-18s %-13s %-12s %s%s%s%s%s\n", st.name, slot_state_name(st.state), st.variant,
		       st.target, st.module[0] ? " in " : "", st.module, st.reason[0] ? ": " : "", st.reason);
	}
}

static const char usage[] =
	"Usage: pinwhy doctor [--json]\n"
	"Attaches every hook for a moment and says what this node supports, what is missing and\n"
	"why, and which of its settings make a registration failure possible, with the numbers seen\n"
	"and what to change. What could not be looked at is named.\n"
	"  --json   as one JSON object\n"
	"  --help   this text\n"
	"Exit status, of the hooks alone: 0 fine, 1 degraded, 2 cannot run.\n";

int cmd_doctor(int argc, char **argv)
{
	static const struct option options[] = {
		{ "json", no_argument, NULL, 'j' }, { "help", no_argument, NULL, 'h' }, {}
	};
	struct examination *x; /* not static: `run` keeps all of its own memory resident */
	enum verdict verdict;
	bool json = false;
	int c;

	while ((c = getopt_long(argc, argv, "jh", options, NULL)) != -1) {
		if (c == 'h')
			return fputs(usage, stdout) == EOF;
		if (c != 'j') {
			fputs(usage, stderr);
			return CANNOT_RUN;
		}
		json = true;
	}
	if (optind < argc) {
		fprintf(stderr, "pinwhy doctor: unexpected argument '%s'\n%s", argv[optind], usage);
		return CANNOT_RUN;
	}
	x = calloc(1, sizeof(*x));
	if (!x) {
		fputs("pinwhy doctor: out of memory\n", stderr);
		return CANNOT_RUN;
	}
	examine_node(x);
	examine_hooks(x);
	examine_privileges(x);
	if (json)
		print_json(x);
	else
		print_text(x);
	loader_free(x->loader);
	kfacts_free(x->kf);
	verdict = x->verdict;
	free(x);
	return verdict;
}
