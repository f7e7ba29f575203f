/* SPDX-License-Identifier: BSD-2-Clause */
/* For tests of exposures: a node in a tree of files, and questions to what doctor says of it. */
#ifndef PINWHY_TESTS_EXPOSED_H
#define PINWHY_TESTS_EXPOSED_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "exposures/exposures.h"
#include "exposures/read_node.h"
#include "tree.h"

static struct tree tree;
static struct enrich enrich;
static struct node node;
static struct exposures ex;

/* A node without any exposure, on which everything can be read. */
static const char meminfo[] = "MemTotal:  2097152 kB\nCmaTotal:        0 kB\nCmaFree:         0 kB\n";
#define ZONE(number, name, managed, nr_free, cma, nr_free_cma)                                             \
	"Node " number ", zone   " name "\n  pages free     1\n        present  " managed "\n        managed  " managed \
	"\n        cma      " cma "\n        protection: (0, 0)\n      nr_free_pages " nr_free                \
	"\n      nr_free_cma  " nr_free_cma "\n  pagesets\n    cpu: 0\n"

static inline int setup(void **state)
{
	(void)state;
	tree_make(&tree);
	enrich = (struct enrich){ .root = tree.root, .ticks_per_s = 100, .page_bytes = 4096 };
	tree_write(&tree, "proc/cmdline", "BOOT_IMAGE=/vmlinuz root=/dev/sda1 quiet\n");
	tree_write(&tree, "proc/meminfo", meminfo);
	tree_write(&tree, "proc/zoneinfo", ZONE("0", "Normal", "524288", "1000", "0", "0"));
	tree_write(&tree, "dev/kmsg", "6,0,0,-;Linux version\n6,1,10,-;x\n KEY=cma: Reserved 1 MiB\n");
	tree_write(&tree, "sys/kernel/debug/swiotlb/io_tlb_nslabs", "1000\n");
	tree_write(&tree, "sys/kernel/debug/swiotlb/io_tlb_used", "0\n");
	tree_write(&tree, "sys/module/ib_uverbs/initstate", "live\n");
	tree_write(&tree, "proc/sys/vm/max_map_count", "100\n");
	return 0;
}

static inline int teardown(void **state)
{
	(void)state;
	tree_remove(&tree);
	return 0;
}

static inline void run_on(const char *machine)
{
	node_read(&enrich, machine, &node);
	exposures_judge(&node, &ex);
}

static inline void run(void)
{
	run_on("x86_64");
}

static inline bool has(const char lines[][EXPOSURE_TEXT], uint32_t n, const char *words)
{
	for (uint32_t i = 0; i < n; i++)
		if (strstr(lines[i], words))
			return true;
	return false;
}

static inline bool unchecked(const char *what, const char *why)
{
	for (uint32_t i = 0; i < ex.nnot_checked; i++)
		if (strstr(ex.not_checked[i].what, what) && strstr(ex.not_checked[i].why, why))
			return true;
	return false;
}

static inline void print_row(const struct exposure *e)
{
	print_error("%s (%s): %s\n", e->id, severity_name(e->severity), e->what);
	for (uint32_t i = 0; i < e->nevidence; i++)
		print_error("  seen %s\n", e->evidence[i]);
	for (uint32_t i = 0; i < e->nremedies; i++)
		print_error("  remedy %s\n", e->remedies[i]);
}

#define ROW(id) (&ex.rows[EXPOSURE_##id])
#define EXPOSED(id, level) assert_int_equal(ROW(id)->severity, SEVERITY_##level)
#define NOT_EXPOSED(id) EXPOSED(id, NONE)
#define CHECK_LINE(id, list, words)                                                   \
	do {                                                                          \
		if (!has(ROW(id)->list, ROW(id)->n##list, words)) {                   \
			print_row(ROW(id));                                           \
			fail_msg("no %s of %s says '%s'", #list, #id, words);         \
		}                                                                     \
	} while (0)
#define SEEN(id, words) CHECK_LINE(id, evidence, words)
#define REMEDY(id, words) CHECK_LINE(id, remedies, words)

/* What every exposure owes its reader. */
static inline void rows_are_complete(void)
{
	for (int i = 0; i < EXPOSURES_MAX; i++) {
		const struct exposure *e = &ex.rows[i];

		if (e->severity == SEVERITY_NONE)
			continue;
		assert_true(e->what[0] && e->nevidence && e->nremedies);
	}
}

static inline void make_cma(const char *total, const char *free, const char *zone)
{
	char text[256];

	snprintf(text, sizeof(text), "MemTotal: 2097152 kB\nCmaTotal: %s kB\nCmaFree: %s kB\n", total, free);
	tree_write(&tree, "proc/meminfo", text);
	tree_write(&tree, "proc/zoneinfo", zone);
	tree_write(&tree, "proc/pagetypeinfo",
		   "Page block order: 9\nPages per block:  512\n\nFree pages count per migrate type at order       0\n"
		   "Node    0, zone   Normal, type    Unmovable      1\n\n"
		   "Number of blocks type     Unmovable      Movable  Reclaimable   HighAtomic          CMA      Isolate\n"
		   "Node 0, zone      DMA            1            7            0            0            0            0\n"
		   "Node 0, zone   Normal            2          900            0            0          512            0\n");
}

#endif
