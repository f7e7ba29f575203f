// SPDX-License-Identifier: BSD-2-Clause
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "enrich_tree.h"

static int setup(void **state)
{
	(void)state;
	enrich_tree_make();
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	tree_remove(&tree);
	return 0;
}

static void all_facts_are_read(void **state)
{
	const uint64_t not_files = 1ULL << FACT_mr_process_pages | 1ULL << FACT_mr_process_count |
				   1ULL << FACT_mr_device_count | 1ULL << FACT_bar1_total_bytes |
				   1ULL << FACT_bar1_used_bytes | 1ULL << FACT_bar1_free_bytes;

	(void)state;
	run();
	/* RDMA netlink and NVML are no files: test_rdma.c and test_enrich_waiting.c. */
	for (int i = 0; i < FACT_MAX; i++)
		if (!facts.err[i] != !(not_files & (1ULL << i)))
			fail_msg("%s: %s", fact_descs[i].name, strerror(-facts.err[i]));
	assert_int_equal(facts.mem_total_bytes, 2048 * 1024);
	assert_int_equal(facts.mem_free_bytes, 1024 * 1024);
	assert_int_equal(facts.mem_available_bytes, 1500 * 1024);
	assert_int_equal(facts.cma_total_bytes, 512 * 1024);
	assert_int_equal(facts.cma_free_bytes, 100 * 1024);
	assert_int_equal(facts.free_outside_bytes, (10 + 600) * 4096);
	assert_int_equal(facts.proc_start_ticks, 4711);
	assert_int_equal(facts.vm_lck_bytes, 12 * 1024);
	assert_int_equal(facts.vm_pin_bytes, 34 * 1024);
	assert_string_equal(facts.exe, "/usr/bin/app");
	assert_string_equal(facts.comm, "app");
	assert_string_equal(facts.cgroup, "/a/b");
	assert_string_equal(facts.link_layer, "Ethernet");
	assert_int_equal(facts.cgroup_memory_current_bytes, 8192);
	assert_int_equal(facts.cgroup_memory_max_bytes, 65536);
	assert_string_equal(facts.cgroup_max_path, "/a");
	assert_int_equal(facts.cgroup_oom_kills, 3);
	assert_int_equal(facts.cgroup_max_events, 7);
	assert_string_equal(facts.limit_chain, "app[123] 8.0 MiB < shell[1] unlimited");
	assert_string_equal(facts.rdmacg_path, "/a");
	assert_int_equal(facts.rdmacg_object_max, 10);
	assert_int_equal(facts.rdmacg_object_current, 10);
	assert_int_equal(facts.hugetlb_total_pages, 16);
	assert_int_equal(facts.hugetlb_free_pages, 5);
	assert_int_equal(facts.hugetlb_reserved_pages, 2);
	assert_int_equal(facts.hugetlb_cgroup_max_bytes, 4194304);
	assert_int_equal(facts.hugetlb_cgroup_current_bytes, 2097152);
	assert_int_equal(facts.hugetlb_cgroup_max_events, 9);
	assert_int_equal(facts.io_uring_pages, 2);
	assert_string_equal(facts.holder_buffers, "5 0x7f0000000ff0 32\n");
	assert_string_equal(facts.holder_files, "");
	assert_int_equal(facts.holder_pipes, 0);
	assert_string_equal(facts.holder_others, "");
	assert_int_equal(facts.vfio_entry_limit, 65535);
	assert_int_equal(facts.max_map_count, 65530);
	assert_int_equal(facts.map_count, 2);
	assert_string_equal(facts.node_free, "0: 4096, 3: 8192");
	assert_string_equal(facts.job_scheduler, "slurm");
	assert_string_equal(facts.job_id, "77");
	assert_string_equal(facts.job_rank, "3");
	assert_string_equal(facts.communicator, "10.0.0.1:4000");
	assert_string_equal(facts.libraries, "libibverbs.so.1=");
	assert_string_equal(facts.nvidia_version, "535.104.05");
	assert_string_equal(facts.nvidia_flavour, "proprietary");
}

