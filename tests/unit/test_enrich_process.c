// SPDX-License-Identifier: BSD-2-Clause
/* What is read of a process and its ancestors: limits, job, io_uring buffers, mappings. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <elf.h>

#include "enrich/build_id.h"
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

/* --- limits --------------------------------------------------------------------- */

static void ancestor(const char *pid, const char *comm, const char *ppid, const char *soft, const char *group)
{
	char name[64], text[1024];

	snprintf(name, sizeof(name), "proc/%s/stat", pid);
	snprintf(text, sizeof(text), STAT_OF("%s", "%s", "%s", "%s"), pid, comm, ppid,
		 strcmp(pid, "123") ? "1" : "4711");
	tree_write(&tree, name, text);
	snprintf(name, sizeof(name), "proc/%s/limits", pid);
	snprintf(text, sizeof(text), LIMITS("%s"), soft);
	tree_write(&tree, name, text);
	snprintf(name, sizeof(name), "proc/%s/cgroup", pid);
	tree_write(&tree, name, group);
}

#define SESSION "0::/user.slice/user-0.slice/session-3.scope\n"

static void limit_of_a_service(void **state)
{
	(void)state;
	ancestor("123", "worker", "40", "8388608", SESSION);
	ancestor("40", "bash", "30", "8388608", SESSION);
	ancestor("30", "sshd", "1", "8388608", "0::/system.slice/sshd.service\n");
	ancestor("1", "systemd", "0", "unlimited", "0::/init.scope\n");
	run();
	assert_string_equal(facts.limit_chain,
			    "worker[123] 8.0 MiB < bash[40] 8.0 MiB < sshd[30] 8.0 MiB < systemd[1] unlimited");
	assert_string_equal(facts.limit_set_by, "sshd.service (sshd[30]): its parent systemd[1] has unlimited");
	/* The row is broken below: above it is another matter. */
	ancestor("40", "bash", "30", "65536", SESSION);
	run();
	assert_string_equal(facts.limit_set_by,
			    "the process itself or its program (worker[123]): its parent bash[40] has 64.0 KiB");
	ancestor("40", "bash", "30", "8388608", SESSION);
	ancestor("30", "sshd", "1", "unlimited", SESSION);
	run();
	assert_string_equal(facts.limit_set_by, "bash[40]: its parent sshd[30] has unlimited");
}

static void limit_of_everybody(void **state)
{
	(void)state;
	ancestor("123", "worker", "1", "65536", "1:name=systemd:/system.slice/x.service\n0::/\n");
	ancestor("1", "init", "0", "65536", "0::/\n");
	run();
	assert_string_equal(facts.limit_set_by, "the first process, init[1]: the default of this node or container");
	ancestor("1", "init", "0", "0", "0::/\n");
	run();
	assert_string_equal(facts.limit_set_by, "x.service (worker[123]): its parent init[1] has 0 bytes");
}

static void limit_of_a_container(void **state)
{
	(void)state;
	ancestor("123", "worker", "40", "65536", "0::/kubepods.slice/cri-containerd-1.scope\n");
	ancestor("40", "sh", "30", "65536", "0::/kubepods.slice/cri-containerd-1.scope\n");
	ancestor("30", "containerd-shim", "1", "unlimited", "0::/system.slice/containerd.service\n");
	ancestor("1", "systemd", "0", "unlimited", "0::/init.scope\n");
	run();
	assert_string_equal(facts.limit_set_by, "container runtime containerd-shim[30]");
	ancestor("30", "containerd-shim", "1", "65536", "0::/system.slice/containerd.service\n");
	run();
	assert_string_equal(facts.limit_set_by, "container runtime containerd-shim[30]");
}

static void ancestors_that_cannot_be_seen(void **state)
{
	(void)state;
	ancestor("123", "worker", "40", "65536", "0::/x\n");
	run();
	assert_string_equal(facts.limit_chain, "worker[123] 64.0 KiB < ...");
	assert_string_equal(facts.limit_set_by, "the process itself or its program (worker[123]) or an ancestor "
			    "that could not be seen");
	tree_write(&tree, "proc/123/limits", "Max locked memory         many bytes\n");
	run();
	UNKNOWN(limit_chain, -EBADMSG);
	UNKNOWN(limit_set_by, -EBADMSG);
	remove(tree_path(&tree, "proc/123/limits"));
	run();
	UNKNOWN(limit_chain, -ENOENT);
}

