// SPDX-License-Identifier: BSD-2-Clause
/* What the JSON says, field by field. */
#include "support.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "container.h"

static struct incident in;
static struct bench bench;

static int setup(void **state)
{
	struct pipeline_settings settings = test_settings();

	(void)state;
	bench_open(&bench, &settings);
	prove_longterm_migrate_blocked_by_ref(&in);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	bench_close(&bench);
	return 0;
}

/* The report of the incident, with or without facts. */
static struct json_object *report(bool with_facts)
{
	bench_incident(&bench, &in);
	if (with_facts)
		bench_facts(&bench);
	else
		pipeline_finish(bench.pipeline, test_clock(bench.mono_ns));
	assert_true(bench.nreports > 0);
	return bench.reports[bench.nreports - 1];
}

static const char *missing(struct json_object *r, const char *what)
{
	struct json_object *list = jget(r, "missing_evidence");
	size_t i;

	for (i = 0; i < json_object_array_length(list); i++) {
		struct json_object *entry = json_object_array_get_idx(list, i);

		if (strcmp(jstr(entry, "what"), what) == 0)
			return jstr(entry, "why");
	}
	return NULL;
}

static void envelope(void **state)
{
	struct json_object *r = report(true);

	(void)state;
	assert_int_equal(jint(r, "schema"), 1);
	assert_string_equal(jstr(r, "kind"), "registration_failed");
	assert_string_equal(jstr(r, "time"), "2026-11-30T00:55:00.000Z");
	assert_int_equal(jint(r, "monotonic_ns"), 100 * NS_PER_S);
	assert_string_equal(jstr(r, "agent.version"), "0.0-test");
	/* UUIDv7: the first 48 bits are the milliseconds of the failure. */
	assert_int_equal(strtoull(jstr(r, "report_id"), NULL, 16), (1796000100000ULL >> 16));
	assert_int_equal(jstr(r, "report_id")[14], '7');
}

static void uuid_holds_the_time(void **state)
{
	struct identity id = test_identity();
	char a[REPORT_ID_LEN], b[REPORT_ID_LEN];

	(void)state;
	report_make_id(a, &id, KIND_FAILED, 0x0123456789abULL * 1000000, 1, 2, 3);
	assert_memory_equal(a, "01234567-89ab-7", 15);
	assert_int_equal(strlen(a), REPORT_ID_LEN - 1);
	assert_non_null(strchr("89ab", a[19]));
	report_make_id(b, &id, KIND_FAILED, 0x0123456789abULL * 1000000, 1, 2, 3);
	assert_string_equal(a, b);
	report_make_id(b, &id, KIND_FAILED, 0x0123456789abULL * 1000000, 1, 2, 4);
	assert_string_not_equal(a, b);
	strcpy(id.boot_id, "another");
	report_make_id(b, &id, KIND_FAILED, 0x0123456789abULL * 1000000, 1, 2, 3);
	assert_string_not_equal(a, b);
}

static void process(void **state)
{
	struct json_object *r = report(true);

	(void)state;
	assert_int_equal(jint(r, "process.pid"), 4242);
	assert_int_equal(jint(r, "process.ns_pid"), 42);
	assert_string_equal(jstr(r, "process.comm"), "worker");
	assert_string_equal(jstr(r, "process.exe"), "/usr/bin/worker");
	assert_string_equal(jstr(r, "process.cgroup"), "/slurm/job_1");
	/* Started 60 s before the failure. */
	assert_string_equal(jstr(r, "process.start_time"), "2026-11-30T00:54:00.000Z");
}

static void a_suspended_node_dates_the_start_right(void **state)
{
	struct identity id = test_identity();
	struct json_object *r;

	(void)state;
	id.suspended_ns = 20 * NS_PER_S;
	pipeline_identity(bench.pipeline, &id);
	r = report(true);
	assert_string_equal(jstr(r, "process.start_time"), "2026-11-30T00:53:40.000Z");
}

