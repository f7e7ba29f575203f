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
#include "cli/doctor.h"
#include "enrich/enrich.h"
#include "exposures/exposures.h"
#include "exposures/read_node.h"
#include "loader.h"
#include "privileges.h"
#include "rdma_layout.h"

const char *const verdict_words[] = { "fine", "degraded", "cannot run" };

#define RING_BYTES 65536 /* nothing is read from it */
#define PROBLEMS_MAX 32
#define READ_DEADLINE_MS 10000 /* a second is plenty on a large node that is well */
#define COLUMNS 100
#define LABEL "            " /* as wide as what stands before every paragraph */

struct examination {
	struct kfacts *kf;
	struct loader *loader;
	struct identity id;
	struct kernel_facts kernel;	/* unknown until `loader` is there */
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

/* A vendor's RDMA core is watched as well as the kernel's own, if it says where its fields lie. */
static void examine_layout(struct examination *x)
{
	const struct layout_of *o;

	for (uint32_t i = 0; (o = loader_layout(x->loader, i)); i++)
		if (o->source == LAYOUT_NOT_READ)
			problem(x, DEGRADED, "%s: what only its structs tell (%s) is not in reports; build it with BTF (CONFIG_DEBUG_INFO_BTF, with "
				"vmlinux and pahole at hand)", o->why, i == LAYOUT_ib_core ? "the device, its driver and its limits" :
				"the command, and the device of one that failed before its memory was pinned");
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
	examine_layout(x);
	if (x->kernel.loops != ANSWER_NO && !loader_armed_possible(x->loader, &why)) /* else a row of support says it */
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
	node->pins_stay = kernel_pins_stay(&x->kernel);
	exposures_judge(node, &x->exposures);
	free(node);
}

/* Attaches everything for as long as it takes to look. */
static void examine_hooks(struct examination *x, const struct config *config, const char *pack)
{
	char error[BTFPACK_ERROR_MAX];
	struct loader_opts opts = doctor_loader_opts(config);
	const char *why = "";
	int err;

	err = kfacts_open_with(&x->kf, pack, error);
	if (err) {
		problem(x, CANNOT_RUN, "%s", error);
		return;
	}
	if (kfacts_pack(x->kf))
		problem(x, FINE, "this kernel shows no BTF, that of %s is used: no fentry and no BTF of modules, so that functions are hooked by name and "
			"what a verbs command asked for is known from the pin alone", pack);
	else if (*pack)
		problem(x, FINE, "this kernel has BTF of its own, so that %s is not used", pack);
	kfacts_names(x->kf, &x->id);
	err = loader_open(&x->loader, x->kf, &opts, &why);
	if (err) {
		problem(x, CANNOT_RUN, "%s", why);
		return;
	}
	kfacts_kernel(x->kf, &x->kernel);
	loader_attach(x->loader);
	if (kfacts_pack(x->kf) && kfacts_has_btf(x->kf) == ANSWER_NO)
		problem(x, DEGRADED, "this kernel was built without BTF, so that its verifier knows no types and may refuse programs for it");
	examine_slots(x);
}

/* --- output --------------------------------------------------------------------- */

struct json_object *doctor_slot_json(const struct slot_status *st)
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
	json_object_object_add(o, "by", json_object_new_string(st->by));
	json_object_object_add(o, "verified_insns", json_object_new_int64(st->verified_insns));
	json_object_object_add(o, "note", json_object_new_string(st->note));
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

struct json_object *doctor_support_json(const struct kernel_facts *kernel)
{
	struct json_object *a = json_object_new_array();
	struct support rows[SUPPORTS];

