// SPDX-License-Identifier: BSD-2-Clause
/*
 * pinwhy doctor: what this node supports, found out by attaching every hook for a
 * moment, and which of its settings make a failure possible.
 */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <json-c/json.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "enrich/enrich.h"
#include "loader.h"

enum verdict { FINE = 0, DEGRADED = 1, CANNOT_RUN = 2 };

static const char *const verdict_words[] = { "fine", "degraded", "cannot run" };

#define RING_BYTES 65536 /* nothing is read from it */
#define PROBLEMS_MAX 32

struct examination {
	struct kfacts *kf;
	struct loader *loader;
	struct identity id;
	struct facts facts;
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
	if (!loader_placement_known(x->loader, &why))
		problem(x, DEGRADED, "%s", why);
	if (!loader_pids_ours(&why))
		problem(x, DEGRADED, "%s", why);
	if (!loader_healthy(x->loader, &why))
		problem(x, DEGRADED, "%s", why);
}

/* Attaches everything for as long as it takes to look. */
static void examine(struct examination *x)
{
	struct loader_opts opts = { .ring_bytes = RING_BYTES };
	struct enrich enrich = enrich_system("");
	struct facts_request nobody = {};
	const char *why = "";
	int err;

	facts_unknown(&x->facts, FACT_NOT_ASKED);
	enrich_meminfo(&enrich, &nobody, &x->facts);
	enrich_zoneinfo(&enrich, &nobody, &x->facts);
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

/* --- exposures ------------------------------------------------------------------ */

struct exposure {
	const char *id;
	char what[256];
};

#define EXPOSURES_MAX 2

/* Bytes of ZONE_MOVABLE, all nodes. */
static uint64_t movable_bytes(void)
{
	FILE *f = fopen("/proc/zoneinfo", "re");
	uint64_t pages = 0, n;
	bool movable = false;
	char line[256], zone[32];

	while (f && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "Node %*d, zone %31s", zone) == 1)
			movable = !strcmp(zone, "Movable");
		else if (movable && sscanf(line, " managed %" SCNu64, &n) == 1)
			pages += n;
	}
	if (f)
		fclose(f);
	return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

static uint32_t exposures(const struct examination *x, struct exposure ret[EXPOSURES_MAX])
{
	uint64_t movable = movable_bytes();
	uint32_t n = 0;

	if (FACT_KNOWN(&x->facts, cma_total_bytes) && x->facts.cma_total_bytes) {
		ret[n].id = "cma_area";
		snprintf(ret[n++].what, sizeof(ret[0].what),
			 "%" PRIu64 " MiB of CMA: a page there that is held by an earlier reference cannot be moved out "
			 "for a long-term pin (cma=, hugetlb_cma=)", x->facts.cma_total_bytes >> 20);
	}
	if (movable) {
		ret[n].id = "movable_zone";
		snprintf(ret[n++].what, sizeof(ret[0].what),
			 "%" PRIu64 " MiB of ZONE_MOVABLE: a page there that is held by an earlier reference cannot be moved "
			 "out for a long-term pin (movablecore=, kernelcore=, memory onlined as movable)", movable >> 20);
	}
	return n;
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

static void print_json(const struct examination *x)
{
	struct json_object *o = json_object_new_object(), *slots = json_object_new_array();
	struct json_object *problems = json_object_new_array(), *exposed = json_object_new_array();
	struct exposure ex[EXPOSURES_MAX];
	uint32_t nex = exposures(x, ex);

	for (uint32_t i = 0; x->loader && i < loader_nslots(); i++) {
		struct slot_status st;

		loader_status(x->loader, i, &st);
		json_object_array_add(slots, slot_json(&st));
	}
	for (uint32_t i = 0; i < x->nproblems; i++)
		json_object_array_add(problems, json_object_new_string(x->problems[i]));
	for (uint32_t i = 0; i < nex; i++) {
		struct json_object *e = json_object_new_object();

		json_object_object_add(e, "id", json_object_new_string(ex[i].id));
		json_object_object_add(e, "what", json_object_new_string(ex[i].what));
		json_object_array_add(exposed, e);
	}
	json_object_object_add(o, "verdict", json_object_new_string(verdict_words[x->verdict]));
	json_object_object_add(o, "kernel", json_object_new_string(x->id.kernel));
	json_object_object_add(o, "agent_version", json_object_new_string(PINWHY_VERSION));
	json_object_object_add(o, "problems", problems);
	json_object_object_add(o, "slots", slots);
	json_object_object_add(o, "exposures", exposed);
	puts(json_object_to_json_string_ext(o, JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_NOSLASHESCAPE));
	json_object_put(o);
}

static void print_text(const struct examination *x)
{
	struct exposure ex[EXPOSURES_MAX];
	uint32_t nex = exposures(x, ex);

	printf("pinwhy %s on %s: %s\n", PINWHY_VERSION, x->id.kernel[0] ? x->id.kernel : "this kernel",
	       verdict_words[x->verdict]);
	for (uint32_t i = 0; i < x->nproblems; i++)
		printf("  problem   %s\n", x->problems[i]);
	for (uint32_t i = 0; i < nex; i++)
		printf("  exposure  %s\n", ex[i].what);
	if (!nex)
		printf("  exposure  none: no CMA area and no ZONE_MOVABLE on this node\n");
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
	"why, and which of its settings make a registration failure possible.\n"
	"  --json   as one JSON object\n"
	"  --help   this text\n"
	"Exit status: 0 fine, 1 degraded, 2 cannot run.\n";

int cmd_doctor(int argc, char **argv)
{
	static const struct option options[] = {
		{ "json", no_argument, NULL, 'j' }, { "help", no_argument, NULL, 'h' }, {}
	};
	static struct examination x;
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
	examine(&x);
	if (json)
		print_json(&x);
	else
		print_text(&x);
	loader_free(x.loader);
	kfacts_free(x.kf);
	return x.verdict;
}
