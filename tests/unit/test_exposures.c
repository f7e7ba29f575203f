// SPDX-License-Identifier: BSD-2-Clause
/* Exposures by memory, and what all of them have in common. */
#include "exposed.h"

static void a_plain_node_has_none(void **state)
{
	(void)state;
	run();
	for (int i = 0; i < EXPOSURES_MAX; i++)
		if (ex.rows[i].severity)
			print_row(&ex.rows[i]), fail();
	for (uint32_t i = 0; i < ex.nnot_checked; i++)
		fail_msg("%s: %s", ex.not_checked[i].what, ex.not_checked[i].why);
}

/* Nothing can be read: nothing is found, and each source is named once. */
static void what_cannot_be_read_is_named(void **state)
{
	(void)state;
	node_read(&enrich, "x86_64", &node);
	for (int i = 0; i < NODE_SOURCES; i++)
		node.err[i] = -EACCES;
	exposures_judge(&node, &ex);
	for (int i = 0; i < EXPOSURES_MAX; i++)
		assert_int_equal(ex.rows[i].severity, SEVERITY_NONE);
	assert_int_equal(ex.nnot_checked, NODE_SOURCES);
	assert_true(unchecked("the kernel log", "/dev/kmsg: not permitted"));
	tree_remove(&tree);
	run();
	assert_true(unchecked("size of all CMA areas", "/proc/meminfo: No such file"));
	assert_true(unchecked("bounce buffers", "debugfs is not there"));
	assert_true(unchecked("memlock limits", "/proc/PID/limits"));
	assert_true(unchecked("mappings", "/proc/PID/maps"));
}

static void debugfs_must_be_mounted(void **state)
{
	(void)state;
	tree_remove(&tree);
	tree_make(&tree);
	tree_write(&tree, "sys/kernel/debug", "");
	run();
	assert_true(unchecked("bounce buffers", "Not a directory"));
	unlink(tree_path(&tree, "sys/kernel/debug"));
	tree_parents(&tree, "sys/kernel/debug/x");
	run();
	assert_true(unchecked("bounce buffers", "debugfs is not there"));
	tree_write(&tree, "sys/kernel/debug/x", "");
	run();
	assert_false(unchecked("bounce buffers", ""));
}

/* --- CMA ---------------------------------------------------------------------------- */

static void cma_and_who_reserved_it(void **state)
{
	(void)state;
	make_cma("1048576", "1000", ZONE("0", "Normal", "524288", "1000", "262144", "250"));
	tree_write(&tree, "proc/cmdline", "quiet hugetlb-cma=1G cmax=3 -- cma=9G\n");
	tree_write(&tree, "sys/kernel/mm/cma/hugetlb0/total_pages", "262144\n");
	tree_write(&tree, "sys/kernel/mm/cma/reserved/alloc_pages_success", "0\n");
	tree_write(&tree, "sys/kernel/mm/cma/pernuma1/total_pages", "256\n");
	tree_write(&tree, "sys/kernel/mm/cma/crash/total_pages", "256\n");
	tree_write(&tree, "sys/kernel/mm/cma/odd/total_pages", "256\n");
	tree_write(&tree, "dev/kmsg", "6,0,0,-;cma: Reserved 1024 MiB at 0x40000000\n14,1,9,-;cma: Reserved by nobody\n");
	run();
	EXPOSED(cma_area, MEDIUM);
	assert_non_null(strstr(ROW(cma_area)->what, "1024 MiB of CMA"));
	SEEN(cma_area, "area \"hugetlb0\": 1024 MiB, reserved by hugetlb_cma=");
	SEEN(cma_area, "area \"reserved\": reserved by cma=");
	SEEN(cma_area, "area \"pernuma1\": 1 MiB, reserved by cma_pernuma=");
	SEEN(cma_area, "area \"crash\": 1 MiB, reserved by crashkernel=");
	SEEN(cma_area, "area \"odd\": 1 MiB, reserved by a driver");
	SEEN(cma_area, "kernel log: cma: Reserved 1024 MiB at 0x40000000");
	assert_false(has(ROW(cma_area)->evidence, ROW(cma_area)->nevidence, "nobody"));
	REMEDY(cma_area, "hugetlb_cma=0");
	REMEDY(cma_area, "cma=0 on the kernel command line");
	REMEDY(cma_area, "without ',cma'");
	/* The dash is the kernel's underscore; what merely begins alike, or follows "--", is not meant. */
	SEEN(cma_area, "booted with hugetlb-cma=1G");
	assert_false(has(ROW(cma_area)->evidence, ROW(cma_area)->nevidence, "cma=9G"));
	assert_false(has(ROW(cma_area)->evidence, ROW(cma_area)->nevidence, "cmax"));
	rows_are_complete();
}