static void registration(void **state)
{
	struct json_object *r = report(true);

	(void)state;
	assert_string_equal(jstr(r, "registration.api"), "reg_mr");
	assert_string_equal(jstr(r, "registration.entry"), "ib_uverbs_reg_mr");
	assert_string_equal(jstr(r, "registration.device"), "rxe0");
	assert_string_equal(jstr(r, "registration.driver"), "rdma_rxe");
	assert_string_equal(jstr(r, "registration.link_layer"), "Ethernet");
	assert_string_equal(jstr(r, "registration.address"), "0x7f0000001000");
	assert_int_equal(jint(r, "registration.length"), 256 * PAGE);
	assert_string_equal(jstr(r, "registration.access.1"), "REMOTE_WRITE");
	assert_string_equal(jstr(r, "registration.direction"), "device_may_write");
	assert_int_equal(jint(r, "registration.duration_ns"), 250000);
	assert_int_equal(jint(r, "registration.errno"), ENOMEM);
	assert_string_equal(jstr(r, "registration.stage"), "placement");
}

static void direction_is_the_kernels_test(void **state)
{
	(void)state;
	in.end.access = 4 | 1 << 20;
	assert_string_equal(jstr(report(true), "registration.direction"), "device_reads_only");
	in.end.access = 16;
	assert_string_equal(jstr(report(true), "registration.direction"), "device_may_write");
}

static void chain_pin_migration_pages(void **state)
{
	struct json_object *r = report(true);

	(void)state;
	assert_string_equal(jstr(r, "chain.0.function"), "migrate_pages");
	assert_int_equal(jint(r, "chain.0.left"), 1);
	assert_string_equal(jstr(r, "chain.1.errno_name"), "ENOMEM");
	assert_string_equal(jstr(r, "chain.4.function"), "ib_uverbs_reg_mr");
	assert_string_equal(jstr(r, "chain.4.module"), "ib_uverbs");
	assert_int_equal(jint(r, "pin.requested_pages"), 256);
	assert_int_equal(jint(r, "pin.pinned_pages"), 37);
	assert_string_equal(jstr(r, "pin.gup_flags"), "0x50001");
	assert_string_equal(jstr(r, "pin.gup_flags_names.0"), "FOLL_LONGTERM");
	assert_true(json_object_get_boolean(jget(r, "pin.foll_longterm")));
	assert_string_equal(jstr(r, "migration.reason"), "longterm_pin");
	assert_string_equal(jstr(r, "migration.mode"), "sync");
	assert_int_equal(jint(r, "pages_total"), 1);
	assert_int_equal(jint(r, "pages_omitted"), 0);
	assert_string_equal(jstr(r, "pages.0.pfn"), "0x75125");
	assert_string_equal(jstr(r, "pages.0.migratetype"), "CMA");
	assert_string_equal(jstr(r, "pages.0.zone"), "Normal");
	assert_string_equal(jstr(r, "pages.0.area"), "hugetlb0");
	assert_int_equal(jint(r, "pages.0.other_references"), 1);
	assert_true(json_object_get_boolean(jget(r, "pages.0.pincount_estimated")));
	assert_string_equal(jstr(r, "first_pin.grade"), "plain_reference");
}

static void an_area_without_a_name(void **state)
{
	(void)state;
	assert_string_equal(jstr(report(true), "pages.0.placement_source"), "hugetlb_cma");
	in.folios[0].have &= ~WIRE_HAVE_AREA;
	assert_string_equal(jstr(report(true), "pages.0.placement_source"), "cma_outside_known_areas");
	/* The kernel does not tell which there are. */
	in.folios[0].flags |= WIRE_FOLIO_AREA_UNTOLD;
	assert_string_equal(jstr(report(true), "pages.0.placement_source"), "cma_area_not_known");
	assert_null(jget(report(true), "pages.0.area"));
}

static void omitted_pages_are_counted(void **state)
{
	struct json_object *r;

	(void)state;
	in.end.folios_seen = 70;
	in.end.folios_dropped = 3;
	r = report(true);
	assert_int_equal(jint(r, "pages_total"), 70);
	assert_int_equal(jint(r, "pages_omitted"), 69);
	assert_string_equal(missing(r, "pages"), "3 descriptions were lost: the event ring was full");
}