/* A circle, a crowd, and names that steer terminals. */
static void hostile_ancestors(void **state)
{
	char pid[16], ppid[16];

	(void)state;
	ancestor("123", "a) S 9 (\x1b[2J", "123", "65536", "0::/\x1b]0;x.service\n");
	run();
	KNOWN(limit_chain);
	assert_null(strchr(facts.limit_chain, '\x1b'));
	assert_null(strchr(facts.limit_set_by, '\x1b'));
	assert_non_null(strstr(facts.limit_chain, " < ..."));
	assert_true(strlen(facts.limit_chain) < sizeof(facts.limit_chain));
	for (int i = 200; i < 260; i++) {
		snprintf(pid, sizeof(pid), "%d", i);
		snprintf(ppid, sizeof(ppid), "%d", i + 1);
		ancestor(pid, "\1\2\3\4\5\6\7\1\2\3\4\5\6\7\1", ppid, "65536", "0::/\n");
	}
	ancestor("123", "worker", "200", "65536", "0::/\n");
	run();
	KNOWN(limit_chain);
	KNOWN(limit_set_by);
	assert_string_equal(facts.limit_chain + strlen(facts.limit_chain) - 6, " < ...");
	tree_write(&tree, "proc/200/stat", ") 5 (");
	run();
	assert_string_equal(facts.limit_chain, "worker[123] 64.0 KiB < ...");
}

/* --- the job -------------------------------------------------------------------- */

static void ranks_and_ids(void **state)
{
	(void)state;
	ENVIRON("PMIX_RANK=5\0SLURM_PROCID=4\0RANK=6\0LSB_JOBID=9\0PMIX_NAMESPACE=n.0\0");
	run();
	assert_string_equal(facts.job_scheduler, "lsf");
	assert_string_equal(facts.job_id, "9");
	assert_string_equal(facts.job_rank, "6");
	assert_string_equal(facts.communicator, "n.0");
	ENVIRON("LOCAL_RANK=2\0");
	run();
	assert_string_equal(facts.job_rank, "local 2");
	assert_string_equal(facts.job_scheduler, "torchrun");
	UNKNOWN(job_id, FACT_NONE);
	ENVIRON("OMPI_COMM_WORLD_RANK=0\0");
	run();
	assert_string_equal(facts.job_scheduler, "openmpi");
	assert_string_equal(facts.job_rank, "0");
	ENVIRON("");
	run();
	UNKNOWN(job_scheduler, FACT_NONE);
	UNKNOWN(communicator, FACT_NONE);
	remove(tree_path(&tree, "proc/123/environ"));
	run();
	UNKNOWN(job_id, -ENOENT);
	UNKNOWN(communicator, -ENOENT);
}

static void hostile_environments(void **state)
{
	enum { LONG = 300000 };
	char *text = malloc(LONG + 64);

	(void)state;
	/* Neither a name that only ends or begins alike, nor a value that is cut, nor one without an end. */
	ENVIRON("XSLURM_JOB_ID=1\0SLURM_JOB_ID2=2\0SLURM_JOB_ID\0SLURM_JOB_ID=\0PBS_JOBID=7\0SLURM_JOB_ID=8");
	run();
	assert_string_equal(facts.job_id, "7");
	ENVIRON("SLURM_JOB_ID=\x1b[2J\xff\0SLURM_JOB_ID=5\0");
	run();
	assert_string_equal(facts.job_id, "\\x1b[2J\\xff");
	ENVIRON("RANK=12345678901234567890\0");
	run();
	UNKNOWN(job_rank, -ENAMETOOLONG);
	/* An entry of any length ends somewhere, and what follows counts again. */
	memset(text, 'x', LONG);
	memcpy(text, "SLURM_JOB_ID=", 13);
	memcpy(text + LONG, "\0PBS_JOBID=3\0", 13);
	tree_write_bytes(&tree, "proc/123/environ", text, LONG + 13);
	run();
	assert_string_equal(facts.job_id, "3");
	assert_string_equal(facts.job_scheduler, "pbs");
	free(text);
}