static void cma_without_names(void **state)
{
	(void)state;
	make_cma("65536", "0", ZONE("0", "Normal", "524288", "1000", "16384", "0"));
	tree_write(&tree, "proc/cmdline", "numa_cma=0:64M\n");
	tree_write(&tree, "dev/kmsg", "6,512,0,-;late\n");
	run();
	EXPOSED(cma_area, MEDIUM);
	REMEDY(cma_area, "take cma_pernuma= and numa_cma= off");
	assert_true(unchecked("names of CMA areas", "CONFIG_CMA_SYSFS"));
	assert_true(unchecked("reservations of CMA in the kernel log", "no longer goes back"));
	tree_write(&tree, "proc/meminfo", "MemTotal: 2097152 kB\n");
	run();
	NOT_EXPOSED(cma_area);
	assert_false(unchecked("CMA", ""));
}

static void over_half_as_the_kernel_rounds(void **state)
{
	static const struct {
		const char *free, *cma;
		bool over;
	} cases[] = {
		{ "1000", "499", false }, { "1000", "500", false }, { "1000", "501", true },
		{ "1001", "500", false }, { "1001", "501", true }, { "0", "0", false }, { "1", "1", true },
	};
	char text[1024];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		snprintf(text, sizeof(text), ZONE("1", "Normal", "524288", "%s", "2000", "%s"), cases[i].free, cases[i].cma);
		make_cma("8000", "0", text);
		run();
		assert_int_equal(ROW(cma_over_half)->severity != SEVERITY_NONE, cases[i].over);
		if (cases[i].over)
			SEEN(cma_over_half, "node 1 zone Normal: ");
	}
	snprintf(text, sizeof(text), "nr_free_cma %s, nr_free_pages %s, 100 %%", cases[6].cma, cases[6].free);
	SEEN(cma_over_half, text);
	rows_are_complete();
}

static void cma_that_total_does_not_account_for(void **state)
{
	(void)state;
	/* 262144 pages are 1048576 kB. */
	make_cma("1048576", "1048576", ZONE("0", "Normal", "524288", "1000", "262144", "250"));
	run();
	NOT_EXPOSED(cma_unaccounted);
	make_cma("1048576", "1048580", ZONE("0", "Normal", "524288", "1000", "262656", "250"));
	tree_write(&tree, "sys/kernel/debug/kho/out/scratch_len", "0x200000\n0x100000\n");
	tree_write(&tree, "proc/cmdline", "kho=on kho_scratch=3M\n");
	run();
	EXPOSED(cma_unaccounted, MEDIUM);
	SEEN(cma_unaccounted, "1026 MiB are MIGRATE_CMA (cma in /proc/zoneinfo), CmaTotal is 1024 MiB");
	SEEN(cma_unaccounted, "512 MIGRATE_CMA pageblocks of 512 pages");
	SEEN(cma_unaccounted, "CmaFree 1024 MiB is more than CmaTotal");
	SEEN(cma_unaccounted, "3 MiB of scratch areas");
	SEEN(cma_unaccounted, "booted with kho=on kho_scratch=3M");
	REMEDY(cma_unaccounted, "kho=off");
	rows_are_complete();
}

#define OLD_ZONE "Node 0, zone   Normal\n        managed  524288\n      nr_free_pages 1000\n      nr_free_cma  10\n"