/* Registrations that have not ended have taken what room there is for pins, but for what this one is sure of. */
static void holders_put_aside_are_told(void **state)
{
	struct wire_holder h;

	(void)state;
	add_rival(&in, &in.folios[0], 1);
	h = in.holders.pins[0];
	for (uint32_t i = 0; i < 32 * WIRE_HOLDERS_MAX; i++) {
		h.hdr.span_id = 5000 + i / WIRE_HOLDERS_MAX;
		h.pin.id = 100 + i;
		h.pfn = i;
		pipeline_event(bench.pipeline, &h, sizeof(h), test_clock(bench.mono_ns));
	}
	add_rival(&in, add_folio(&in, 1, 1024), 2);
	assert_null(missing(report(true), "first_pin"));
	in.end.hdr.span_id++;
	for (uint32_t i = 2; i < 5; i++)
		add_rival(&in, add_folio(&in, i, 1024), 1 + i);
	for (uint32_t i = 0; i < in.nfolios; i++)
		in.folios[i].hdr.span_id = in.holders.pins[i].hdr.span_id = in.end.hdr.span_id;
	assert_string_equal(missing(report(true), "first_pin"),
			    "3 records of who holds these pages were put aside: more pins than are kept of one registration, or too many registrations failed at once");
}

static void facts_that_came(void **state)
{
	struct json_object *r = report(true);

	(void)state;
	assert_int_equal(jint(r, "memory.free_outside_bytes"), 5LL << 30);
	assert_string_equal(jstr(r, "cgroup_limits.memory_max_bytes"), "unlimited");
	assert_string_equal(jstr(r, "memlock.limit_soft"), "unlimited");
	assert_null(missing(r, "process.exe"));
}

/* The report of the incident with these facts. */
static struct json_object *report_of(const struct facts *f)
{
	bench_incident(&bench, &in);
	pipeline_facts(bench.pipeline, bench.last_ask.id, f, test_clock(bench.mono_ns));
	assert_int_equal(bench.nreports, 1);
	return bench.reports[0];
}

static void who_set_the_limit(void **state)
{
	struct json_object *r;

	(void)state;
	prove_rlimit_memlock_exceeded(&in);
	r = report(true);
	assert_string_equal(jstr(r, "memlock.limit_set_by"),
			    "sshd.service (sshd[812]): its parent systemd[1] has unlimited");
	assert_non_null(strstr(jstr(r, "memlock.limit_chain"), "worker[4242]"));
	assert_int_equal(jint(r, "memlock.by_subsystem.rdma_pages"), 90);
	assert_int_equal(jint(r, "memlock.by_subsystem.io_uring_pages"), 10);
}

static void no_limit_was_set_by_nobody(void **state)
{
	struct facts f = test_facts();
	struct json_object *r;

	(void)state;
	f.err[FACT_limit_set_by] = f.err[FACT_io_uring_pages] = -EACCES;
	r = report_of(&f);
	assert_null(jget(r, "memlock.limit_set_by"));
	assert_null(jget(r, "memlock.by_subsystem"));
	assert_null(missing(r, "memlock.limit_set_by"));
	assert_null(missing(r, "memlock.by_subsystem.io_uring_pages"));
}

static void the_job_and_its_libraries(void **state)
{
	struct json_object *r = report(true);

	(void)state;
	assert_string_equal(jstr(r, "process.job.scheduler"), "slurm");
	assert_string_equal(jstr(r, "process.job.id"), "1");
	assert_string_equal(jstr(r, "process.job.rank"), "3");
	assert_string_equal(jstr(r, "process.communicator"), "10.0.0.1:4000");
	assert_string_equal(jstr(r, "process.libraries.0.name"), "libibverbs.so.1.14.44.0");
	assert_string_equal(jstr(r, "process.libraries.0.build_id"), "0123456789abcdef0123456789abcdef01234567");
	assert_string_equal(jstr(r, "process.libraries.1.name"), "libnccl.so.2");
	assert_null(jget(r, "process.libraries.1.build_id"));
	assert_null(jget(r, "process.libraries.2"));
}

#define V1_PATH "/kubepods/burstable/pod6f1c2b7e-0d8e-4a53-9a51-7a4f5d1c0b11/x"

