// SPDX-License-Identifier: BSD-2-Clause
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "enrich/enrich.h"
#include "tree.h"

static struct tree tree;
static struct enrich enrich;
static struct facts facts;
static struct facts_request req;

#define KNOWN(fact) assert_int_equal(facts.err[FACT_##fact], 0)
#define UNKNOWN(fact, error) assert_int_equal(facts.err[FACT_##fact], error)

static const char meminfo[] =
	"MemTotal:        2048 kB\nMemFree:         1024 kB\nMemAvailable:    1500 kB\n"
	"Buffers:           10 kB\nCmaTotal:         512 kB\nCmaFree:          100 kB\n";

static const char zoneinfo[] =
	"Node 0, zone      DMA\n  per-node stats\n      nr_inactive_anon 5\n  pages free     10\n"
	"        min      1\n      nr_free_pages 10\n      nr_zone_inactive_anon 0\n      nr_free_cma  0\n"
	"  pagesets\n    cpu: 0\n              count: 0\n"
	"Node 0, zone   Normal\n  pages free     1000\n      nr_free_pages 1000\n      nr_free_cma  400\n"
	"Node 0, zone  Movable\n  pages free     5000\n      nr_free_pages 5000\n      nr_free_cma  0\n"
	"Node 1, zone   Normal\n  pages free     30\n      nr_free_pages 30\n      nr_free_cma  30\n"
	"Node 1, zone   Device\n  pages free     7\n      nr_free_pages 7\n";

/* starttime (field 22) is 4711 */
#define STAT(comm, ticks) "123 (" comm ") S 1 2 3 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 " ticks " 9 9\n"

static void make_process(const char *stat)
{
	tree_write(&tree, "proc/123/stat", stat);
	tree_write(&tree, "proc/123/status", "Name:\tx\nVmPeak:\t 9 kB\nVmLck:\t  12 kB\nVmPin:\t  34 kB\n");
	tree_write(&tree, "proc/123/comm", "app\n");
	tree_write(&tree, "proc/123/cgroup", "1:name=systemd:/x\n0::/a/b\n");
	if (symlink("/usr/bin/app", tree_path(&tree, "proc/123/exe")) < 0)
		abort();
}

static int setup(void **state)
{
	(void)state;
	tree_make(&tree);
	enrich = (struct enrich){ .root = tree.root, .ticks_per_s = 100, .page_bytes = 4096 };
	req = (struct facts_request){ .id = 1, .task_start_ns = 47110000000ULL + 5, .tgid = 123,
				      .tid = 123, .device = "rxe0" };
	tree_write(&tree, "proc/meminfo", meminfo);
	tree_write(&tree, "proc/zoneinfo", zoneinfo);
	make_process(STAT("app", "4711"));
	tree_write(&tree, "sys/class/infiniband/rxe0/ports/1/link_layer", "Ethernet\n");
	tree_write(&tree, "sys/fs/cgroup/a/b/memory.current", "8192\n");
	tree_write(&tree, "sys/fs/cgroup/a/b/memory.max", "max\n");
	tree_write(&tree, "sys/fs/cgroup/a/memory.max", "65536\n");
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	tree_remove(&tree);
	return 0;
}

static void run(void)
{
	facts_unknown(&facts, -ENODATA);
	enrich_read(&enrich, &req, &facts);
}

static void all_facts_are_read(void **state)
{
	(void)state;
	run();
	for (int i = 0; i < FACT_MAX; i++)
		if (facts.err[i])
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
}

/* The table says who fills what; together the rows cover facts.def exactly once. */
static void each_fact_has_one_source(void **state)
{
	uint64_t seen = 0;

	(void)state;
	for (uint32_t i = 0; i < enrich_nsources; i++) {
		assert_int_equal(seen & enrich_sources[i].facts, 0);
		seen |= enrich_sources[i].facts;
	}
	assert_int_equal(seen, (1ULL << FACT_MAX) - 1);
}

/* A source touches its own facts only, and leaves none of them unread. */
static void sources_keep_to_their_facts(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < enrich_nsources; i++) {
		facts_unknown(&facts, -EDOM);
		enrich_sources[i].fn(&enrich, &req, &facts);
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
	KNOWN(mem_total_bytes);
	KNOWN(link_layer);
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
		TEST(long_exe_is_not_cut),
		TEST(this_machine),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
