// SPDX-License-Identifier: BSD-2-Clause
/* Firmware, DMA mappings, kernel memory, and GPU memory on its way to a device. */
#include "verdicts.h"

/* --- firmware --------------------------------------------------------------------- */

/* The same failure with another answer of the firmware, and what the driver makes of it. */
static void answer(uint32_t opcode, uint32_t status, int err)
{
	uint32_t i;

	prove_mkey_exhausted_fw(&in);
	in.end.fw.opcode = opcode;
	in.end.fw.status = status;
	in.end.fw.err = -err;
	in.end.result = -err;
	for (i = 0; i < in.end.nchain; i++)
		in.end.chain[i].result = -err;
}

static void answers_of_the_firmware(void **state)
{
	static const struct {
		uint32_t opcode, status;
		int err;
		const char *cause;
		enum detail detail;
	} cases[] = {
		{ 0x200, 0x8, ENOMEM, "mkey_exhausted_fw", DETAIL_mkey_limit },
		{ 0x200, 0xf, EAGAIN, "mkey_exhausted_fw", DETAIL_mkey_resources },
		{ 0x200, 0x3, EINVAL, "fw_command_rejected", DETAIL_fw_bad_parameter },
		{ 0x200, 0x1, EIO, "fw_command_rejected", DETAIL_fw_internal },
		{ 0x200, 0x6, EBUSY, "fw_command_rejected", DETAIL_fw_busy },
		{ 0x200, 0x4, EIO, "fw_command_rejected", DETAIL_fw_state },
		{ 0x202, 0x8, ENOMEM, "fw_command_rejected", DETAIL_fw_limit },
		{ 0x202, 0xf, EAGAIN, "fw_command_rejected", DETAIL_fw_limit },
		{ 0x200, 0x77, EIO, "fw_command_rejected", DETAIL_fw_internal },
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		answer(cases[i].opcode, cases[i].status, cases[i].err);
		expect(cases[i].cause, CONFIDENCE_proven);
		assert_int_equal(d.verdict.detail, cases[i].detail);
		assert_int_equal(d.nalso, 0);
		assert_true(evidence_says(&d.verdict, "syndrome 0x59c3a4"));
		/* A second command, or another errno in the end: it need not be this one. */
		in.end.fw.commands = 2;
		expect(cases[i].cause, CONFIDENCE_likely);
		answer(cases[i].opcode, cases[i].status, cases[i].err);
		in.end.result = -EPERM;
		expect(cases[i].cause, CONFIDENCE_likely);
		answer(cases[i].opcode, cases[i].status, cases[i].err);
		in.end.fw.err = INT32_MIN;
		expect(cases[i].cause, CONFIDENCE_likely);
	}
}

static void no_command_failed(void **state)
{
	(void)state;
	answer(0x200, 0x8, ENOMEM);
	in.end.have &= ~WIRE_HAVE_FW;
	unknown("mkey_exhausted_fw", "0 firmware commands");
	id.fn_watched[WIRE_FN_FW_COMMAND] = false;
	unknown("mkey_exhausted_fw", NULL);
	strcpy(in.end.driver, "irdma");
	unknown("fw_command_rejected", "irdma");
	answer(0x200, 0, EIO);
	unknown("fw_command_rejected", "without an answer");
}

static void timeouts(void **state)
{
	(void)state;
	prove_fw_command_timeout(&in);
	expect("fw_command_timeout", CONFIDENCE_proven);
	in.end.chain[0].fn = WIRE_FN_DRIVER_MLX5;
	expect("fw_command_timeout", CONFIDENCE_likely);
	assert_true(missing_says(&d.verdict, "firmware command"));
	in.end.chain[0].fn = in.end.chain[1].fn = WIRE_FN_DRIVER_RXE;
	strcpy(in.end.driver, "rdma_rxe");
	unknown("fw_command_timeout", "rdma_rxe");
}

/* --- DMA ----------------------------------------------------------------------------- */

static void fail_dma(int err)
{
	prove_dma_map_failed_iommu(&in);
	in.end.nchain = 0;
	add_chain(&in, WIRE_FN_DMA_MAP, -err);
	fail_upwards(&in, err);
	in.end.result = -err;
}