/* --- io_uring ------------------------------------------------------------------- */

#define RING(text) tree_write(&tree, "proc/123/fdinfo/5", text)

static void io_uring_buffers(void **state)
{
	(void)state;
	RING("UserBufs:\t3\n    0: 0x1000/4096\n    1: <none>\n    2: 0x1fff/2\nPollList:\n  op=1, task_works=0\n");
	run();
	assert_int_equal(facts.io_uring_pages, 1 + 2);
	tree_link("proc/123/fd/6", "anon_inode:[io_uring]");
	tree_write(&tree, "proc/123/fdinfo/6", "UserBufs:\t1\n    0: 0x0/0\n");
	tree_link("proc/123/fd/7", "anon_inode:[io_uring]");
	run();
	assert_int_equal(facts.io_uring_pages, 3);
	RING("UserBufs:\t0\n");
	run();
	KNOWN(io_uring_pages);
	assert_int_equal(facts.io_uring_pages, 0);
}

static void io_uring_that_does_not_tell(void **state)
{
	(void)state;
	RING("UserBufs:\t2\nPollList:\n");
	run();
	UNKNOWN(io_uring_pages, -EBUSY);
	RING("UserBufs:\t2\n    0: 0x1000/4096\n");
	run();
	UNKNOWN(io_uring_pages, -EBUSY);
	RING("pos:\t0\nflags:\t02\n");
	run();
	UNKNOWN(io_uring_pages, -EOPNOTSUPP);
	RING("UserBufs:\tmany\n");
	run();
	UNKNOWN(io_uring_pages, -EBADMSG);
	RING("UserBufs:\t1\n    0: 0xffffffffffffffff/4096\n");
	run();
	UNKNOWN(io_uring_pages, -EBUSY);
}

/* Names of registered files come first, and on older kernels as they are. */
static void io_uring_with_hostile_files(void **state)
{
	(void)state;
	RING("UserFiles:\t1\n    0: x\nUserBufs:\t1\n    0: 0x0/4096000\nUserBufs:\t1\n    0: 0x0/4096\n");
	run();
	assert_int_equal(facts.io_uring_pages, 1);
}

static void too_many_descriptors(void **state)
{
	char name[64];

	(void)state;
	for (int i = 10; i < 4200; i++) {
		snprintf(name, sizeof(name), "proc/123/fd/%d", i);
		tree_link(name, "/dev/null");
	}
	run();
	UNKNOWN(io_uring_pages, -E2BIG);
}

/* --- mappings ------------------------------------------------------------------- */

/* A file with one note of `desc_len` bytes 0xab, said to be `filesz` long. */
static void elf(const char *name, uint64_t filesz, uint32_t desc_len)
{
	struct {
		Elf64_Ehdr eh;
		Elf64_Phdr ph[2];
		Elf64_Nhdr note;
		char text[4];
		unsigned char id[64];
	} file = {
		.eh = { .e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB }, .e_phnum = 2,
			.e_phoff = sizeof(Elf64_Ehdr), .e_phentsize = sizeof(Elf64_Phdr) },
		.ph = { { .p_type = PT_LOAD },
			{ .p_type = PT_NOTE, .p_filesz = filesz,
			  .p_offset = sizeof(Elf64_Ehdr) + 2 * sizeof(Elf64_Phdr) } },
		.note = { .n_namesz = 4, .n_descsz = desc_len, .n_type = NT_GNU_BUILD_ID },
		.text = "GNU",
	};

	memset(file.id, 0xab, sizeof(file.id));
	tree_write_bytes(&tree, name, &file, sizeof(file));
}

#define MAP_FILE "proc/123/map_files/7f0000000000-7f0000001000"

static void build_ids(void **state)
{
	(void)state;
	elf(MAP_FILE, 36, 20);
	run();
	assert_string_equal(facts.libraries, "libibverbs.so.1=abababababababababababababababababababab");
	elf(MAP_FILE, 16 + 32, 32);
	run();
	assert_int_equal(strlen(facts.libraries), strlen("libibverbs.so.1=") + 64);
}