/* The table says who fills what; together the rows cover facts.def exactly once. */
static void each_fact_has_one_source(void **state)
{
	uint64_t seen = 0;

	(void)state;
	for (uint32_t i = 0; i < enrich_nsources; i++) {
		assert_int_equal(seen & enrich_sources[i].facts, 0);
		seen |= enrich_sources[i].facts;
		/* About the node or about the process. */
		assert_true(!enrich_sources[i].node != !enrich_sources[i].process);
	}
	assert_int_equal(seen, (1ULL << FACT_MAX) - 1);
}

/* A source touches its own facts only, and leaves none of them unread. */
static void sources_keep_to_their_facts(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < enrich_nsources; i++) {
		facts_unknown(&facts, -EDOM);
		enrich_read_one(&enrich_sources[i], &enrich, &req, &facts);
		for (int k = 0; k < FACT_MAX; k++)
			if ((facts.err[k] != -EDOM) != !!(enrich_sources[i].facts & (1ULL << k)))
				fail_msg("%s and %s", enrich_sources[i].name, fact_descs[k].name);
	}
}

static void reused_pid_gives_nothing(void **state)
{
	(void)state;
	req.task_start_ns += 10000000;	/* one tick later */
	run();
	UNKNOWN(proc_start_ticks, -ESRCH);
	UNKNOWN(vm_pin_bytes, -ESRCH);
	UNKNOWN(vm_lck_bytes, -ESRCH);
	UNKNOWN(exe, -ESRCH);
	UNKNOWN(comm, -ESRCH);
	UNKNOWN(cgroup, -ESRCH);
	UNKNOWN(cgroup_memory_current_bytes, -ESRCH);
	UNKNOWN(cgroup_memory_max_bytes, -ESRCH);
	/* What the kernel holds for this pid is another's, too. */
	for (uint32_t i = 0; i < enrich_nsources; i++)
		for (int k = 0; k < FACT_MAX; k++)
			if (enrich_sources[i].process && (enrich_sources[i].facts & (1ULL << k)))
				assert_int_equal(facts.err[k], -ESRCH);
	KNOWN(mem_total_bytes);
	KNOWN(link_layer);
}

/* What was read before the time was up is told; what was not begun says so. */
static void time_that_is_up(void **state)
{
	(void)state;
	enrich.budget_ns = 1;
	run();
	for (int i = 0; i < FACT_MAX; i++)
		assert_true(facts.err[i] == 0 || facts.err[i] == -ETIMEDOUT || facts.err[i] == FACT_NOT_ASKED);
	UNKNOWN(libraries, -ETIMEDOUT);
	UNKNOWN(bar1_total_bytes, FACT_NOT_ASKED);
	enrich.budget_ns = 600000000000;
	run();
	KNOWN(libraries);
}

/* A record of another thread may carry that thread's start. */
static void thread_start_identifies_the_process(void **state)
{
	(void)state;
	req.tid = 125;
	req.task_start_ns = 99990000000ULL;
	tree_write(&tree, "proc/123/task/125/stat", STAT("t", "9999"));
	run();
	KNOWN(vm_pin_bytes);
	assert_int_equal(facts.proc_start_ticks, 4711);
	req.tid = 126;
	run();
	UNKNOWN(vm_pin_bytes, -ESRCH);
}

static void unknown_start_is_not_checked(void **state)
{
	(void)state;
	req.task_start_ns = 0;
	run();
	KNOWN(vm_pin_bytes);
}

static void hostile_names_do_not_shift_fields(void **state)
{
	(void)state;
	tree_write(&tree, "proc/123/stat", STAT("a) S 1 (b) ", "4711"));
	run();
	KNOWN(proc_start_ticks);
	tree_write(&tree, "proc/123/stat", "123 (a) S 1\n");
	run();
	UNKNOWN(proc_start_ticks, -EBADMSG);
	UNKNOWN(exe, -EBADMSG);
	tree_write(&tree, "proc/123/stat", "");
	run();
	UNKNOWN(exe, -ENODATA);
}

static void names_may_hold_line_breaks(void **state)
{
	(void)state;
	tree_write(&tree, "proc/123/comm", "a\nb\n\n");
	run();
	assert_string_equal(facts.comm, "a\nb\n");
	tree_write(&tree, "proc/123/comm", "a name of fifteen and more\n");
	run();
	UNKNOWN(comm, -ENAMETOOLONG);
	assert_string_equal(facts.comm, "");
}

