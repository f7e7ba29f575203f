// SPDX-License-Identifier: BSD-2-Clause
/* What the kernel says of its memory: CMA, zones, blocks, pools. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "enrich/read.h"
#include "exposures/read_node.h"

int32_t read_cmdline(const struct enrich *e, struct node *n)
{
	return node_line(e, "/proc/cmdline", n->cmdline, sizeof(n->cmdline));
}

/* Without CONFIG_CMA the two lines are missing: nothing is CMA then. */
int32_t read_meminfo(const struct enrich *e, struct node *n)
{
	int total = -ENOENT, used = -ENOENT;
	char line[256];
	FILE *in;
	int err = read_open(e->root, "/proc/meminfo", &in);

	if (err)
		return err;
	while (fgets(line, sizeof(line), in)) {
		if (total == -ENOENT)
			total = read_kb_line(line, "CmaTotal", &n->cma_total_bytes);
		if (used == -ENOENT)
			used = read_kb_line(line, "CmaFree", &n->cma_free_bytes);
	}
	fclose(in);
	if ((total && total != -ENOENT) || (used && used != -ENOENT))
		return -EBADMSG;
	n->has_cma = total == 0;
	return 0;
}

/* --- zones -------------------------------------------------------------------------- */

/* "      nr_free_pages 3977", "        managed  3840". */
static bool zone_value(const char *line, const char *name, uint64_t *ret)
{
	size_t len = strlen(name);

	line += strspn(line, " ");
	return strncmp(line, name, len) == 0 && line[len] == ' ' && read_number(line + len, ret) == 0;
}

static struct node_zone *begin_zone(struct node *n, const char *name, uint32_t number)
{
	struct node_zone *z;

	if (n->nzones == NODE_ZONES_MAX) {
		n->zones_left_out++;
		return NULL;
	}
	z = &n->zones[n->nzones++];
	z->node = number;
	snprintf(z->name, sizeof(z->name), "%s", name);
	return z;
}

int32_t read_zoneinfo(const struct enrich *e, struct node *n)
{
	struct node_zone *z = NULL;
	char line[512], name[16];
	unsigned int number;
	FILE *in;
	int err = read_open(e->root, "/proc/zoneinfo", &in);

	if (err)
		return err;
	while (fgets(line, sizeof(line), in)) {
		if (sscanf(line, "Node %u, zone %15s", &number, name) == 2) {
			z = begin_zone(n, name, number);
			continue;
		}
		if (!z)
			continue;
		zone_value(line, "present", &z->present_pages);
		zone_value(line, "managed", &z->managed_pages);
		zone_value(line, "nr_free_pages", &z->free_pages);
		zone_value(line, "nr_free_cma", &z->free_cma_pages);
		if (zone_value(line, "cma", &z->cma_pages))
			n->zones_tell_cma = true;
	}
	fclose(in);
	if (n->zones_left_out)
		return -E2BIG;
	return n->nzones ? 0 : -EBADMSG;
}

/* --- CMA ---------------------------------------------------------------------------- */

int32_t read_cma_areas(const struct enrich *e, struct node *n)
{
	struct dirent *d;
	DIR *dir;
	int err = node_dir(e, "/sys/kernel/mm/cma", &dir);

	if (err)
		return absent_is_fine(err);
	while ((d = node_entry(dir))) {
		struct node_area *a;
		char path[320];

		if (n->nareas == NODE_AREAS_MAX) {
			n->areas_left_out++;
			continue;
		}
		a = &n->areas[n->nareas++];
		snprintf(a->name, sizeof(a->name), "%.63s", d->d_name);
		snprintf(path, sizeof(path), "/sys/kernel/mm/cma/%s/total_pages", d->d_name);
		a->has_total = node_number(e, path, &a->total_pages) == 0;
	}
	closedir(dir);
	return 0;
}

/* More than any machine has lines; a bound all the same. */
#define PAGETYPE_LINES_MAX 65536

/* "Number of blocks type     Unmovable      Movable          CMA": the place of CMA among the numbers, -1 = none. */
static int cma_column(char *line)
{
	char *save, *word = strtok_r(line, " \n", &save);
	int column = -4; /* four words come first */

	for (; word; word = strtok_r(NULL, " \n", &save), column++)
		if (strcmp(word, "CMA") == 0)
			return column;
	return -1;
}

/* "Node 0, zone   Normal            1            7            0". */
static uint64_t cma_number(char *line, int column)
{
	char *save, *word = strtok_r(line, " \n", &save);
	uint64_t value = 0;
	int i = -4;

	for (; word; word = strtok_r(NULL, " \n", &save), i++)
		if (i == column)
			return read_number(word, &value) == 0 ? value : 0;
	return 0;
}

static bool no_cma(const struct node *n)
{
	if (n->err[NODE_meminfo] == 0 && !n->has_cma)
		return true;
	if (n->err[NODE_zoneinfo] || !n->zones_tell_cma)
		return false;
	for (uint32_t i = 0; i < n->nzones; i++)
		if (n->zones[i].cma_pages || n->zones[i].free_cma_pages)
			return false;
	return true;
}

/*
 * Printing this file walks the free lists with the zone's lock held, at most 100000 entries of each
 * by the kernel's own limit. For one command that a person starts this is acceptable, for a daemon it
 * would not be; a node whose zones have no CMA pages is spared it.
 */
