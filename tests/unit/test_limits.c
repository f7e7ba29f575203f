// SPDX-License-Identifier: BSD-2-Clause
/* Limits other than memlock, and their neighbours with the same errno. */
#include "verdicts.h"

static void device_count(uint64_t n)
{
	in.facts.mr_device_count = n;
	in.facts.err[FACT_mr_device_count] = 0;
}

static void rdma_cgroup(void **state)
{
	const char *cause = "rdma_cgroup_limit";

	(void)state;
	prove_rdma_cgroup_limit(&in);
	proven(cause, DETAIL_cgroup_hca_objects);
	assert_true(missing_says(&d.verdict, "cgroup_limits.rdma"));
	in.end.cgroup_resource = 0;
	proven(cause, DETAIL_cgroup_hca_handles);
	in.end.cgroup_resource = 1;
	strcpy(in.facts.rdmacg_path, "/slurm/job_1");
	in.facts.rdmacg_object_max = in.facts.rdmacg_object_current = 12;
	in.facts.err[FACT_rdmacg_path] = in.facts.err[FACT_rdmacg_object_max] = in.facts.err[FACT_rdmacg_object_current] = 0;
	proven(cause, DETAIL_cgroup_hca_objects);
	assert_false(missing_says(&d.verdict, "cgroup_limits.rdma"));
	assert_true(evidence_says(&d.verdict, "/slurm/job_1 has hca_object=12"));
	/* Something was released since: it was the limit all the same. */
	in.facts.rdmacg_object_current = 11;
	proven(cause, DETAIL_cgroup_hca_objects);
	assert_true(missing_says(&d.verdict, "cgroup_limits.rdma"));
	in.end.result = -EIO;
	likely(cause, DETAIL_cgroup_hca_objects);
}

static void rdma_cgroup_not_seen(void **state)
{
	const char *cause = "rdma_cgroup_limit";

	(void)state;
	prove_rdma_cgroup_limit(&in);
	in.end.nchain = 0;
	add_chain(&in, WIRE_FN_UVERBS, -EAGAIN);
	unknown(cause, "did not fail");
	id.fn_watched[WIRE_FN_RDMACG] = false;
	unknown(cause, NULL);
	strcpy(in.facts.rdmacg_path, "/slurm/job_1");
	in.facts.rdmacg_object_max = in.facts.rdmacg_object_current = 12;
	in.facts.err[FACT_rdmacg_path] = in.facts.err[FACT_rdmacg_object_max] = in.facts.err[FACT_rdmacg_object_current] = 0;
	likely(cause, DETAIL_cgroup_hca_objects);
	/* EAGAIN has other reasons further down. */
	prove_rdma_cgroup_limit(&in);
	in.end.nchain = 0;
	add_chain(&in, WIRE_FN_MKEY, -EAGAIN);
	in.end.stage = WIRE_STAGE_PINNED;
	diagnose(&in, &id, &d);
	assert_non_null(ruled_out(&d, cause));
	prove_max_map_count_madvise(&in);
	diagnose(&in, &id, &d);
	assert_non_null(ruled_out(&d, cause));
}

static void device_is_full(void **state)
{
	const char *cause = "mr_object_limit";

	(void)state;
	prove_mr_object_limit(&in);
	proven(cause, DETAIL_device_mr_count);
	device_count(4097);
	proven(cause, DETAIL_device_mr_count);
	device_count(4095);
	unknown(cause, "4095 memory regions of 4096");
	device_count(4096);
	in.end.chain[0].result = in.end.chain[1].result = in.end.result = -ENOMEM;
	proven(cause, DETAIL_device_mr_count);
	in.end.result = -EIO;
	likely(cause, DETAIL_device_mr_count);
	in.end.result = -ENOMEM;
	/* An umem function that nobody watches may be what failed. */
	id.fn_watched[WIRE_FN_UMEM] = false;
	likely(cause, DETAIL_device_mr_count);
	id.fn_watched[WIRE_FN_UMEM] = true;
	in.facts.err[FACT_mr_device_count] = -EPERM;
	unknown(cause, NULL);
	device_count(4096);
	in.end.caps.max_mr = 0;
	unknown(cause, NULL);
	in.end.caps.max_mr = 4096;
	in.end.have &= ~(uint32_t)WIRE_HAVE_CAPS;
	unknown(cause, NULL);
}