static void errnos_of_the_mapping(void **state)
{
	static const struct {
		int err;
		const char *cause;
		enum confidence confidence;
		enum detail detail;
	} cases[] = {
		{ ENOMEM, "dma_map_failed_iommu", CONFIDENCE_proven, DETAIL_iova_exhausted },
		{ EINVAL, "dma_map_failed_iommu", CONFIDENCE_proven, DETAIL_iommu_refused },
		{ EREMOTEIO, "dma_map_failed_iommu", CONFIDENCE_proven, DETAIL_peer_unreachable },
		{ EIO, "dma_map_failed_iommu", CONFIDENCE_likely, DETAIL_dma_refused },
		{ EBUSY, "unknown", CONFIDENCE_unknown, DETAIL_none },
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		fail_dma(cases[i].err);
		expect(cases[i].cause, cases[i].confidence);
		assert_int_equal(d.verdict.detail, cases[i].detail);
		assert_int_equal(d.nalso, 0);
		in.end.result = -EPERM;
		diagnose(&in, &id, &d);
		assert_int_not_equal(d.confidence, CONFIDENCE_proven);
	}
	prove_swiotlb_full(&in);
	expect("dma_map_failed_iommu", CONFIDENCE_likely);
	assert_int_equal(d.nalso, 1);
	assert_string_equal(d.also[0]->id, "swiotlb_full");
}

/* One that something else survived, or that the umem function ended otherwise than, did not decide. */
static void another_mapping(void **state)
{
	(void)state;
	fail_dma(ENOMEM);
	in.end.chain[1].result = -EAGAIN;
	expect("dma_map_failed_iommu", CONFIDENCE_likely);
	fail_dma(ENOMEM);
	in.end.chain[1].fn = WIRE_FN_MKEY;
	diagnose(&in, &id, &d);
	assert_int_not_equal(d.confidence, CONFIDENCE_proven);
	/* The exporter of a dma-buf maps by the same function: no pinned page was to be mapped. */
	prove_dma_map_failed_iommu(&in);
	in.end.nchain = 0;
	in.end.api = WIRE_API_REG_DMABUF_MR;
	add_chain(&in, WIRE_FN_DMA_MAP, -ENOMEM);
	add_chain(&in, WIRE_FN_DMABUF_MAP, -ENOMEM);
	add_chain(&in, WIRE_FN_REG_DMABUF_MR, -ENOMEM);
	assert_string_equal(incident_stage(&in, &id), "dmabuf");
	diagnose(&in, &id, &d);
	assert_non_null(ruled_out(&d, "dma_map_failed_iommu"));
}

/* Where mappings are not watched, EIO of the umem function is theirs by elimination. */
static void a_mapping_that_is_not_watched(void **state)
{
	(void)state;
	build_failure(&in, EIO);
	fail_upwards(&in, EIO);
	unknown("dma_map_failed_iommu", "did not fail");
	id.fn_watched[WIRE_FN_DMA_MAP] = false;
	expect("dma_map_failed_iommu", CONFIDENCE_likely);
	assert_true(missing_says(&d.verdict, "the DMA mapping"));
	in.end.gup_calls = 1;
	expect("unknown", CONFIDENCE_unknown);
	in.end.gup_calls = 0;
	id.fn_watched[WIRE_FN_GUP_LONGTERM] = false;
	unknown("dma_map_failed_iommu", NULL);
}

/* --- kernel memory --------------------------------------------------------------------- */

#define METADATA "kernel_metadata_alloc_failed"

static void the_umem_function_ran_short(void **state)
{
	(void)state;
	prove_kernel_metadata_alloc_failed(&in);
	expect(METADATA, CONFIDENCE_likely);
	assert_true(missing_says(&d.verdict, "allocation that failed"));
	/* Over the limit it is the limit. */
	in.end.memlock_soft_bytes = 4096;
	expect("rlimit_memlock_exceeded", CONFIDENCE_proven);
	expect_ruled_out(METADATA, "limit");
}

/* --- GPU memory -------------------------------------------------------------------------- */