/* The kernel's word is the root of version 2. */
static struct json_object *in_root(int err)
{
	struct facts f = test_facts();

	memset(in.end.cgroup, 0, sizeof(in.end.cgroup));
	f.err[FACT_cgroup_v1] = err;
	if (!err)
		strcpy(f.cgroup_v1, V1_PATH);
	return report_of(&f);
}

static void group_of_version_one(void **state)
{
	struct json_object *r = in_root(0);
	char group[INCIDENT_CGROUP];

	(void)state;
	assert_string_equal(jstr(r, "process.cgroup"), V1_PATH);
	assert_string_equal(jstr(r, "process.pod_uid"), "6f1c2b7e-0d8e-4a53-9a51-7a4f5d1c0b11");
	assert_null(missing(r, "process.cgroup"));
	in.facts = test_facts();
	in.facts.err[FACT_cgroup_v1] = 0;
	strcpy(in.facts.cgroup_v1, V1_PATH);
	assert_string_equal(incident_cgroup(&in, group), V1_PATH);
}

static void group_of_no_version_one(void **state)
{
	struct json_object *r = in_root(FACT_NONE);

	(void)state;
	assert_string_equal(jstr(r, "process.cgroup"), "/");
	assert_null(missing(r, "process.cgroup"));
}

static void group_that_came_too_late(void **state)
{
	struct json_object *r = in_root(-ESRCH);

	(void)state;
	assert_string_equal(jstr(r, "process.cgroup"), "/");
	assert_non_null(strstr(missing(r, "process.cgroup"), "version 1"));
}

/* What the kernel says of version 2 goes before what is read later. */
static void group_of_version_two(void **state)
{
	struct facts f = test_facts();

	(void)state;
	f.err[FACT_cgroup_v1] = 0;
	strcpy(f.cgroup_v1, V1_PATH);
	assert_string_equal(jstr(report_of(&f), "process.cgroup"), "/slurm/job_1");
}

static void the_node_and_its_resources(void **state)
{
	struct facts f = test_facts();
	struct json_object *r;

	(void)state;
	f.err[FACT_rdmacg_path] = f.err[FACT_rdmacg_object_max] = f.err[FACT_rdmacg_object_current] = 0;
	f.err[FACT_hugetlb_free_pages] = f.err[FACT_hugetlb_cgroup_max_bytes] = 0;
	f.err[FACT_bar1_total_bytes] = f.err[FACT_bar1_used_bytes] = f.err[FACT_bar1_free_bytes] = 0;
	f.err[FACT_cgroup_max_path] = 0;
	f.rdmacg_object_max = f.rdmacg_object_current = 8;
	f.hugetlb_cgroup_max_bytes = UINT64_MAX;
	f.bar1_free_bytes = 1 << 20;
	f.cgroup_oom_kills = 2;
	strcpy(f.rdmacg_path, "/slurm");
	strcpy(f.cgroup_max_path, "/slurm/job_1");
	r = report_of(&f);
	assert_int_equal(jint(r, "memory.nodes.0.free_bytes"), 4LL << 30);
	assert_int_equal(jint(r, "memory.nodes.1.node"), 1);
	assert_null(jget(r, "memory.nodes.2"));
	assert_string_equal(jstr(r, "cgroup_limits.memory_max_path"), "/slurm/job_1");
	assert_int_equal(jint(r, "cgroup_limits.memory_oom_kills"), 2);
	assert_string_equal(jstr(r, "cgroup_limits.rdma.path"), "/slurm");
	assert_int_equal(jint(r, "cgroup_limits.rdma.object_max"), 8);
	assert_int_equal(jint(r, "rdma.device_mrs"), 5);
	assert_int_equal(jint(r, "rdma.process_mrs"), 3);
	assert_int_equal(jint(r, "rdma.process_pages"), 90);
	assert_int_equal(jint(r, "hugetlb.free_pages"), 0);
	assert_string_equal(jstr(r, "hugetlb.cgroup_max_bytes"), "unlimited");
	assert_int_equal(jint(r, "mappings.count"), 410);
	assert_int_equal(jint(r, "mappings.max"), 65530);
	assert_int_equal(jint(r, "vfio.dma_entry_limit"), 65535);
	assert_string_equal(jstr(r, "nvidia.version"), "535.104.05");
	assert_string_equal(jstr(r, "nvidia.flavour"), "proprietary");
	assert_int_equal(jint(r, "bar1.free"), 1 << 20);
}