/* Zones of older kernels do not tell: then pageblocks are counted, and without those what is free. */
static void other_ways_to_count_cma(void **state)
{
	(void)state;
	make_cma("1048576", "0", OLD_ZONE);
	run();
	NOT_EXPOSED(cma_unaccounted);
	make_cma("1048572", "0", OLD_ZONE);
	run();
	EXPOSED(cma_unaccounted, MEDIUM);
	SEEN(cma_unaccounted, "(/proc/pagetypeinfo)");
	unlink(tree_path(&tree, "proc/pagetypeinfo"));
	run();
	NOT_EXPOSED(cma_unaccounted);
	make_cma("1048572", "1048576", OLD_ZONE);
	tree_write(&tree, "proc/pagetypeinfo", "nonsense\n");
	run();
	EXPOSED(cma_unaccounted, MEDIUM);
	assert_true(unchecked("MIGRATE_CMA pageblocks", "/proc/pagetypeinfo: its text is not"));
}

/* --- ZONE_MOVABLE --------------------------------------------------------------------- */

static void movable_zone_by_its_origin(void **state)
{
	(void)state;
	tree_write(&tree, "proc/zoneinfo", ZONE("0", "Normal", "524288", "9", "0", "0")
		   ZONE("0", "Movable", "65536", "512", "0", "0") ZONE("1", "Movable", "65536", "0", "0", "0"));
	tree_write(&tree, "proc/cmdline", "movablecore=512M\n");
	run();
	EXPOSED(movable_zone, MEDIUM);
	assert_non_null(strstr(ROW(movable_zone)->what, "512 MiB of ZONE_MOVABLE"));
	SEEN(movable_zone, "node 0: 256 MiB present, 256 MiB managed, 2 MiB free");
	SEEN(movable_zone, "node 1: 256 MiB present");
	REMEDY(movable_zone, "take movablecore=512M off");
	tree_write(&tree, "proc/cmdline", "quiet\n");
	tree_write(&tree, "sys/devices/system/memory/block_size_bytes", "8000000\n");
	tree_write(&tree, "sys/devices/system/memory/memory0/state", "online\n");
	tree_write(&tree, "sys/devices/system/memory/memory0/valid_zones", "Normal\n");
	tree_write(&tree, "sys/devices/system/memory/memory12/state", "online\n");
	tree_write(&tree, "sys/devices/system/memory/memory12/valid_zones", "Movable\n");
	tree_write(&tree, "sys/devices/system/memory/memory13/state", "offline\n");
	tree_write(&tree, "sys/devices/system/memory/memory13/valid_zones", "Movable\n");
	run();
	SEEN(movable_zone, "1 whole memory blocks of 128 MiB are online as movable");
	REMEDY(movable_zone, "echo online_kernel");
	rows_are_complete();
	/* A zone that is there but empty holds no page. */
	tree_write(&tree, "proc/zoneinfo", ZONE("0", "Movable", "0", "0", "0", "0"));
	run();
	NOT_EXPOSED(movable_zone);
}

/* The fact of the kernel comes from elsewhere: it is set where doctor sets it. */
static void movable_zone_that_pins_need_not_leave(void **state)
{
	(void)state;
	tree_write(&tree, "proc/zoneinfo", ZONE("0", "Movable", "65536", "512", "0", "0"));
	tree_write(&tree, "sys/devices/system/memory/auto_online_blocks", "online_movable\n");
	tree_write(&tree, "proc/meminfo", "MemTotal:  2097152 kB\nCmaTotal:   524288 kB\nCmaFree:    524288 kB\n");
	run();
	EXPOSED(movable_zone, MEDIUM);
	EXPOSED(movable_hotplug, LOW);
	EXPOSED(cma_area, MEDIUM);
	node.pins_stay = true;
	exposures_judge(&node, &ex);
	NOT_EXPOSED(movable_zone);
	NOT_EXPOSED(movable_hotplug);
	NOT_EXPOSED(cma_area);
}

