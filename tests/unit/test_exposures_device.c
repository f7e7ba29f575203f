// SPDX-License-Identifier: BSD-2-Clause
/* Exposures by drivers, DMA and limits. */
#include "exposed.h"

/* --- drivers -------------------------------------------------------------------------- */

static void pin_rules_at_their_boundaries(void **state)
{
	static const struct {
		const char *version;
		enum longterm x86_64, aarch64;
	} cases[] = {
		{ "470.256.02", LONGTERM_UNKNOWN, LONGTERM_UNKNOWN },
		{ "515.43.03", LONGTERM_UNKNOWN, LONGTERM_UNKNOWN },
		{ "515.43.04", LONGTERM_NO, LONGTERM_NO },
		{ "515.43", LONGTERM_UNKNOWN, LONGTERM_UNKNOWN },
		{ "525.147.05", LONGTERM_NO, LONGTERM_NO },
		{ "530.41.03", LONGTERM_NO, LONGTERM_NO },
		{ "531.18", LONGTERM_UNKNOWN, LONGTERM_UNKNOWN },
		{ "535", LONGTERM_NO, LONGTERM_NO },
		{ "535.104.05", LONGTERM_NO, LONGTERM_NO },
		{ "535.161.08", LONGTERM_NO, LONGTERM_NO },
		{ "535.161.09", LONGTERM_UNKNOWN, LONGTERM_UNKNOWN },
		{ "535.171.03", LONGTERM_UNKNOWN, LONGTERM_UNKNOWN },
		{ "535.171.04", LONGTERM_YES, LONGTERM_NO },
		{ "535.288.01", LONGTERM_YES, LONGTERM_NO },
		{ "535.288.02", LONGTERM_UNKNOWN, LONGTERM_UNKNOWN },
		{ "540.3.0", LONGTERM_UNKNOWN, LONGTERM_UNKNOWN },
		{ "544.99", LONGTERM_UNKNOWN, LONGTERM_UNKNOWN },
		{ "545.23.06", LONGTERM_NO, LONGTERM_NO },
		{ "545.29.06", LONGTERM_NO, LONGTERM_NO },
		{ "546.1", LONGTERM_UNKNOWN, LONGTERM_UNKNOWN },
		{ "550.40.53", LONGTERM_NO, LONGTERM_NO },
		{ "550.40.54", LONGTERM_UNKNOWN, LONGTERM_UNKNOWN },
		{ "550.40.55", LONGTERM_YES, LONGTERM_NO },
		{ "550.40.99", LONGTERM_YES, LONGTERM_NO },
		{ "550.41", LONGTERM_UNKNOWN, LONGTERM_UNKNOWN },
		{ "550.54.13", LONGTERM_UNKNOWN, LONGTERM_UNKNOWN },
		{ "550.54.14", LONGTERM_NO, LONGTERM_NO },
		{ "550.54.15", LONGTERM_NO, LONGTERM_NO },
		{ "550.54.16", LONGTERM_UNKNOWN, LONGTERM_UNKNOWN },
		{ "550.66", LONGTERM_UNKNOWN, LONGTERM_UNKNOWN },
		{ "550.67", LONGTERM_YES, LONGTERM_NO },
		{ "550.163.01", LONGTERM_YES, LONGTERM_NO },
		{ "550.163.02", LONGTERM_UNKNOWN, LONGTERM_UNKNOWN },
		{ "555.42.02", LONGTERM_YES, LONGTERM_NO },
		{ "555.58.02", LONGTERM_YES, LONGTERM_NO },
		{ "560.35.03", LONGTERM_YES, LONGTERM_NO },
		{ "560.35.05", LONGTERM_UNKNOWN, LONGTERM_UNKNOWN },
		{ "565.57.01", LONGTERM_YES, LONGTERM_NO },
		{ "565.77", LONGTERM_UNKNOWN, LONGTERM_UNKNOWN },
		{ "570.86.15", LONGTERM_YES, LONGTERM_NO },
		{ "570.211.01", LONGTERM_YES, LONGTERM_NO },
		{ "570.211.02", LONGTERM_UNKNOWN, LONGTERM_UNKNOWN },
		{ "575.64.05", LONGTERM_YES, LONGTERM_NO },
		{ "575.64.06", LONGTERM_UNKNOWN, LONGTERM_UNKNOWN },
		{ "580.65.06", LONGTERM_YES, LONGTERM_NO },
		{ "580.142", LONGTERM_YES, LONGTERM_NO },
		{ "580.143", LONGTERM_UNKNOWN, LONGTERM_UNKNOWN },
		{ "590.48.01", LONGTERM_YES, LONGTERM_NO },
		{ "590.48.02", LONGTERM_UNKNOWN, LONGTERM_UNKNOWN },
		{ "595.45.04", LONGTERM_YES, LONGTERM_NO },
		{ "595.45.05", LONGTERM_UNKNOWN, LONGTERM_UNKNOWN },
		{ "610.57.04", LONGTERM_UNKNOWN, LONGTERM_UNKNOWN },
		{ "", LONGTERM_UNKNOWN, LONGTERM_UNKNOWN },
		{ "550.67-beta", LONGTERM_UNKNOWN, LONGTERM_UNKNOWN },
		{ "550.", LONGTERM_UNKNOWN, LONGTERM_UNKNOWN },
		{ "550.67.1.2", LONGTERM_UNKNOWN, LONGTERM_UNKNOWN },
		{ "99999999999999999999.1", LONGTERM_UNKNOWN, LONGTERM_UNKNOWN },
		{ ".550", LONGTERM_UNKNOWN, LONGTERM_UNKNOWN },
		{ "550..67", LONGTERM_UNKNOWN, LONGTERM_UNKNOWN },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		if (nvidia_longterm(cases[i].version, "x86_64") != cases[i].x86_64 ||
		    nvidia_longterm(cases[i].version, "aarch64") != cases[i].aarch64 ||
		    nvidia_longterm(cases[i].version, "ppc64le") != LONGTERM_UNKNOWN)
			fail_msg("%s", cases[i].version);
}

#define OPEN(v) "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  " v "  Release Build  (x@y)\n"
#define CLOSED(v) "NVRM version: NVIDIA UNIX x86_64 Kernel Module  " v "  Sat Aug 19 01:15:15 UTC 2023\n"

/* `line` is the driver's own, NULL = it has none. */
static void make_nvidia(const char *line, const char *version)
{
	tree_write(&tree, "sys/module/nvidia/initstate", "live\n");
	tree_write(&tree, "sys/module/nvidia/version", version);
	if (line)
		tree_write(&tree, "proc/driver/nvidia/version", line);
	else
		unlink(tree_path(&tree, "proc/driver/nvidia/version"));
}

static void first_pin_and_where_it_hurts(void **state)
{
	(void)state;
	make_nvidia(OPEN("535.104.05"), "535.104.05");
	run();
	EXPOSED(nvidia_first_pin, LOW);
	SEEN(nvidia_first_pin, "driver 535.104.05 on x86_64, open kernel module");
	REMEDY(nvidia_first_pin, "from 535.171.04 on in the 535 series, or from 550.67");
	make_cma("8000", "0", ZONE("0", "Normal", "524288", "1000", "2000", "900"));
	run();
	EXPOSED(nvidia_first_pin, HIGH);
	EXPOSED(cma_area, HIGH);
	EXPOSED(cma_over_half, HIGH);
	REMEDY(nvidia_first_pin, "remove the CMA area");
	make_nvidia(OPEN("535.171.04"), "535.171.04");
	run();
	NOT_EXPOSED(nvidia_first_pin);
	EXPOSED(cma_area, MEDIUM);
	run_on("aarch64");
	EXPOSED(nvidia_first_pin, HIGH);
	REMEDY(nvidia_first_pin, "no driver for this machine is known to pin long-term");
	rows_are_complete();
}

static void versions_that_are_not_known(void **state)
{
	(void)state;
	make_nvidia(OPEN("610.57.04"), "610.57.04");
	run_on("aarch64");
	NOT_EXPOSED(nvidia_first_pin);
	assert_true(unchecked("whether the NVIDIA driver pins long-term", "not known for 610.57.04 on aarch64"));
	/* Without the module's version the driver's own line tells. */
	unlink(tree_path(&tree, "sys/module/nvidia/version"));
	run();
	assert_string_equal(node.nvidia_version, "610.57.04");
	tree_write(&tree, "proc/driver/nvidia/version", CLOSED("535.104.05"));
	run();
	assert_string_equal(node.nvidia_version, "535.104.05");
	EXPOSED(nvidia_first_pin, LOW);
	tree_write(&tree, "proc/driver/nvidia/version", "NVRM version: x86_64\n");
	run();
	NOT_EXPOSED(nvidia_first_pin);
	assert_true(unchecked("version of the NVIDIA driver", "its text is not"));
	unlink(tree_path(&tree, "proc/driver/nvidia/version"));
	run();
	assert_true(unchecked("version of the NVIDIA driver", "No such file"));
}

#define SYMBOLS(name) "0000000000000000 t __pfx_" name "\n0000000000000000 T " name "\t[ib_uverbs]\n"

static void ways_to_gpu_memory(void **state)
{
	(void)state;
	make_nvidia(OPEN("580.142"), "580.142");
	tree_write(&tree, "proc/kallsyms", SYMBOLS("ib_umem_dmabuf_get"));
	run();
	NOT_EXPOSED(gpu_memory_path);
	tree_write(&tree, "proc/kallsyms", SYMBOLS("ib_umem_dmabuf_get_pinned"));
	run();
	EXPOSED(gpu_memory_path, HIGH);
	SEEN(gpu_memory_path, "this kernel does not register dma-bufs");
	REMEDY(gpu_memory_path, "modprobe nvidia_peermem");
	rows_are_complete();
	tree_write(&tree, "sys/module/nv_peer_mem/initstate", "live\n");
	run();
	NOT_EXPOSED(gpu_memory_path);
}

static void proprietary_driver_exports_nothing(void **state)
{
	(void)state;
	make_nvidia(CLOSED("580.142"), "580.142");
	tree_write(&tree, "proc/kallsyms", SYMBOLS("ib_umem_dmabuf_get"));
	run();
	EXPOSED(gpu_memory_path, HIGH);
	SEEN(gpu_memory_path, "proprietary kernel module: does not export");
	make_nvidia(NULL, "580.142");
	run();
	NOT_EXPOSED(gpu_memory_path);
	assert_true(unchecked("registration of GPU memory", "does not tell whether the driver is the open one"));
	unlink(tree_path(&tree, "proc/kallsyms"));
	run();
	assert_true(unchecked("whether this kernel registers dma-bufs", "/proc/kallsyms"));
	unlink(tree_path(&tree, "sys/module/ib_uverbs/initstate"));
	rmdir(tree_path(&tree, "sys/module/ib_uverbs"));
	run();
	NOT_EXPOSED(gpu_memory_path);
	assert_true(unchecked("registration of GPU memory", "ib_uverbs is not loaded"));
}

static void peermem_that_failed_to_load(void **state)
{
	(void)state;
	make_nvidia(OPEN("580.142"), "580.142");
	tree_write(&tree, "proc/kallsyms", SYMBOLS("ib_umem_dmabuf_get"));
	tree_write(&tree, "dev/kmsg", "4,0,0,-;nvidia_peermem: disagrees about version of symbol ib_register_peer_memory_client\n"
		   "4,1,0,-;nvidia_peermem: Unknown symbol ib_register_peer_memory_client (err -22)\n"
		   "4,2,0,-;other: Unknown symbol x (err -2)\n");
	run();
	EXPOSED(gpu_memory_path, LOW);
	SEEN(gpu_memory_path, "disagrees about version");
	assert_int_equal(node.peermem_log.n, 2);
	tree_write(&tree, "sys/module/nvidia_peermem/initstate", "live\n");
	run();
	NOT_EXPOSED(gpu_memory_path);
}

/* --- DMA ------------------------------------------------------------------------------ */

static void translated_devices(void **state)
{
	(void)state;
	tree_write(&tree, "sys/class/iommu/dmar0/x", "");
	tree_write(&tree, "sys/kernel/iommu_groups/0/type", "identity\n");
	run();
	NOT_EXPOSED(iommu_translated);
	tree_write(&tree, "sys/kernel/iommu_groups/1/type", "DMA-FQ\n");
	run();
	EXPOSED(iommu_translated, LOW);
	SEEN(iommu_translated, "1 IOMMUs; groups: 1 translated (DMA, DMA-FQ), 1 identity");
	tree_write(&tree, "proc/cmdline", "intel_iommu=on\n");
	tree_write(&tree, "sys/class/infiniband/mlx5_0/device/iommu_group/type", "DMA\n");
	tree_write(&tree, "sys/class/infiniband/mlx5_1/device/iommu_group/type", "identity\n");
	tree_write(&tree, "sys/class/infiniband/rxe0/node_guid", "0\n");
	run();
	EXPOSED(iommu_translated, MEDIUM);
	SEEN(iommu_translated, "RDMA device mlx5_0: DMA");
	SEEN(iommu_translated, "booted with intel_iommu=on");
	assert_int_equal(node.ntranslated, 1);
	REMEDY(iommu_translated, "iommu=pt");
	rows_are_complete();
	tree_write(&tree, "sys/kernel/iommu_groups/2/x", "");
	run();
	NOT_EXPOSED(iommu_translated);
	assert_true(unchecked("IOMMU mode", "No such file"));
}

static void bounce_buffers(void **state)
{
	static const struct {
		const char *used, *boot;
		enum severity want;
	} cases[] = {
		{ "799", "quiet", SEVERITY_NONE }, { "800", "quiet", SEVERITY_MEDIUM }, { "801", "quiet", SEVERITY_MEDIUM },
		{ "0", "swiotlb=noforce", SEVERITY_NONE }, { "0", "swiotlb=65536,force", SEVERITY_HIGH },
		{ "0", "swiotlb=65536", SEVERITY_NONE },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		tree_write(&tree, "sys/kernel/debug/swiotlb/io_tlb_used", cases[i].used);
		tree_write(&tree, "proc/cmdline", cases[i].boot);
		run();
		assert_int_equal(ROW(swiotlb_bounce)->severity, cases[i].want);
		rows_are_complete();
	}
}

/* --- limits --------------------------------------------------------------------------- */

static const char limits[] = "Limit                     Soft Limit           Hard Limit           Units\n"
			     "Max locked memory         %s %s bytes\nMax address space  unlimited unlimited bytes\n";


static void write_limits(const char *pid, const char *comm, const char *cgroup, const char *soft, const char *hard)
{
	char name[64], text[512];

	snprintf(name, sizeof(name), "proc/%s/comm", pid);
	snprintf(text, sizeof(text), "%s\n", comm);
	tree_write(&tree, name, text);
	snprintf(name, sizeof(name), "proc/%s/cgroup", pid);
	snprintf(text, sizeof(text), "0::%s\n", cgroup);
	tree_write(&tree, name, text);
	snprintf(name, sizeof(name), "proc/%s/limits", pid);
	snprintf(text, sizeof(text), limits, soft, hard);
	tree_write(&tree, name, text);
}

static void memlock_of_services(void **state)
{
	(void)state;
	write_limits("77", "slurmd", "/system.slice/slurmd.service", "unlimited", "unlimited");
	write_limits("78", "bash", "/user.slice/user-0.slice/session-1.scope", "8388608", "8388608");
	write_limits("1", "systemd", "/init.scope", "65536", "65536");
	run();
	NOT_EXPOSED(memlock_limit);
	write_limits("90", "sshd", "/system.slice/ssh.service", "8388608", "unlimited");
	run();
	EXPOSED(memlock_limit, LOW);
	SEEN(memlock_limit, "sshd[90] in ssh.service");
	SEEN(memlock_limit, "8.0 MiB soft, unlimited hard");
	REMEDY(memlock_limit, "/etc/security/limits.d/");
	write_limits("91", "slurmstepd", "/system.slice/slurmstepd.scope/job_7/step_0/user", "65536", "65536");
	write_limits("92", "slurmstepd", "/system.slice/slurmstepd.scope/job_8/step_0/user", "65536", "65536");
	write_limits("93", "systemd", "/user.slice/user-7.slice/user@7.service/init.scope", "65536", "65536");
	run();
	EXPOSED(memlock_limit, MEDIUM);
	SEEN(memlock_limit, "in slurmstepd.scope");
	SEEN(memlock_limit, "64.0 KiB soft, 64.0 KiB hard, and more processes like it");
	SEEN(memlock_limit, "systemd[93] in user@7.service");
	REMEDY(memlock_limit, "systemctl edit slurmd.service");
	rows_are_complete();
}

/* The name of a cgroup may be anybody's: it gets into no command, and steers no terminal. */
static void hostile_names(void **state)
{
	(void)state;
	write_limits("91", "dockerd", "/x;reboot\x1b[2J.service", "65536", "65536");
	run();
	EXPOSED(memlock_limit, MEDIUM);
	SEEN(memlock_limit, "x;reboot\\x1b[2J.service");
	REMEDY(memlock_limit, "systemctl edit docker.service");
	assert_false(has(ROW(memlock_limit)->remedies, ROW(memlock_limit)->nremedies, "reboot"));
	write_limits("91", "dockerd", "/-f.service", "65536", "65536");
	run();
	REMEDY(memlock_limit, "systemctl edit docker.service");
}

static void more_services_than_fit(void **state)
{
	char pid[16], bytes[16];

	(void)state;
	for (int i = 0; i <= NODE_SERVICES_MAX; i++) {
		snprintf(pid, sizeof(pid), "%d", 100 + i);
		snprintf(bytes, sizeof(bytes), "%d", 4096 * (i + 1));
		write_limits(pid, "slurmd", "/system.slice/slurmd.service", bytes, bytes);
	}
	run();
	assert_int_equal(node.nservices, NODE_SERVICES_MAX);
	assert_int_equal(ROW(memlock_limit)->nevidence, EXPOSURE_EVIDENCE_MAX);
	SEEN(memlock_limit, "and 1 more");
	assert_true(unchecked("memlock limits of more services", "1 processes beyond the first 32"));
	tree_write(&tree, "proc/100/limits", "nonsense\n");
	run();
	assert_true(unchecked("memlock limits of some services", "1 processes"));
}

static void write_maps(const char *pid, int mappings, const char *library)
{
	char name[64], text[65536];
	size_t len = 0;

	for (int i = 0; i < mappings; i++)
		len += (size_t)snprintf(text + len, sizeof(text) - len, "7f00-7f01 r--p 0 00:00 0 %s\n",
					i == 0 ? library : "[anon]");
	snprintf(text + len, sizeof(text) - len, "ffffffffff600000-ffffffffff601000 --xp 0 00:00 0 [vsyscall]\n");
	snprintf(name, sizeof(name), "proc/%s/maps", pid);
	tree_write(&tree, name, text);
	snprintf(name, sizeof(name), "proc/%s/comm", pid);
	tree_write(&tree, name, "rank\n");
}

#define VERBS "/usr/lib/x86_64-linux-gnu/libibverbs.so.1.14.44.0"

static void mappings_near_their_limit(void **state)
{
	(void)state;
	write_maps("500", 79, VERBS);
	write_maps("501", 100, "/usr/lib/other.so");
	run();
	NOT_EXPOSED(max_map_count);
	assert_int_equal(node.map_processes, 1);
	assert_int_equal(node.map_count, 79);
	write_maps("502", 80, VERBS);
	run();
	EXPOSED(max_map_count, MEDIUM);
	SEEN(max_map_count, "rank[502] has 80 mappings, vm.max_map_count is 100");
	SEEN(max_map_count, "of 2 processes");
	REMEDY(max_map_count, "sysctl vm.max_map_count=400");
	rows_are_complete();
	tree_write(&tree, "proc/sys/vm/max_map_count", "lots\n");
	run();
	NOT_EXPOSED(max_map_count);
	assert_true(unchecked("mappings of processes", "its text"));
}

static void limits_of_rdma_objects(void **state)
{
	(void)state;
	tree_write(&tree, "sys/fs/cgroup/a/rdma.max", "mlx5_0 hca_handle=max hca_object=max \n");
	run();
	NOT_EXPOSED(rdma_cgroup_limit);
	tree_write(&tree, "sys/fs/cgroup/a/b/c/rdma.max", "mlx5_0 hca_handle=max hca_object=12 \nmlx5_1 hca_handle=2 hca_object=max \n");
	tree_write(&tree, "sys/fs/cgroup/a/b/c/d/rdma.max", "mlx5_0 hca_handle=1 hca_object=1 \n");
	run();
	EXPOSED(rdma_cgroup_limit, MEDIUM);
	SEEN(rdma_cgroup_limit, "/sys/fs/cgroup/a/b/c/rdma.max: mlx5_0 hca_handle=max hca_object=12");
	SEEN(rdma_cgroup_limit, "mlx5_1 hca_handle=2");
	assert_int_equal(node.nlimits, 2);
	rows_are_complete();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)
		TEST(pin_rules_at_their_boundaries),
		TEST(first_pin_and_where_it_hurts),
		TEST(versions_that_are_not_known),
		TEST(ways_to_gpu_memory),
		TEST(proprietary_driver_exports_nothing),
		TEST(peermem_that_failed_to_load),
		TEST(translated_devices),
		TEST(bounce_buffers),
		TEST(memlock_of_services),
		TEST(hostile_names),
		TEST(more_services_than_fit),
		TEST(mappings_near_their_limit),
		TEST(limits_of_rdma_objects),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