static void gone_process(void **state)
{
	(void)state;
	req.tgid = 77;
	run();
	UNKNOWN(exe, -ESRCH);
	req.tgid = 0;
	run();
	UNKNOWN(exe, -ESRCH);
}

static void device_name_stays_in_its_directory(void **state)
{
	static const char *const bad[] = { "..", ".", "a/../../x", "/etc", "a/b" };

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		memset(req.device, 0, sizeof(req.device));
		strcpy(req.device, bad[i]);
		run();
		UNKNOWN(link_layer, -EINVAL);
	}
	memset(req.device, 'a', sizeof(req.device));
	run();
	UNKNOWN(link_layer, -EINVAL);
	memset(req.device, 0, sizeof(req.device));
	run();
	UNKNOWN(link_layer, -ENODEV);
	strcpy(req.device, "mlx5_0");
	run();
	UNKNOWN(link_layer, -ENOENT);
}

static void cgroup_without_limit(void **state)
{
	(void)state;
	tree_write(&tree, "sys/fs/cgroup/a/memory.max", "max\n");
	run();
	assert_true(facts.cgroup_memory_max_bytes == UINT64_MAX);
	remove(tree_path(&tree, "sys/fs/cgroup/a/memory.max"));
	run();
	KNOWN(cgroup_memory_max_bytes);
	tree_write(&tree, "sys/fs/cgroup/a/b/memory.max", "plenty\n");
	run();
	UNKNOWN(cgroup_memory_max_bytes, -EBADMSG);
	KNOWN(cgroup_memory_current_bytes);
}

static void cgroup_in_hybrid_layout(void **state)
{
	(void)state;
	tree_write(&tree, "proc/123/cgroup", "4:memory:/z\n0::/u\n");
	tree_write(&tree, "sys/fs/cgroup/unified/u/memory.current", "1\n");
	run();
	KNOWN(cgroup_memory_current_bytes);
	assert_int_equal(facts.cgroup_memory_current_bytes, 1);
}

static void cgroups_that_cannot_be_read(void **state)
{
	(void)state;
	tree_write(&tree, "proc/123/cgroup", "0::/../other\n");
	run();
	UNKNOWN(cgroup_memory_current_bytes, -EXDEV);
	tree_write(&tree, "proc/123/cgroup", "4:memory:/z\n");
	run();
	/* Its controller has a hierarchy of its own, which is not mounted where it should be. */
	UNKNOWN(cgroup_memory_current_bytes, -ENOENT);
	UNKNOWN(cgroup, -EOPNOTSUPP);
	tree_write(&tree, "proc/123/cgroup", "3:cpu:/z\n");
	run();
	UNKNOWN(cgroup_memory_current_bytes, -EOPNOTSUPP);
	tree_write(&tree, "proc/123/cgroup", "0::/gone (deleted)\n");
	run();
	UNKNOWN(cgroup_memory_max_bytes, -ENOENT);
	tree_write(&tree, "proc/123/cgroup", "0::/\n");
	run();
	UNKNOWN(cgroup_memory_current_bytes, FACT_NONE);
	assert_true(facts.cgroup_memory_max_bytes == UINT64_MAX);
}

static void names_with_dots_are_not_parents(void **state)
{
	(void)state;
	tree_write(&tree, "proc/123/cgroup", "0::/..a/b\n");
	tree_write(&tree, "sys/fs/cgroup/..a/b/memory.current", "3\n");
	run();
	assert_int_equal(facts.cgroup_memory_current_bytes, 3);
}

static void kernel_without_cma(void **state)
{
	(void)state;
	tree_write(&tree, "proc/meminfo", "MemTotal: 1 kB\nMemFree: x kB\nMemAvailable: 3\n");
	run();
	KNOWN(mem_total_bytes);
	UNKNOWN(mem_free_bytes, -EBADMSG);
	UNKNOWN(mem_available_bytes, -EBADMSG);
	UNKNOWN(cma_total_bytes, FACT_NONE);
	tree_write(&tree, "proc/zoneinfo", "what is this\n");
	run();
	UNKNOWN(free_outside_bytes, -EBADMSG);
}