static void added_memory_becomes_movable(void **state)
{
	static const struct {
		const char *online, *policy;
		bool exposed;
	} cases[] = {
		{ "offline", "contig-zones", false }, { "online", "contig-zones", false },
		{ "online", "auto-movable", true }, { "online_kernel", "auto-movable", false },
		{ "online_movable", "contig-zones", true }, { "offline", "auto-movable", false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		tree_write(&tree, "sys/devices/system/memory/auto_online_blocks", cases[i].online);
		tree_write(&tree, "sys/module/memory_hotplug/parameters/online_policy", cases[i].policy);
		run();
		assert_int_equal(ROW(movable_hotplug)->severity != SEVERITY_NONE, cases[i].exposed);
	}
	tree_write(&tree, "sys/devices/system/memory/auto_online_blocks", "online_movable\n");
	unlink(tree_path(&tree, "sys/module/memory_hotplug/parameters/online_policy"));
	run();
	SEEN(movable_hotplug, "auto_online_blocks online_movable, online_policy not there");
	rows_are_complete();
}

static void empty_pools(void **state)
{
	(void)state;
	tree_write(&tree, "sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages", "10\n");
	tree_write(&tree, "sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages", "1\n");
	tree_write(&tree, "sys/kernel/mm/hugepages/hugepages-2048kB/nr_overcommit_hugepages", "3\n");
	tree_write(&tree, "sys/kernel/mm/hugepages/hugepages-1048576kB/nr_hugepages", "0\n");
	tree_write(&tree, "sys/kernel/mm/hugepages/hugepages-1048576kB/free_hugepages", "0\n");
	tree_write(&tree, "sys/kernel/mm/hugepages/hugepages-1048576kB/nr_overcommit_hugepages", "0\n");
	run();
	NOT_EXPOSED(hugetlb_pool_empty);
	assert_int_equal(node.npools, 2);
	tree_write(&tree, "sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages", "0\n");
	run();
	EXPOSED(hugetlb_pool_empty, LOW);
	SEEN(hugetlb_pool_empty, "2048 kB pages: 0 of 10 free, nr_overcommit_hugepages 3");
	tree_write(&tree, "sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages", "many\n");
	run();
	NOT_EXPOSED(hugetlb_pool_empty);
	assert_true(unchecked("pools of huge pages", "its text"));
}

/* --- the deadline ----------------------------------------------------------------------- */

/* A pipe that nobody writes to is as silent as the maps of a process that is stuck. */
static void a_file_that_never_answers(void **state)
{
	(void)state;
	make_cma("8000", "0", ZONE("0", "Normal", "524288", "1000", "2000", "900"));
	tree_parents(&tree, "proc/600/maps");
	assert_int_equal(mkfifo(tree_path(&tree, "proc/600/maps"), 0600), 0);
	node_read_within(&enrich, "x86_64", 200, &node);
	exposures_judge(&node, &ex);
	assert_true(unchecked("mappings of processes that use verbs", "took too long"));
	assert_int_equal(node.err[NODE_map_counts], -ETIMEDOUT);
}

static void in_time_the_child_reads_all(void **state)
{
	(void)state;
	make_cma("8000", "0", ZONE("0", "Normal", "524288", "1000", "2000", "900"));
	node_read_within(&enrich, "x86_64", 60000, &node);
	exposures_judge(&node, &ex);
	EXPOSED(cma_area, MEDIUM);
	EXPOSED(cma_over_half, MEDIUM);
	for (int i = 0; i < NODE_SOURCES; i++)
		assert_true(node.err[i] >= 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)
		TEST(a_plain_node_has_none),
		TEST(what_cannot_be_read_is_named),
		TEST(debugfs_must_be_mounted),
		TEST(cma_and_who_reserved_it),
		TEST(cma_without_names),
		TEST(over_half_as_the_kernel_rounds),
		TEST(cma_that_total_does_not_account_for),
		TEST(other_ways_to_count_cma),
		TEST(movable_zone_by_its_origin), TEST(movable_zone_that_pins_need_not_leave),
		TEST(added_memory_becomes_movable),
		TEST(empty_pools),
		TEST(a_file_that_never_answers),
		TEST(in_time_the_child_reads_all),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