static void peer_memory(void **state)
{
	(void)state;
	prove_peermem_absent_or_mismatch(&in);
	expect("address_not_mapped", CONFIDENCE_proven);
	assert_int_equal(d.nalso, 1);
	assert_string_equal(d.also[0]->id, "peermem_absent_or_mismatch");
	know_libraries(&in, "libcudart.so.12");
	expect("address_not_mapped", CONFIDENCE_proven);
	expect_ruled_out("peermem_absent_or_mismatch", "0 of the process's libraries");
	in.facts.err[FACT_libraries] = -EACCES;
	expect("address_not_mapped", CONFIDENCE_proven);
	assert_null(ruled_out(&d, "peermem_absent_or_mismatch"));
	fail_in_mapping(&in, EFAULT, 0x73);
	know_libraries(&in, "libcuda.so.1");
	unknown("peermem_absent_or_mismatch", "memory of the host");
}

static void bar1(void **state)
{
	static const struct {
		uint64_t free;
		bool fits;
	} cases[] = { { 0, true }, { (37 << 20) - 1, true }, { 37 << 20, false }, { UINT64_MAX, false } };
	struct facts *f = &in.facts;
	size_t i;

	(void)state;
	prove_gpu_bar1_exhausted(&in);
	expect("gpu_bar1_exhausted", CONFIDENCE_likely);
	assert_int_equal(d.verdict.detail, DETAIL_bar1_not_read);
	f->err[FACT_bar1_free_bytes] = f->err[FACT_bar1_total_bytes] = 0;
	f->bar1_total_bytes = 256 << 20;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		f->bar1_free_bytes = cases[i].free;
		expect(cases[i].fits ? "gpu_bar1_exhausted" : "unknown", cases[i].fits ? CONFIDENCE_likely : CONFIDENCE_unknown);
		assert_true(!cases[i].fits || d.verdict.detail == DETAIL_bar1_full);
	}
	in.end.length = UINT64_MAX;
	expect("gpu_bar1_exhausted", CONFIDENCE_likely);
	strcpy(in.end.args.exporter, "udmabuf");
	unknown("gpu_bar1_exhausted", "\"udmabuf\"");
}

/* For an importer that can do with moving buffers the driver maps within the attach, whose own ENOMEM is another thing. */
static void mapped_while_attaching(void **state)
{
	(void)state;
	prove_gpu_bar1_exhausted(&in);
	in.end.chain[0].fn = WIRE_FN_DMABUF_ATTACH;
	unknown("gpu_bar1_exhausted", "dma_buf_map_attachment did not fail");
	id.fn_watched[WIRE_FN_NV_DMABUF_MAP] = false;
	expect("gpu_bar1_exhausted", CONFIDENCE_likely);
	id.fn_watched[WIRE_FN_NV_DMABUF_MAP] = true;
	in.end.nchain = 0;
	add_chain(&in, WIRE_FN_NV_DMABUF_MAP, -ENOMEM);
	add_chain(&in, WIRE_FN_DMABUF_ATTACH, -ENOMEM);
	add_chain(&in, WIRE_FN_UMEM_DMABUF, -ENOMEM);
	add_chain(&in, WIRE_FN_REG_DMABUF_MR, -ENOMEM);
	expect("gpu_bar1_exhausted", CONFIDENCE_likely);
	assert_string_equal(incident_stage(&in, &id), "dmabuf");
	assert_true(evidence_says(&d.verdict, "nv_dma_buf_map = -ENOMEM"));
	assert_non_null(ruled_out(&d, "gpu_not_gdr_capable"));
	strcpy(in.end.args.exporter, "udmabuf");
	unknown("gpu_bar1_exhausted", "\"udmabuf\"");
}

static void attaching_to_a_gpu(void **state)
{
	(void)state;
	prove_gpu_not_gdr_capable(&in);
	expect("gpu_not_gdr_capable", CONFIDENCE_likely);
	in.end.chain[0].result = in.end.result = -524;
	expect("gpu_not_gdr_capable", CONFIDENCE_likely);
	in.end.chain[0].fn = WIRE_FN_DMABUF_PIN;
	unknown("gpu_not_gdr_capable", "did not fail");
	in.end.have &= ~WIRE_HAVE_DMABUF;
	in.end.chain[0].fn = WIRE_FN_DMABUF_ATTACH;
	unknown("gpu_not_gdr_capable", NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(answers_of_the_firmware), TEST(no_command_failed), TEST(timeouts), TEST(errnos_of_the_mapping),
		TEST(another_mapping), TEST(a_mapping_that_is_not_watched), TEST(the_umem_function_ran_short), TEST(peer_memory), TEST(bar1),
		TEST(mapped_while_attaching), TEST(attaching_to_a_gpu),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