	kernel_support(kernel, rows);
	for (uint32_t i = 0; i < SUPPORTS; i++) {
		struct json_object *o = json_object_new_object();

		json_object_object_add(o, "id", json_object_new_string(rows[i].id));
		json_object_object_add(o, "question", json_object_new_string(rows[i].question));
		json_object_object_add(o, "answer", json_object_new_string(answer_name(rows[i].answer)));
		json_object_object_add(o, "how", json_object_new_string(rows[i].how));
		json_object_object_add(o, "consequence", json_object_new_string(rows[i].consequence));
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

static struct json_object *layouts_json(const struct examination *x)
{
	struct json_object *a = json_object_new_array();
	const struct layout_of *l;

	for (uint32_t i = 0; x->loader && (l = loader_layout(x->loader, i)); i++) {
		struct json_object *o = json_object_new_object();

		json_object_object_add(o, "module", json_object_new_string(l->module));
		json_object_object_add(o, "from", json_object_new_string(rdma_layout_word(l->source)));
		json_object_object_add(o, "out_of_tree", json_object_new_boolean(l->foreign));
		json_object_object_add(o, "fields_elsewhere", json_object_new_int((int)l->differ));
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
		json_object_array_add(slots, doctor_slot_json(&st));
	}
	for (uint32_t i = 0; i < x->nproblems; i++)
		json_object_array_add(problems, json_object_new_string(x->problems[i]));
	json_object_object_add(o, "verdict", json_object_new_string(verdict_words[x->verdict]));
	json_object_object_add(o, "kernel", json_object_new_string(x->id.kernel));
	json_object_object_add(o, "agent_version", json_object_new_string(PINWHY_VERSION));
	json_object_object_add(o, "problems", problems);
	json_object_object_add(o, "support", doctor_support_json(&x->kernel));
	json_object_object_add(o, "slots", slots);
	json_object_object_add(o, "rdma_structs", layouts_json(x));
	json_object_object_add(o, "exposures", exposures_json(&x->exposures));
	json_object_object_add(o, "not_checked", not_checked_json(&x->exposures));
	puts(json_object_to_json_string_ext(o, JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_NOSLASHESCAPE));
	json_object_put(o);
}

/* A word that is longer than a line stays whole. */
void doctor_print_wrapped(const char *label, const char *text)
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
		doctor_print_wrapped("  exposure", text);
		for (uint32_t k = 0; k < e->nevidence; k++)
			doctor_print_wrapped("    seen", e->evidence[k]);
		for (uint32_t k = 0; k < e->nremedies; k++)
			doctor_print_wrapped("    remedy", e->remedies[k]);
	}
	if (!any)
		doctor_print_wrapped("  exposure", ex->nnot_checked ? "none, as far as could be checked" : "none");
	for (uint32_t i = 0; i < ex->nnot_checked; i++) {
		snprintf(text, sizeof(text), "%s: %s", ex->not_checked[i].what, ex->not_checked[i].why);
		doctor_print_wrapped("  unchecked", text);
	}
}

void doctor_print_slot(const struct slot_status *st)
{
	char way[40];

	snprintf(way, sizeof(way), "%s%s%s", st->variant, *st->by ? "/" : "", st->by);
	printf("  hook      %-18s %-13s %-18s %s%s%s%s%s%s%s\n", st->name, slot_state_name(st->state), way, st->target,
	       st->module[0] ? " in " : "", st->module, st->reason[0] ? ": " : "", st->reason, st->note[0] ? "; " : "", st->note);
}

static void print_layouts(const struct examination *x)
{
	const struct layout_of *l;

	for (uint32_t i = 0; x->loader && (l = loader_layout(x->loader, i)); i++) {
		printf("  structs   %-18s %s%s%s", l->module, l->source == LAYOUT_OWN_BTF || l->source == LAYOUT_KERNEL_BTF ? "from " : "",
		       rdma_layout_word(l->source), l->foreign ? ", out of tree" : "");
		if (l->differ)
			printf(", %u fields lie elsewhere than in the kernel's BTF", l->differ);
		putchar('\n');
	}
}

void doctor_print_support(const struct kernel_facts *kernel)
{
	struct support rows[SUPPORTS];
	char text[512];

	kernel_support(kernel, rows);
	for (uint32_t i = 0; i < SUPPORTS; i++) {
		snprintf(text, sizeof(text), "%s: %s (%s)%s%s", rows[i].question, answer_name(rows[i].answer), rows[i].how,
			 *rows[i].consequence ? ": " : "", rows[i].consequence);
		doctor_print_wrapped("  support", text);
	}
}

static void print_text(const struct examination *x)
{
	printf("pinwhy %s on %s: %s\n", PINWHY_VERSION, x->id.kernel[0] ? x->id.kernel : "this kernel",
	       verdict_words[x->verdict]);
	for (uint32_t i = 0; i < x->nproblems; i++)
		printf("  problem   %s\n", x->problems[i]);
	doctor_print_support(&x->kernel);
	print_exposures(&x->exposures);
	print_layouts(x);
	for (uint32_t i = 0; x->loader && i < loader_nslots(); i++) {
		struct slot_status st;

		loader_status(x->loader, i, &st);
		doctor_print_slot(&st);
	}
}

static const char usage[] =
	"Usage: pinwhy doctor [-c FILE] [--btf PACK] [--json]\n"
	"       pinwhy doctor --plan [--btf FILE --kallsyms FILE [--module-btf PATH]...] [-c FILE] [--json]\n"
	"Attaches every hook for a moment and says what this node supports, what is missing and\n"
	"why, and which of its settings make a registration failure possible, with the numbers seen\n"
	"and what to change. What could not be looked at is named.\n"
	"  --plan             says how hooks would be attached to a kernel, loading nothing: to this one,\n"
	"                     or to one that does not run here, of which these are copies:\n"
	"  --btf FILE         /sys/kernel/btf/vmlinux, or vmlinux itself\n"
	"  --kallsyms FILE    /proc/kallsyms, copied as root while the RDMA modules were loaded\n"
	"  --module-btf PATH  /sys/kernel/btf/MODULE, or a folder of those: for modules that were not\n"
	"  --btf PACK         without --plan: this kernel's BTF, which it does not show (packaging/btf-pack)\n"
	"  -c FILE            a configuration file whose [attach] and [hooks] count\n"
	"  --json             as one JSON object\n"
	"  --help             this text\n"
	"Exit status, of the hooks alone: 0 fine, 1 degraded, 2 cannot run, or a file that cannot be used.\n";

/* -1: go on; else the exit status. */
static int parse(int argc, char **argv, struct doctor_options *o)
{
	enum { PLAN = 256, BTF, KALLSYMS, MODULE_BTF };
	static const struct option options[] = {
		{ "json", no_argument, NULL, 'j' }, { "help", no_argument, NULL, 'h' }, { "plan", no_argument, NULL, PLAN },
		{ "btf", required_argument, NULL, BTF }, { "kallsyms", required_argument, NULL, KALLSYMS },
		{ "module-btf", required_argument, NULL, MODULE_BTF }, { "config", required_argument, NULL, 'c' }, {}
	};
	int c;

	while ((c = getopt_long(argc, argv, "jhc:", options, NULL)) != -1) {
		switch (c) {
		case 'h':
			return fputs(usage, stdout) == EOF;
		case 'j': o->json = true; break;
		case 'c': o->config = optarg; break;
		case PLAN: o->plan = true; break;
		case BTF: o->btf = optarg; break;
		case KALLSYMS: o->kallsyms = optarg; break;
		case MODULE_BTF:
			if (o->nmodule_btf < MODULE_BTF_MAX) {
				o->module_btf[o->nmodule_btf++] = optarg;
				break;
			}
			fprintf(stderr, "pinwhy doctor: more than %d times --module-btf: name the folder that has them all\n", MODULE_BTF_MAX);
			return CANNOT_RUN;
		default:
			fputs(usage, stderr);
			return CANNOT_RUN;
		}
	}
	if (optind < argc) {
		fprintf(stderr, "pinwhy doctor: unexpected argument '%s'\n%s", argv[optind], usage);
		return CANNOT_RUN;
	}
	if (!o->plan && (o->kallsyms || o->nmodule_btf)) {
		fputs("pinwhy doctor: --kallsyms and --module-btf are of --plan\n", stderr);
		return CANNOT_RUN;
	}
	if (o->plan && !o->btf != !o->kallsyms) {
		fputs("pinwhy doctor: --btf and --kallsyms belong together: both of one kernel, or neither for this one\n", stderr);
		return CANNOT_RUN;
	}
	return -1;
}

struct loader_opts doctor_loader_opts(const struct config *config)
{
	return (struct loader_opts){
		.modes = config->hooks, .ring_bytes = RING_BYTES, .avoid = config->avoid, .driver_function = config->driver_function,
	};
}

/* The hooks of this node, and the node itself. */
static enum verdict examine(const struct config *config, const char *pack, bool json)
{
	struct examination *x = calloc(1, sizeof(*x)); /* not static: `run` keeps all of its own memory resident */
	enum verdict verdict;

	if (!x) {
		fputs("pinwhy doctor: out of memory\n", stderr);
		return CANNOT_RUN;
	}
	x->kernel = (struct kernel_facts){ ANSWER_UNKNOWN, ANSWER_UNKNOWN, ANSWER_UNKNOWN, ANSWER_UNKNOWN };
	examine_hooks(x, config, pack);
	examine_node(x);
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

int cmd_doctor(int argc, char **argv)
{
	struct doctor_options options = {};
	char error[CONFIG_ERROR_MAX];
	struct config *config;
	int status = parse(argc, argv, &options);

	if (status >= 0)
		return status;
	config = malloc(sizeof(*config));
	if (!config) {
		fputs("pinwhy doctor: out of memory\n", stderr);
		return CANNOT_RUN;
	}
	config_defaults(config);
	if (options.config && config_load(config, options.config, error)) {
		fprintf(stderr, "pinwhy doctor: %s\n", error);
		status = CANNOT_RUN;
	} else {
		status = (int)(options.plan ? doctor_plan(&options, config) : examine(config, options.btf ? options.btf : config->btf, options.json));
	}
	free(config);
	return status;
}