/* A full device explains nothing where another function failed. */
static void device_is_full_but(void **state)
{
	const char *cause = "mr_object_limit";

	(void)state;
	prove_mr_object_limit(&in);
	in.end.have |= WIRE_HAVE_UMEM;
	unknown(cause, NULL);
	/* Only of this driver is it known that it looks at nothing else there. */
	prove_mr_object_limit(&in);
	strcpy(in.end.driver, "irdma");
	in.end.chain[0].fn = WIRE_FN_DRIVER_IRDMA;
	likely(cause, DETAIL_device_mr_count);
	prove_mr_object_limit(&in);
	in.end.nchain = 0;
	add_chain(&in, WIRE_FN_UVERBS, -EINVAL);
	unknown(cause, "in the command");
	/* A second driver hook may be missing: then nothing tells whether the driver was reached. */
	id.fn_watched[WIRE_FN_DRIVER_RXE] = false;
	unknown(cause, NULL);
	prove_length_invalid(&in);
	in.end.have |= WIRE_HAVE_CAPS;
	in.end.caps.max_mr = 1;
	device_count(1);
	id = test_identity();
	proven("length_invalid", DETAIL_length_zero);
}

static void longer_than_a_region(void **state)
{
	const char *cause = "max_mr_size_exceeded";

	(void)state;
	prove_max_mr_size_exceeded(&in);
	likely(cause, DETAIL_length_over_device_limit);
	assert_true(missing_says(&d.verdict, "the driver's own reason"));
	in.end.caps.max_mr_size = 256 * PAGE;
	unknown(cause, "1048576 bytes are within max_mr_size of rxe0, 1048576 bytes");
	in.end.caps.max_mr_size = 256 * PAGE - 1;
	likely(cause, DETAIL_length_over_device_limit);
	in.end.length = UINT64_MAX - RANGE;
	likely(cause, DETAIL_length_over_device_limit);
	/* Implicit on-demand paging names the whole address space. */
	in.end.access = 0x41;
	unknown(cause, NULL);
	in.end.access = 7;
	in.end.caps.max_mr_size = 0;
	unknown(cause, NULL);
	prove_max_mr_size_exceeded(&in);
	id.fn_watched[WIRE_FN_UMEM] = false;
	likely(cause, DETAIL_length_over_device_limit);
	assert_true(missing_says(&d.verdict, "chain"));
	id.fn_watched[WIRE_FN_UMEM] = true;
	in.end.have |= WIRE_HAVE_UMEM;
	in.end.stage = WIRE_STAGE_PINNED;
	likely(cause, DETAIL_length_over_device_limit);
}

/* Both fit: neither excludes the other. */
static void two_limits_of_the_device(void **state)
{
	(void)state;
	prove_max_mr_size_exceeded(&in);
	device_count(4096);
	expect("max_mr_size_exceeded", CONFIDENCE_likely);
	assert_int_equal(d.nalso, 1);
	assert_string_equal(d.also[0]->id, "mr_object_limit");
	device_count(4095);
	expect("max_mr_size_exceeded", CONFIDENCE_likely);
	in.end.caps.max_mr_size = UINT64_MAX;
	device_count(4096);
	expect("mr_object_limit", CONFIDENCE_proven);
}

static void translation_tables(void **state)
{
	const char *cause = "mtt_pages_limit";

	(void)state;
	prove_mtt_pages_limit(&in);
	likely(cause, DETAIL_translation_table_pages);
	in.end.stage = WIRE_STAGE_UMEM;
	unknown(cause, NULL);
	in.end.stage = WIRE_STAGE_PINNED;
	strcpy(in.end.driver, "rdma_rxe");
	in.end.chain[0].fn = WIRE_FN_DRIVER_RXE;
	unknown(cause, "rdma_rxe keeps no tables");
}

static void vfio_entries(void **state)
{
	const char *cause = "vfio_dma_entry_limit";

	(void)state;
	prove_vfio_dma_entry_limit(&in);
	proven(cause, DETAIL_vfio_entries);
	assert_true(evidence_says(&d.verdict, "65535"));
	in.facts.err[FACT_vfio_entry_limit] = -ENOENT;
	proven(cause, DETAIL_vfio_entries);
	assert_true(missing_says(&d.verdict, "vfio.entry_limit"));
	in.end.chain[0].result = in.end.result = -ENOMEM;
	unknown(cause, "ENOMEM");
}

static void gpu_quota(void **state)
{
	const char *cause = "gpu_pin_quota";

	(void)state;
	prove_gpu_pin_quota(&in);
	likely(cause, DETAIL_gpu_pin_quota);
	in.end.nchain = 0;
	unknown(cause, NULL);
	prove_vfio_dma_entry_limit(&in);
	proven("vfio_dma_entry_limit", DETAIL_vfio_entries);
	assert_non_null(strstr(ruled_out(&d, cause), "no GPU driver"));
	prove_io_uring_over_1g(&in);
	in.end.chain[0].result = in.end.result = -ENOSPC;
	unknown(cause, "io_uring_buffers");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(rdma_cgroup), TEST(rdma_cgroup_not_seen), TEST(device_is_full), TEST(device_is_full_but),
		TEST(longer_than_a_region), TEST(two_limits_of_the_device), TEST(translation_tables),
		TEST(vfio_entries), TEST(gpu_quota),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