/* What a node has not, and what nobody asked for, is neither there nor missing. */
static void what_does_not_apply_is_not_missing(void **state)
{
	struct facts f = test_facts();
	struct json_object *r;
	int i;

	(void)state;
	prove_rlimit_memlock_exceeded(&in);
	for (i = FACT_limit_set_by; i < FACT_MAX; i++)
		f.err[i] = i % 2 ? FACT_NONE : FACT_NOT_ASKED;
	r = report_of(&f);
	/* What the verdict itself wanted is missing all the same. */
	assert_int_equal(json_object_array_length(jget(r, "missing_evidence")), 2);
	assert_non_null(missing(r, "memlock.by_subsystem"));
	assert_non_null(missing(r, "loss"));
	assert_null(jget(r, "hugetlb"));
	assert_null(jget(r, "nvidia"));
	assert_null(jget(r, "rdma"));
	assert_null(jget(r, "process.job"));
	assert_null(jget(r, "process.libraries"));
	assert_null(jget(r, "memlock.by_subsystem"));
}

/* A process that is gone is told once for each of the old names, and not for each new one. */
static void what_could_not_be_read_is_missing(void **state)
{
	struct facts f = test_facts();
	struct json_object *r;
	int i;

	(void)state;
	prove_rlimit_memlock_exceeded(&in);
	for (i = FACT_limit_set_by; i < FACT_MAX; i++)
		f.err[i] = -EACCES;
	r = report_of(&f);
	assert_non_null(missing(r, "memlock.limit_set_by"));
	assert_non_null(missing(r, "process.job"));
	assert_non_null(missing(r, "hugetlb.free_pages"));
	assert_non_null(missing(r, "rdma.process_mrs"));
	assert_non_null(missing(r, "bar1"));
	bench_close(&bench);
	setup(NULL);
	prove_rlimit_memlock_exceeded(&in);
	facts_unknown(&f, -ESRCH);
	r = report_of(&f);
	assert_non_null(missing(r, "process.exe"));
	assert_null(missing(r, "memlock.limit_set_by"));
	assert_null(missing(r, "process.job"));
}

/* Facts may come from a capture that somebody wrote. */
static void hostile_facts(void **state)
{
	struct facts f = test_facts();
	struct json_object *r;

	(void)state;
	memset(f.libraries, '\n', sizeof(f.libraries));
	memset(f.node_free, '9', sizeof(f.node_free));
	memset(f.job_id, '\xff', sizeof(f.job_id));
	r = report_of(&f);
	assert_int_equal(json_object_array_length(jget(r, "process.libraries")), 0);
	assert_int_equal(json_object_array_length(jget(r, "memory.nodes")), 0);
	assert_int_equal(jstr(r, "process.job.id")[0], '?');
}

static void facts_that_did_not_come(void **state)
{
	struct json_object *r = report(false);

	(void)state;
	assert_null(jget(r, "memory"));
	assert_null(jget(r, "process.exe"));
	assert_string_equal(missing(r, "process.exe"), "/proc/PID/exe: cancelled (ECANCELED)");
	assert_non_null(missing(r, "memory.total_bytes"));
	assert_non_null(missing(r, "registration.link_layer"));
}

static void a_node_without_cma_misses_nothing(void **state)
{
	struct facts f = test_facts();
	struct json_object *r;

	(void)state;
	f.err[FACT_cma_total_bytes] = f.err[FACT_cma_free_bytes] = -ENODATA;
	f.err[FACT_exe] = -EACCES;
	bench_incident(&bench, &in);
	pipeline_facts(bench.pipeline, bench.last_ask.id, &f, test_clock(bench.mono_ns));
	r = bench.reports[0];
	assert_null(jget(r, "memory.cma_total_bytes"));
	assert_null(missing(r, "memory.cma_total_bytes"));
	assert_string_equal(missing(r, "process.exe"), "/proc/PID/exe: permission denied (EACCES)");
}

