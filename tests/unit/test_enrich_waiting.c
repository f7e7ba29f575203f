// SPDX-License-Identifier: BSD-2-Clause
/*
 * BAR1 through a stand-in for NVML (standin/nvml.c), which also hangs and crashes: then what the same
 * child has read before is kept.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <poll.h>
#include <sys/wait.h>

#include "enrich_tree.h"

#define BUDGET_NS 30000000000ULL
#define SHORT_NS 200000000ULL

static char library[PATH_MAX];

static int setup(void **state)
{
	(void)state;
	enrich_tree_make();
	enrich.nvml = library;
	enrich.budget_ns = BUDGET_NS;
	unsetenv("NVML_STAND_IN");
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	tree_remove(&tree);
	return 0;
}

static void behave(const char *how)
{
	setenv("NVML_STAND_IN", how, 1);
	run();
}

#define PATIENCE_MS 10000	/* a killed child needs a processor to end */

/* Whatever happened, no child is left running. */
static void no_child(void)
{
	pid_t pid = 0;

	for (int ms = 0; ms < PATIENCE_MS && pid >= 0; ms++) {
		pid = waitpid(-1, NULL, WNOHANG);
		if (pid == 0)
			poll(NULL, 0, 1);
	}
	assert_int_equal(pid, -1);
	assert_int_equal(errno, ECHILD);
}

/* A pipe that nobody writes to, for a lock that is not given back. */
static void a_source_that_waits(void **state)
{
	(void)state;
	remove(tree_path(&tree, "proc/123/environ"));
	assert_int_equal(mkfifo(tree_path(&tree, "proc/123/environ"), 0600), 0);
	enrich.budget_ns = SHORT_NS;
	run();
	UNKNOWN(job_id, -ETIMEDOUT);
	UNKNOWN(libraries, -ETIMEDOUT);
	UNKNOWN(bar1_total_bytes, -ETIMEDOUT);
	KNOWN(mem_total_bytes);
	KNOWN(limit_chain);
	KNOWN(exe);
	/* What a memlock verdict rests on needs no such lock. */
	KNOWN(io_uring_pages);
	KNOWN(vm_pin_later_bytes);
	no_child();
	/* What nobody asked for was not late. */
	enrich.nvml = NULL;
	run();
	UNKNOWN(libraries, -ETIMEDOUT);
	UNKNOWN(bar1_total_bytes, FACT_NOT_ASKED);
	no_child();
}

static void the_tightest_gpu(void **state)
{
	(void)state;
	run();
	KNOWN(bar1_total_bytes);
	KNOWN(bar1_used_bytes);
	KNOWN(bar1_free_bytes);
	assert_int_equal(facts.bar1_total_bytes, 268435456);
	assert_int_equal(facts.bar1_used_bytes, 267386880);
	assert_int_equal(facts.bar1_free_bytes, 1048576);
	no_child();
}

static void not_asked_unless_told(void **state)
{
	(void)state;
	enrich.nvml = NULL;
	run();
	UNKNOWN(bar1_total_bytes, FACT_NOT_ASKED);
	assert_null(enrich_system("").nvml);
}

static void no_driver_no_library(void **state)
{
	(void)state;
	enrich.nvml = "libnvidia-ml.so.no-such-version";
	run();
	UNKNOWN(bar1_total_bytes, -ENOENT);
	enrich.nvml = "libc.so.6";
	run();
	UNKNOWN(bar1_total_bytes, -ENOSYS);
	remove(tree_path(&tree, "proc/driver/nvidia/version"));
	run();
	UNKNOWN(bar1_total_bytes, FACT_NONE);
	no_child();
}

static void a_library_that_fails(void **state)
{
	(void)state;
	behave("fail");
	UNKNOWN(bar1_total_bytes, -EIO);
	behave("none");
	UNKNOWN(bar1_total_bytes, FACT_NONE);
	behave("many");
	KNOWN(bar1_total_bytes);
	no_child();
}

static void a_library_that_crashes(void **state)
{
	(void)state;
	behave("crash");
	UNKNOWN(bar1_total_bytes, -EIO);
	behave("exit");
	UNKNOWN(bar1_free_bytes, -EIO);
	KNOWN(libraries);
	no_child();
}

static void a_library_that_hangs(void **state)
{
	(void)state;
	enrich.budget_ns = SHORT_NS;
	behave("hang");
	UNKNOWN(bar1_total_bytes, -ETIMEDOUT);
	KNOWN(mem_total_bytes);
	KNOWN(libraries);
	KNOWN(job_id);
	no_child();
	/* And the next is asked anew. */
	enrich.budget_ns = BUDGET_NS;
	behave("");
	KNOWN(bar1_total_bytes);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
#define TEST(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)
		TEST(the_tightest_gpu),
		TEST(not_asked_unless_told),
		TEST(no_driver_no_library),
		TEST(a_library_that_fails),
		TEST(a_library_that_crashes),
		TEST(a_library_that_hangs),
		TEST(a_source_that_waits),
	};

	/* It lies beside this program. */
	(void)argc;
	snprintf(library, sizeof(library), "%.*s/standin_nvml.so", (int)(strrchr(argv[0], '/') - argv[0]), argv[0]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
