// SPDX-License-Identifier: BSD-2-Clause
/* Limits and use of the memory, rdma and hugetlb controllers, in both versions. */
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

static void version_one(void **state)
{
	(void)state;
	tree_write(&tree, "proc/123/cgroup", "5:rdma:/r/s\n4:hugetlb,memory:/m/n\n1:name=systemd:/x\n0::/u\n");
	tree_write(&tree, "sys/fs/cgroup/hugetlb,memory/m/n/memory.usage_in_bytes", "4096\n");
	tree_write(&tree, "sys/fs/cgroup/hugetlb,memory/m/n/memory.limit_in_bytes", "9223372036854771712\n");
	tree_write(&tree, "sys/fs/cgroup/hugetlb,memory/m/memory.limit_in_bytes", "8192\n");
	tree_write(&tree, "sys/fs/cgroup/hugetlb,memory/m/n/memory.failcnt", "12\n");
	tree_write(&tree, "sys/fs/cgroup/hugetlb,memory/m/n/memory.oom_control",
		   "oom_kill_disable 0\nunder_oom 0\noom_kill 2\n");
	tree_write(&tree, "sys/fs/cgroup/hugetlb,memory/m/n/hugetlb.2MB.limit_in_bytes", "2097152\n");
	tree_write(&tree, "sys/fs/cgroup/hugetlb,memory/m/n/hugetlb.2MB.usage_in_bytes", "0\n");
	tree_write(&tree, "sys/fs/cgroup/hugetlb,memory/m/n/hugetlb.2MB.failcnt", "1\n");
	tree_write(&tree, "sys/fs/cgroup/rdma/r/s/rdma.max", "rxe0 hca_handle=max hca_object=3\n");
	tree_write(&tree, "sys/fs/cgroup/rdma/r/s/rdma.current", "rxe0 hca_handle=1 hca_object=4\n");
	run();
	assert_string_equal(facts.cgroup, "/u");
	assert_string_equal(facts.cgroup_v1, "/m/n");
	assert_int_equal(facts.cgroup_memory_current_bytes, 4096);
	assert_int_equal(facts.cgroup_memory_max_bytes, 8192);
	assert_string_equal(facts.cgroup_max_path, "/m");
	assert_int_equal(facts.cgroup_max_events, 12);
	assert_int_equal(facts.cgroup_oom_kills, 2);
	assert_int_equal(facts.hugetlb_cgroup_max_bytes, 2097152);
	KNOWN(hugetlb_cgroup_current_bytes);
	assert_int_equal(facts.hugetlb_cgroup_max_events, 1);
	assert_string_equal(facts.rdmacg_path, "/r/s");
	assert_int_equal(facts.rdmacg_object_max, 3);
	assert_int_equal(facts.rdmacg_object_current, 4);
}

static void version_one_without_limits(void **state)
{
	(void)state;
	tree_write(&tree, "proc/123/cgroup", "4:memory:/m\n");
	tree_write(&tree, "sys/fs/cgroup/memory/m/memory.limit_in_bytes", "9223372036854771712\n");
	run();
	assert_true(facts.cgroup_memory_max_bytes == UINT64_MAX);
	UNKNOWN(cgroup_max_path, FACT_NONE);
	UNKNOWN(cgroup_oom_kills, FACT_NONE);
	UNKNOWN(cgroup_max_events, FACT_NONE);
	UNKNOWN(cgroup_memory_current_bytes, FACT_NONE);
}

/* The name of a hierarchy becomes part of a path. */
static void hostile_lines(void **state)
{
	static const char *const lines[] = {
		"4:memory\n", "4\n", "4:memory:m\n", ":::\n", "4:memory:/../../x\n",
		"4:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa,memory:/m\n",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		tree_write(&tree, "proc/123/cgroup", lines[i]);
		run();
		assert_true(facts.err[FACT_cgroup_memory_max_bytes] < 0);
		assert_true(facts.err[FACT_rdmacg_path] < 0);
	}
}