static void what_the_kernel_did_not_tell(void **state)
{
	struct json_object *r;

	(void)state;
	build_failure(&in, EINVAL);
	add_chain(&in, WIRE_FN_UVERBS, -EINVAL);
	in.end.have = 0;
	in.end.nvmas = 0;
	in.end.device[0] = '\0';
	in.end.task_start_ns = 0;
	r = report(true);
	assert_non_null(missing(r, "registration.address"));
	assert_non_null(missing(r, "registration.iova"));
	assert_non_null(missing(r, "registration.device"));
	assert_non_null(missing(r, "registration.allocation_class"));
	assert_non_null(missing(r, "process.cgroup"));
	assert_non_null(missing(r, "process.start_time"));
	assert_non_null(missing(r, "memlock"));
	assert_null(jget(r, "registration.address"));
	assert_null(jget(r, "pin"));
	assert_null(jget(r, "pages"));
	assert_string_equal(jstr(r, "verdict.cause"), "unknown");
}

static void allocation_classes(void **state)
{
	static const struct {
		uint64_t file, flags, magic;
		const char *class;
	} cases[] = {
		{ 0, 3, 0, "host_anonymous" }, { 1, 3, 0x01021994, "host_shmem" },
		{ 1, 3, 0x958458f6, "host_hugetlb" }, { 1, 3, 0xef53, "host_file" },
		{ 1, 0x4403, 0x01021994, "device_io" }, { 0, 0x4003, 0, "device_io" },
		{ 1, 0x10000003, 0x01021994, "unknown" }, { 1, 3, 0, "unknown" },
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		in.end.hdr.span_id = 9000 + i;
		in.end.vmas[0].file = cases[i].file;
		in.end.vmas[0].flags = cases[i].flags;
		in.end.vmas[0].fs_magic = cases[i].magic;
		in.end.tgid = (uint32_t)(100 + i);
		assert_string_equal(jstr(report(true), "registration.allocation_class"), cases[i].class);
	}
	in.end.tgid = 99;
	in.end.vmas[1] = in.end.vmas[0];
	in.end.vmas[0].file = 0;
	in.end.nvmas = 2;
	assert_string_equal(jstr(report(true), "registration.allocation_class"), "unknown");
}

static void stages(void **state)
{
	struct identity id = test_identity();

	(void)state;
	assert_string_equal(incident_stage(&in, &id), "placement");
	prove_address_not_mapped(&in);
	assert_string_equal(incident_stage(&in, &id), "pin");
	in.end.stage = WIRE_STAGE_PINNED;
	assert_string_equal(incident_stage(&in, &id), "provider");
	build_failure(&in, EINVAL);
	add_chain(&in, WIRE_FN_DRIVER_RXE, -EINVAL);
	assert_string_equal(incident_stage(&in, &id), "provider");
	build_failure(&in, EAGAIN);
	add_chain(&in, WIRE_FN_UVERBS, -EAGAIN);
	assert_string_equal(incident_stage(&in, &id), "uverbs");
	/* A provider that is not hooked may have failed as well as uverbs. */
	strcpy(in.end.driver, "irdma");
	assert_string_equal(incident_stage(&in, &id), "unknown");
}