int32_t read_pageblocks(const struct enrich *e, struct node *n)
{
	int column = -1, err, lines = 0;
	bool counting = false;
	char line[1024];
	FILE *in;

	if (no_cma(n))
		return NODE_ABSENT;
	err = read_open(e->root, "/proc/pagetypeinfo", &in);
	if (err)
		return absent_is_fine(err);
	while (lines++ < PAGETYPE_LINES_MAX && fgets(line, sizeof(line), in)) {
		if (strncmp(line, "Pages per block:", 16) == 0) {
			read_number(line + 16, &n->pageblock_pages);
		} else if (strncmp(line, "Number of blocks type", 21) == 0) {
			counting = true;
			column = cma_column(line);
		} else if (strncmp(line, "Number of", 9) == 0) {
			counting = false; /* "mixed blocks", with CONFIG_PAGE_OWNER */
		} else if (counting && column >= 0 && strncmp(line, "Node ", 5) == 0) {
			n->cma_pageblocks += cma_number(line, column);
		}
	}
	fclose(in);
	return column >= 0 && n->pageblock_pages ? 0 : -EBADMSG;
}

/* One size per line, in hexadecimal. */
int32_t read_kho(const struct enrich *e, struct node *n)
{
	char line[64];
	FILE *in;
	int err = read_open(e->root, "/sys/kernel/debug/kho/out/scratch_len", &in);

	if (err)
		return node_debugfs(e, err);
	while (fgets(line, sizeof(line), in))
		n->kho_scratch_bytes += strtoull(line, NULL, 0);
	fclose(in);
	return 0;
}

/* --- memory blocks -------------------------------------------------------------------- */

#define MEMORY "/sys/devices/system/memory"

static bool online_as_movable(const struct enrich *e, const char *block)
{
	char path[320], text[64];

	snprintf(path, sizeof(path), MEMORY "/%s/state", block);
	if (node_line(e, path, text, sizeof(text)) || strcmp(text, "online") != 0)
		return false;
	/* Of a block that is online: the zone it is in; "none" when it spans several. */
	snprintf(path, sizeof(path), MEMORY "/%s/valid_zones", block);
	return node_line(e, path, text, sizeof(text)) == 0 && strcmp(text, "Movable") == 0;
}

static bool any_movable_zone(const struct node *n)
{
	for (uint32_t i = 0; i < n->nzones; i++)
		if (strcmp(n->zones[i].name, "Movable") == 0 && n->zones[i].managed_pages)
			return true;
	return false;
}

int32_t read_memory_blocks(const struct enrich *e, struct node *n)
{
	struct dirent *d;
	char text[64];
	DIR *dir;
	int err;

	/* There may be tens of thousands of blocks. */
	if (!n->err[NODE_zoneinfo] && !any_movable_zone(n))
		return NODE_ABSENT;
	err = node_line(e, MEMORY "/block_size_bytes", text, sizeof(text));
	if (err)
		return absent_is_fine(err);
	n->block_bytes = strtoull(text, NULL, 16);
	err = node_dir(e, MEMORY, &dir);
	if (err)
		return err;
	while ((d = node_entry(dir)))
		if (strncmp(d->d_name, "memory", 6) == 0 && d->d_name[6] >= '0' && d->d_name[6] <= '9')
			n->movable_blocks += online_as_movable(e, d->d_name);
	closedir(dir);
	return 0;
}

int32_t read_hotplug(const struct enrich *e, struct node *n)
{
	int err = node_line(e, MEMORY "/auto_online_blocks", n->auto_online, sizeof(n->auto_online));
	int policy = node_line(e, "/sys/module/memory_hotplug/parameters/online_policy", n->online_policy,
			       sizeof(n->online_policy));

	if (policy && policy != -ENOENT)
		return policy;
	return absent_is_fine(err);
}

/* --- huge pages ------------------------------------------------------------------------- */

static int pool_number(const struct enrich *e, const char *pool, const char *name, uint64_t *ret)
{
	char path[320];

	snprintf(path, sizeof(path), "/sys/kernel/mm/hugepages/%s/%s", pool, name);
	return node_number(e, path, ret);
}

static int read_pool(const struct enrich *e, const char *pool, struct node_pool *p)
{
	int err;

	if (sscanf(pool, "hugepages-%" SCNu64 "kB", &p->page_kib) != 1)
		return -EBADMSG;
	err = pool_number(e, pool, "nr_hugepages", &p->pages);
	if (!err)
		err = pool_number(e, pool, "free_hugepages", &p->free_pages);
	if (!err)
		err = pool_number(e, pool, "nr_overcommit_hugepages", &p->overcommit_pages);
	return err;
}

int32_t read_hugetlb(const struct enrich *e, struct node *n)
{
	struct dirent *d;
	DIR *dir;
	int err = node_dir(e, "/sys/kernel/mm/hugepages", &dir);

	if (err)
		return absent_is_fine(err);
	while (!err && n->npools < NODE_POOLS_MAX && (d = node_entry(dir))) {
		err = read_pool(e, d->d_name, &n->pools[n->npools]);
		if (!err)
			n->npools++;
	}
	closedir(dir);
	return err;
}