static void tightest_of_several(void **state)
{
	(void)state;
	tree_write(&tree, "sys/fs/cgroup/a/b/memory.max", "4096\n");
	run();
	assert_string_equal(facts.cgroup_max_path, "/a/b");
	assert_int_equal(facts.cgroup_memory_max_bytes, 4096);
	tree_write(&tree, "sys/fs/cgroup/a/b/memory.events", "low 0\n");
	run();
	UNKNOWN(cgroup_oom_kills, FACT_NONE);
	tree_write(&tree, "sys/fs/cgroup/a/b/memory.events", "oom_kill x\nmax 18446744073709551616\n");
	run();
	UNKNOWN(cgroup_oom_kills, -EBADMSG);
	UNKNOWN(cgroup_max_events, -EBADMSG);
}

static void rdma_limits(void **state)
{
	(void)state;
	tree_write(&tree, "sys/fs/cgroup/a/rdma.current", "rxe0 hca_handle=1 hca_object=9\n");
	run();
	UNKNOWN(rdmacg_path, FACT_NONE);
	/* One of a device that begins alike says nothing. */
	tree_write(&tree, "sys/fs/cgroup/a/rdma.current", "rxe01 hca_handle=1 hca_object=10\n");
	run();
	UNKNOWN(rdmacg_path, FACT_NONE);
	tree_write(&tree, "sys/fs/cgroup/a/rdma.max", "rxe0 hca_handle=1 hca_object=0\n");
	run();
	assert_string_equal(facts.rdmacg_path, "/a");
	assert_int_equal(facts.rdmacg_object_current, 0);
	/* The nearest one that is reached. */
	tree_write(&tree, "sys/fs/cgroup/a/b/rdma.max", "rxe0 hca_handle=1 hca_object=5\n");
	tree_write(&tree, "sys/fs/cgroup/a/b/rdma.current", "rxe0 hca_handle=1 hca_object=5\n");
	run();
	assert_string_equal(facts.rdmacg_path, "/a/b");
	tree_write(&tree, "sys/fs/cgroup/a/b/rdma.max", "rxe0 hca_handle=1\n");
	run();
	UNKNOWN(rdmacg_path, -EBADMSG);
	tree_write(&tree, "sys/fs/cgroup/a/b/rdma.max", "rxe0 hca_handle=1 hca_object=maximum\n");
	run();
	UNKNOWN(rdmacg_path, -EBADMSG);
	req.device[0] = '\0';
	run();
	UNKNOWN(rdmacg_path, FACT_NOT_ASKED);
}

static void huge_page_sizes(void **state)
{
	(void)state;
	req.hugetlb_bytes = 1ULL << 30;
	tree_write(&tree, "sys/fs/cgroup/a/hugetlb.1GB.max", "0\n");
	tree_write(&tree, "sys/fs/cgroup/a/hugetlb.1GB.current", "0\n");
	tree_write(&tree, "sys/kernel/mm/hugepages/hugepages-1048576kB/free_hugepages", "1\n");
	run();
	KNOWN(hugetlb_free_pages);
	UNKNOWN(hugetlb_total_pages, -ENOENT);
	KNOWN(hugetlb_cgroup_max_bytes);
	assert_int_equal(facts.hugetlb_cgroup_max_bytes, 0);
	KNOWN(hugetlb_cgroup_current_bytes);
	UNKNOWN(hugetlb_cgroup_max_events, FACT_NONE);
	req.hugetlb_bytes = 64 << 10;
	run();
	UNKNOWN(hugetlb_cgroup_max_bytes, FACT_NONE);
	UNKNOWN(hugetlb_cgroup_current_bytes, FACT_NONE);
	UNKNOWN(hugetlb_free_pages, -ENOENT);
	req.hugetlb_bytes = 0;
	run();
	UNKNOWN(hugetlb_free_pages, FACT_NOT_ASKED);
	UNKNOWN(hugetlb_cgroup_max_bytes, FACT_NOT_ASKED);
	UNKNOWN(hugetlb_cgroup_max_events, FACT_NOT_ASKED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)
		TEST(version_one),
		TEST(version_one_without_limits),
		TEST(hostile_lines),
		TEST(tightest_of_several),
		TEST(rdma_limits),
		TEST(huge_page_sizes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