static void cgroups(void **state)
{
	static const char id64[] = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
	static const char uid[] = "0a1b2c3d-1111-2222-3333-444455556666";
	char path[256], buf[65], pod[40];
	struct text t;

	(void)state;
	text_init(&t, path, sizeof(path));
	cgroup_path("\0", 1, &t);
	assert_string_equal(path, "/");
	text_init(&t, path, sizeof(path));
	cgroup_path("leaf\0mid\0", 10, &t);
	assert_string_equal(path, "/mid/leaf");
	text_init(&t, path, sizeof(path));
	cgroup_path("leaf\0mid\0", 9, &t);
	assert_string_equal(path, ".../mid/leaf");

	snprintf(path, sizeof(path), "/kubepods.slice/kubepods-pod0a1b2c3d_1111_2222_3333_444455556666.slice/cri-containerd-%s.scope", id64);
	cgroup_container(path, buf);
	cgroup_pod(path, pod);
	assert_string_equal(buf, id64);
	assert_string_equal(pod, uid);
	snprintf(path, sizeof(path), "/kubepods/burstable/pod%s/%s", uid, id64);
	cgroup_container(path, buf);
	cgroup_pod(path, pod);
	assert_string_equal(buf, id64);
	assert_string_equal(pod, uid);
	snprintf(path, sizeof(path), "/user.slice/pod%s/%s0", uid, id64);
	cgroup_container(path, buf);
	cgroup_pod(path, pod);
	assert_string_equal(buf, "");
	assert_string_equal(pod, "");
}

static void hostile_strings(void **state)
{
	struct json_object *r;

	(void)state;
	strcpy(in.end.comm, "\x1b]0;x\x07\"\\\n\xff");
	memcpy(in.end.cgroup, "a\"\n\xc3\0b\0", 8);
	strcpy(in.folios[0].area, "\x9b" "31m\xe2");
	r = report(true);
	assert_string_equal(jstr(r, "process.comm"), "\x1b]0;x\x07\"\\\n?");
	assert_string_equal(jstr(r, "process.cgroup"), "/b/a\"\n?");
	assert_string_equal(jstr(r, "pages.0.area"), "?31m?");
}

static void no_kernel_pointer_leaves(void **state)
{
	(void)state;
	in.end.vmas[0].file = 0xffff888055555555;
	in.end.fault_vma.file = 0xffff888055555555;
	report(true);
	assert_null(strstr(bench.lines[0], "ffff8880"));
}

static void the_largest_report(void **state)
{
	uint32_t i;

	(void)state;
	for (i = 1; i < WIRE_FOLIOS_MAX; i++)
		add_folio(&in, 37 + i, 1024 + i);
	report(true);
	assert_int_equal(json_object_array_length(jget(bench.reports[0], "pages")), WIRE_FOLIOS_MAX);
	assert_true(strlen(bench.lines[0]) < 64 * 1024);
}

static void loss_is_told(void **state)
{
	struct loss loss = { .dropped = { [WIRE_FOLIO] = 4 }, .spans_overflow = 2 };
	struct json_object *r;

	(void)state;
	assert_non_null(missing(report(true), "loss"));
	pipeline_loss(bench.pipeline, &loss, test_clock(bench.mono_ns));
	r = report(true);
	assert_int_equal(jint(r, "loss.events_dropped.FOLIO"), 4);
	assert_int_equal(jint(r, "loss.events_dropped.REG_END"), 0);
	assert_int_equal(jint(r, "loss.spans_overflow"), 2);
	assert_null(jget(r, "loss.vma_lock_busy"));
	assert_null(missing(r, "loss"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(envelope), TEST(uuid_holds_the_time), TEST(process),
		TEST(group_of_version_one), TEST(group_of_no_version_one), TEST(group_that_came_too_late), TEST(group_of_version_two),
		TEST(a_suspended_node_dates_the_start_right), TEST(registration),
		TEST(direction_is_the_kernels_test), TEST(chain_pin_migration_pages),
		TEST(an_area_without_a_name), TEST(holders_put_aside_are_told), TEST(facts_that_came), TEST(facts_that_did_not_come),
		TEST(omitted_pages_are_counted), TEST(holders_put_aside_are_told), TEST(facts_that_came), TEST(facts_that_did_not_come),
		TEST(a_node_without_cma_misses_nothing), TEST(what_the_kernel_did_not_tell),
		TEST(allocation_classes), TEST(stages), TEST(cgroups), TEST(hostile_strings),
		TEST(no_kernel_pointer_leaves), TEST(the_largest_report), TEST(loss_is_told),
		TEST(who_set_the_limit), TEST(no_limit_was_set_by_nobody), TEST(the_job_and_its_libraries),
		TEST(the_node_and_its_resources), TEST(what_does_not_apply_is_not_missing),
		TEST(what_could_not_be_read_is_missing), TEST(hostile_facts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
