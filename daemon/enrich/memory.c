// SPDX-License-Identifier: BSD-2-Clause
/* How much memory the node has, and how much of it a long-term pin could use. */
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "enrich/enrich.h"
#include "enrich/read.h"
#include "text.h"

#define NODES_MAX 1023	/* CONFIG_NODES_SHIFT is at most 10 */

void enrich_meminfo(const struct enrich *e, const struct facts_request *req, struct facts *f)
{
	const struct {
		const char *name;
		uint64_t *value;
		int32_t *err;
	} rows[] = {
		{ "MemTotal", &f->mem_total_bytes, &f->err[FACT_mem_total_bytes] },
		{ "MemFree", &f->mem_free_bytes, &f->err[FACT_mem_free_bytes] },
		{ "MemAvailable", &f->mem_available_bytes, &f->err[FACT_mem_available_bytes] },
		{ "CmaTotal", &f->cma_total_bytes, &f->err[FACT_cma_total_bytes] },
		{ "CmaFree", &f->cma_free_bytes, &f->err[FACT_cma_free_bytes] },
	};
	const size_t nrows = sizeof(rows) / sizeof(rows[0]);
	char line[256];
	FILE *in;
	int err;

	(void)req;
	err = read_open(e->root, "/proc/meminfo", &in);
	/* A line that is missing is a fact too: without CONFIG_CMA there is no CmaTotal. */
	for (size_t i = 0; i < nrows; i++)
		*rows[i].err = err ? err : FACT_NONE;
	if (err)
		return;
	while (fgets(line, sizeof(line), in)) {
		for (size_t i = 0; i < nrows; i++) {
			int r = read_kb_line(line, rows[i].name, rows[i].value);

			if (r != -ENOENT)
				*rows[i].err = r;
		}
	}
	fclose(in);
}

struct zone {
	bool counts;		/* a zone that ordinary kernel allocations use */
	uint64_t free_pages, cma_pages;
};

static uint64_t zone_free_outside(const struct zone *z)
{
	return z->counts && z->free_pages > z->cma_pages ? z->free_pages - z->cma_pages : 0;
}

/* "Node 0, zone   Normal": true, and `z` is new. */
static bool begin_zone(const char *line, struct zone *z)
{
	char name[32];

	if (sscanf(line, "Node %*u, zone %31s", name) != 1)
		return false;
	*z = (struct zone){ .counts = strcmp(name, "Movable") != 0 && strcmp(name, "Device") != 0 };
	return true;
}

/* "      nr_free_pages 3977" */
static void read_counter(const char *line, const char *name, uint64_t *value)
{
	size_t len = strlen(name);

	line += strspn(line, " ");
	if (strncmp(line, name, len) == 0 && line[len] == ' ')
		read_number(line + len, value);
}

/* Long-term pins may not stay in ZONE_MOVABLE or CMA: what is free elsewhere is where they can go. */
void enrich_zoneinfo(const struct enrich *e, const struct facts_request *req, struct facts *f)
{
	struct zone z = { 0 };
	uint64_t pages = 0;
	bool any = false;
	char line[512];
	FILE *in;
	int err;

	(void)req;
	err = read_open(e->root, "/proc/zoneinfo", &in);
	if (err) {
		ENRICH_FAIL(f, free_outside_bytes, err);
		return;
	}
	while (fgets(line, sizeof(line), in)) {
		uint64_t before = zone_free_outside(&z);

		if (begin_zone(line, &z)) {
			pages += before;
			any = true;
			continue;
		}
		read_counter(line, "nr_free_pages", &z.free_pages);
		read_counter(line, "nr_free_cma", &z.cma_pages);
	}
	pages += zone_free_outside(&z);
	fclose(in);
	if (any)
		ENRICH_SET(f, free_outside_bytes, pages * e->page_bytes);
	else
		ENRICH_FAIL(f, free_outside_bytes, -EBADMSG);
}

/* -ENOENT when `node` has no memory of its own, or has gone. */
static int read_node_free(const struct enrich *e, unsigned int node, uint64_t *ret_bytes)
{
	char path[64], prefix[32], line[256];
	int err, found = -ENOENT;
	size_t len;
	FILE *in;

	snprintf(path, sizeof(path), "/sys/devices/system/node/node%u/meminfo", node);
	err = read_open(e->root, path, &in);
	if (err)
		return err;
	/* "Node 0 MemFree:        123 kB" */
	len = (size_t)snprintf(prefix, sizeof(prefix), "Node %u ", node);
	while (found == -ENOENT && fgets(line, sizeof(line), in))
		if (strncmp(line, prefix, len) == 0)
			found = read_kb_line(line + len, "MemFree", ret_bytes);
	fclose(in);
	return found;
}

/* Adds what the nodes `first` to `last` have free. What does not fit is left out whole. */
static int add_nodes(const struct enrich *e, unsigned int first, unsigned int last, struct text *t)
{
	uint64_t bytes;
	char item[48];
	int err;

	for (unsigned int node = first; node <= last; node++) {
		err = read_node_free(e, node, &bytes);
		if (err == -ENOENT)
			continue;
		if (err)
			return err;
		snprintf(item, sizeof(item), "%u: %" PRIu64, node, bytes);
		if (t->len + strlen(item) + 3 > t->size)
			return 0;
		text_item(t, item);
	}
	return 0;
}

/* "0-1,3": the next range, and where the rest begins. */
static int next_range(const char **text, unsigned int *ret_first, unsigned int *ret_last)
{
	unsigned long first, last;
	char *end;

	if (**text < '0' || **text > '9')
		return -EBADMSG;
	first = last = strtoul(*text, &end, 10);
	if (*end == '-')
		last = strtoul(end + 1, &end, 10);
	if (last < first || last > NODES_MAX || (*end && *end != ','))
		return -EBADMSG;
	*text = end + (*end == ',');
	*ret_first = (unsigned int)first;
	*ret_last = (unsigned int)last;
	return 0;
}

void enrich_node_free(const struct enrich *e, const struct facts_request *req, struct facts *f)
{
	char list[256] = "";
	const char *p = list;
	unsigned int first, last;
	struct text t;
	FILE *in;
	int err;

	(void)req;
	text_init(&t, f->node_free, sizeof(f->node_free));
	err = read_open(e->root, "/sys/devices/system/node/online", &in);
	if (!err) {
		err = read_first_line(in, list, sizeof(list));
		fclose(in);
	}
	while (!err && *p) {
		err = next_range(&p, &first, &last);
		if (!err)
			err = add_nodes(e, first, last, &t);
	}
	/* A kernel without NUMA has no such folder. */
	if (err == -ENOENT || (!err && !t.len))
		err = FACT_NONE;
	ENRICH_FAIL(f, node_free, err);
}