static void nodes(void **state)
{
	static const char *const bad[] = { "3-1", "x", "0-99999999999999999999", "1 2", "-1" };
	char name[64], text[96];

	(void)state;
	tree_write(&tree, "sys/devices/system/node/online", "0-39\n");
	for (int i = 0; i < 40; i++) {
		snprintf(name, sizeof(name), "sys/devices/system/node/node%d/meminfo", i);
		snprintf(text, sizeof(text), "Node %d MemTotal: 9 kB\nNode %d MemFree: 99999999 kB\n", i, i);
		tree_write(&tree, name, text);
	}
	run();
	KNOWN(node_free);
	/* Not cut within a number. */
	assert_true(strlen(facts.node_free) > 200);
	assert_string_equal(facts.node_free + strlen(facts.node_free) - 12, "102399998976");
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		tree_write(&tree, "sys/devices/system/node/online", bad[i]);
		run();
		UNKNOWN(node_free, -EBADMSG);
	}
	remove(tree_path(&tree, "sys/devices/system/node/online"));
	run();
	UNKNOWN(node_free, FACT_NONE);
}

static void nvidia(void **state)
{
	(void)state;
	tree_write(&tree, "proc/driver/nvidia/version", "NVRM version: NVIDIA UNIX Open Kernel Module for "
		   "x86_64  550.54.14  Release Build  (dvs-builder@x)  Thu Feb 22 01:44:30 UTC 2024\nGCC version: 12\n");
	run();
	assert_string_equal(facts.nvidia_version, "550.54.14");
	assert_string_equal(facts.nvidia_flavour, "open");
	tree_write(&tree, "proc/driver/nvidia/version", "what is this\n");
	run();
	UNKNOWN(nvidia_version, -EBADMSG);
	remove(tree_path(&tree, "proc/driver/nvidia/version"));
	run();
	UNKNOWN(nvidia_version, FACT_NONE);
	UNKNOWN(nvidia_flavour, FACT_NONE);
	tree_write(&tree, "sys/module/nvidia/version", "550.54.14\n");
	run();
	assert_string_equal(facts.nvidia_version, "550.54.14");
	UNKNOWN(nvidia_flavour, FACT_NONE);
}

static void long_exe_is_not_cut(void **state)
{
	char target[300];

	(void)state;
	memset(target, 'x', sizeof(target) - 1);
	target[sizeof(target) - 1] = '\0';
	remove(tree_path(&tree, "proc/123/exe"));
	assert_int_equal(symlink(target, tree_path(&tree, "proc/123/exe")), 0);
	run();
	UNKNOWN(exe, -ENAMETOOLONG);
	assert_string_equal(facts.exe, "");
}

/* The real files of the machine this runs on have the form the parsers expect. */
static void this_machine(void **state)
{
	(void)state;
	enrich = enrich_system("");
	req.tgid = (uint32_t)getpid();
	req.task_start_ns = 0;
	run();
	KNOWN(mem_total_bytes);
	KNOWN(free_outside_bytes);
	KNOWN(proc_start_ticks);
	KNOWN(vm_pin_bytes);
	KNOWN(exe);
	KNOWN(limit_chain);
	KNOWN(limit_set_by);
	KNOWN(map_count);
	KNOWN(max_map_count);
	KNOWN(io_uring_pages);
	assert_true(facts.map_count > 5);
	assert_true(facts.free_outside_bytes <= facts.mem_total_bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)
		TEST(all_facts_are_read),
		TEST(each_fact_has_one_source),
		TEST(sources_keep_to_their_facts),
		TEST(reused_pid_gives_nothing),
		TEST(thread_start_identifies_the_process),
		TEST(unknown_start_is_not_checked),
		TEST(hostile_names_do_not_shift_fields),
		TEST(names_may_hold_line_breaks),
		TEST(gone_process),
		TEST(device_name_stays_in_its_directory),
		TEST(cgroup_without_limit),
		TEST(cgroup_in_hybrid_layout),
		TEST(cgroups_that_cannot_be_read),
		TEST(names_with_dots_are_not_parents),
		TEST(kernel_without_cma),
		TEST(nodes),
		TEST(nvidia),
		TEST(time_that_is_up),
		TEST(long_exe_is_not_cut),
		TEST(this_machine),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