static void hostile_elf_files(void **state)
{
	static const struct {
		uint64_t filesz;
		uint32_t desc_len;
	} bad[] = {
		{ 36, 21 }, { 35, 20 }, { 12, 20 }, { 0, 20 }, { UINT64_MAX, 20 }, { 3000, 20 }, { 36, 0 },
		{ 36, UINT32_MAX }, { 80, 33 }, { 36, 0xfffffff0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		elf(MAP_FILE, bad[i].filesz, bad[i].desc_len);
		run();
		assert_string_equal(facts.libraries, "libibverbs.so.1=");
	}
	tree_write(&tree, MAP_FILE, "\x7f" "ELF");
	run();
	assert_string_equal(facts.libraries, "libibverbs.so.1=");
	/* Nobody will ever write into it. */
	remove(tree_path(&tree, MAP_FILE));
	assert_int_equal(mkfifo(tree_path(&tree, MAP_FILE), 0600), 0);
	run();
	assert_string_equal(facts.libraries, "libibverbs.so.1=");
}

#define MAP(range, path) range " r--p 00000000 08:01 11    " path "\n"

static void libraries_of_interest(void **state)
{
	(void)state;
	tree_write(&tree, "proc/123/maps",
		   MAP("1000-2000", "/opt/libnccl.so.2 (deleted)") MAP("2000-3000", "/opt/libnccl.so.2 (deleted)")
		   MAP("3000-4000", "/opt/libncclx.so") MAP("4000-5000", "/a b/libnccl-net.so")
		   MAP("5000-6000", "/opt/libcuda\\012.so") MAP("6000-7000", "libmpi.so.40")
		   MAP("7000-8000", "/opt/libcuda.so.535.104.05") MAP("8000-9000", "/opt/libmlx5-rdmav34.so"));
	run();
	assert_string_equal(facts.libraries,
			    "libnccl.so.2=\nlibnccl-net.so=\nlibcuda.so.535.104.05=\nlibmlx5-rdmav34.so=");
	assert_int_equal(facts.map_count, 8);
	tree_write(&tree, "proc/123/maps", MAP("1000-2000", "/usr/bin/app"));
	run();
	UNKNOWN(libraries, FACT_NONE);
	assert_int_equal(facts.map_count, 1);
	remove(tree_path(&tree, "proc/123/maps"));
	run();
	UNKNOWN(libraries, -ENOENT);
	UNKNOWN(map_count, -ENOENT);
}

/* As many libraries as a hostile process likes, and lines without an end. */
static void hostile_maps(void **state)
{
	enum { LINES = 200, LONG = 5000 };
	char *text = malloc(LINES * 128 + LONG + 64), *p = text;

	(void)state;
	memset(p, 'x', LONG);
	memcpy(p, "1000-2000 r--p 0 0 0 /", 22);
	p += LONG;
	p += sprintf(p, "/libnccl.so.1\n");
	for (int i = 0; i < LINES; i++)
		p += sprintf(p, MAP("%x000-%x001", "/x/libnccl.so.%d.a-rather-long-name"), i, i, i);
	tree_write(&tree, "proc/123/maps", text);
	run();
	assert_int_equal(facts.map_count, LINES + 1);
	KNOWN(libraries);
	assert_true(strlen(facts.libraries) < sizeof(facts.libraries));
	assert_int_equal(facts.libraries[strlen(facts.libraries) - 1], '=');
	assert_null(strstr(facts.libraries, "libnccl.so.1="));
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)
		TEST(limit_of_a_service),
		TEST(limit_of_everybody),
		TEST(limit_of_a_container),
		TEST(ancestors_that_cannot_be_seen),
		TEST(hostile_ancestors),
		TEST(ranks_and_ids),
		TEST(hostile_environments),
		TEST(io_uring_buffers),
		TEST(io_uring_that_does_not_tell),
		TEST(io_uring_with_hostile_files),
		TEST(too_many_descriptors),
		TEST(build_ids),
		TEST(hostile_elf_files),
		TEST(libraries_of_interest),
		TEST(hostile_maps),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
