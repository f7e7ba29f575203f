// SPDX-License-Identifier: BSD-2-Clause
/* Arguments of verbs commands and what devices offer, and their neighbours with EINVAL and EOPNOTSUPP. */
#include "verdicts.h"

static void page_offsets(void **state)
{
	const char *cause = "iova_offset_mismatch";

	(void)state;
	prove_iova_offset_mismatch(&in);
	proven(cause, DETAIL_address_and_iova);
	assert_true(evidence_says(&d.verdict, "0x7f0000001000, iova 0x7f0000001008"));
	in.end.iova = RANGE + PAGE;
	unknown(cause, "same page offset, 0x0");
	in.end.iova = RANGE + PAGE - 1;
	proven(cause, DETAIL_address_and_iova);
	/* Pages of 64 KiB. */
	in.end.iova = RANGE + PAGE;
	id.page_size = 65536;
	proven(cause, DETAIL_address_and_iova);
	id.page_size = PAGE;
	in.end.iova = 0x123;
	in.end.have &= ~(uint32_t)WIRE_HAVE_COMMAND;
	unknown(cause, NULL);
	in.end.have |= WIRE_HAVE_COMMAND;
	/* The check does not need a watch on the driver: it comes first. */
	id.fn_watched[WIRE_FN_DRIVER_RXE] = false;
	proven(cause, DETAIL_address_and_iova);
	in.end.result = -EIO;
	likely(cause, DETAIL_address_and_iova);
}

static void page_offsets_passed(void **state)
{
	const char *cause = "iova_offset_mismatch";

	(void)state;
	prove_iova_offset_mismatch(&in);
	in.end.nchain = 0;
	unknown(cause, NULL);
	id.fn_watched[WIRE_FN_DRIVER_RXE] = false;
	add_chain(&in, WIRE_FN_DRIVER_RXE, -EINVAL);
	add_chain(&in, WIRE_FN_UVERBS, -EINVAL);
	unknown(cause, "in the device's driver");
	id.fn_watched[WIRE_FN_UMEM] = false;
	unknown(cause, "rxe_reg_user_mr failed");
	prove_dmabuf_range_mismatch(&in);
	in.end.nchain = 0;
	add_chain(&in, WIRE_FN_REG_DMABUF_MR, -EINVAL);
	in.end.have |= WIRE_HAVE_COMMAND;
	in.end.args.offset = 8;
	proven(cause, DETAIL_offset_and_iova);
	in.end.args.offset = 0;
	unknown(cause, "offset and iova");
}

static void access_flags(void **state)
{
	const char *cause = "access_flags_invalid";

	(void)state;
	prove_access_flags_invalid(&in);
	proven(cause, DETAIL_remote_without_local_write);
	in.end.access = 0x8;
	proven(cause, DETAIL_remote_without_local_write);
	in.end.access = 0x4;
	unknown(cause, "REMOTE_READ (0x4)");
	in.end.access = 0xb;
	unknown(cause, "known and fit");
	in.end.access = 0;
	unknown(cause, "none (0x0)");
}

static void access_flags_of_this_kernel(void **state)
{
	const char *cause = "access_flags_invalid";

	(void)state;
	prove_access_flags_invalid(&in);
	in.end.access = 0x401;
	unknown(cause, NULL);
	id.access_known = 0x3ff003ff;
	proven(cause, DETAIL_unknown_access_flags);
	assert_non_null(strstr(d.verdict.summary, "0x400"));
	in.end.access = 0x101;
	unknown(cause, "known and fit");
	id.access_known = 0x3ff000ff;
	proven(cause, DETAIL_unknown_access_flags);
	/* The optional range may be unknown. */
	in.end.access = 0x20000001;
	unknown(cause, "known and fit");
	/* The offsets are looked at first. */
	in.end.access = 0x402;
	in.end.iova++;
	proven("iova_offset_mismatch", DETAIL_address_and_iova);
	assert_non_null(strstr(ruled_out(&d, cause), "checked first is wrong"));
	in.end.iova--;
	in.end.have &= ~(uint32_t)WIRE_HAVE_COMMAND;
	unknown(cause, NULL);
}

static void lengths(void **state)
{
	const char *cause = "length_invalid";

	(void)state;
	prove_length_invalid(&in);
	proven(cause, DETAIL_length_zero);
	in.end.length = 1;
	unknown(cause, "1 pages");
	/* A length of zero inside a page is that page. */
	in.end.length = 0;
	in.end.address = RANGE + 1;
	unknown(cause, "1 pages");
	in.end.length = UINT64_MAX - RANGE;
	proven(cause, DETAIL_range_wraps);
	in.end.length = UINT64_MAX - RANGE - PAGE;
	proven(cause, DETAIL_too_many_pages);
	in.end.address = RANGE;
	in.end.length = PAGE << 32;
	proven(cause, DETAIL_too_many_pages);
	in.end.length = (PAGE << 32) - PAGE;
	unknown(cause, "4294967295 pages");
	in.end.length = 0;
	id.fn_watched[WIRE_FN_GUP_LONGTERM] = false;
	proven(cause, DETAIL_length_zero);
	in.end.have &= ~(uint32_t)WIRE_HAVE_UMEM;
	unknown(cause, NULL);
}

static void on_demand(void **state)
{
	const char *cause = "odp_unsupported";

	(void)state;
	prove_odp_unsupported(&in);
	proven(cause, DETAIL_odp_not_offered);
	/* Up to 6.1 the errno is EINVAL. */
	in.end.chain[0].result = in.end.result = -EINVAL;
	proven(cause, DETAIL_odp_not_offered);
	in.end.caps.odp_caps = 1;
	unknown(cause, "offers on-demand paging");
	in.end.caps.odp_caps = 0;
	in.end.caps.kernel_caps = 1 << 2;
	unknown(cause, "offers on-demand paging");
	in.end.caps.kernel_caps = ~(uint64_t)(1 << 2);
	proven(cause, DETAIL_odp_not_offered);
	in.end.access = 0x1;
	unknown(cause, "not asked for");
	in.end.access = 0x42;
	proven("access_flags_invalid", DETAIL_remote_without_local_write);
	assert_non_null(strstr(ruled_out(&d, cause), "refused before it"));
	in.end.access = 0x41;
	in.end.iova += 8;
	proven("iova_offset_mismatch", DETAIL_address_and_iova);
	assert_non_null(strstr(ruled_out(&d, cause), "refused before it"));
}

static void on_demand_without_attributes(void **state)
{
	const char *cause = "odp_unsupported";

	(void)state;
	prove_odp_unsupported(&in);
	in.end.have &= ~(uint32_t)WIRE_HAVE_CAPS;
	likely(cause, DETAIL_odp_not_offered);
	assert_true(missing_says(&d.verdict, "device.capabilities"));
	/* A protection domain that does not exist gives EINVAL as well. */
	in.end.chain[0].result = in.end.result = -EINVAL;
	unknown(cause, NULL);
	in.end.have &= ~(uint32_t)WIRE_HAVE_COMMAND;
	unknown(cause, NULL);
}

static void on_demand_refused_below(void **state)
{
	const char *cause = "odp_unsupported";

	(void)state;
	fail_driver(&in, EOPNOTSUPP);
	in.end.access = 0x41;
	in.end.caps.odp_caps = 1;
	likely(cause, DETAIL_odp_refused_by_driver);
	/* rxe has no other reason; other drivers may. */
	in.end.address = 0;
	in.end.length = UINT64_MAX;
	proven(cause, DETAIL_odp_implicit_not_offered);
	id.fn_watched[WIRE_FN_UMEM_ODP] = false;
	likely(cause, DETAIL_odp_implicit_not_offered);
	id.fn_watched[WIRE_FN_UMEM_ODP] = true;
	in.end.chain[0].fn = WIRE_FN_DRIVER_MLX5;
	likely(cause, DETAIL_odp_implicit_not_offered);
	in.end.chain[0].fn = WIRE_FN_DRIVER_RXE;
	in.end.caps.odp_caps = 3;
	likely(cause, DETAIL_odp_refused_by_driver);
	in.end.access = 0x61;
	expect("provider_access_unsupported", CONFIDENCE_proven);
	fail_driver(&in, EINVAL);
	in.end.access = 0x41;
	in.end.caps.odp_caps = 1;
	unknown(cause, NULL);
	in.end.address = 0;
	in.end.length = UINT64_MAX;
	likely(cause, DETAIL_odp_implicit_not_offered);
	in.end.caps.odp_caps = 3;
	unknown(cause, NULL);
	build_failure(&in, EOPNOTSUPP);
	in.end.access = 0x41;
	add_chain(&in, WIRE_FN_UMEM_ODP, -EOPNOTSUPP);
	likely(cause, DETAIL_odp_refused_by_driver);
}

static void flags_of_the_driver(void **state)
{
	const char *cause = "provider_access_unsupported";

	(void)state;
	prove_provider_access_unsupported(&in);
	proven(cause, DETAIL_zero_based);
	in.end.access = 0x81;
	proven(cause, DETAIL_hugetlb_flag);
	in.end.access = 0xa1;
	proven(cause, DETAIL_several_flags);
	in.end.access = 0x101;
	proven(cause, DETAIL_flush_flags);
	in.end.access = 0x1f;
	unknown(cause, "no unusual access flag");
	in.end.access = 0x100001;
	unknown(cause, "no unusual access flag");
	in.end.access = 0x21;
	in.end.chain[0].fn = WIRE_FN_DRIVER_MLX5;
	likely(cause, DETAIL_zero_based);
	in.end.chain[0].fn = WIRE_FN_DRIVER_RXE;
	id.fn_watched[WIRE_FN_UMEM] = false;
	likely(cause, DETAIL_zero_based);
	id.fn_watched[WIRE_FN_UMEM] = true;
	in.end.have |= WIRE_HAVE_UMEM;
	in.end.stage = WIRE_STAGE_PINNED;
	unknown(cause, NULL);
}

static void flush_refused_by_the_command(void **state)
{
	const char *cause = "provider_access_unsupported";

	(void)state;
	fail_command(&in, EOPNOTSUPP);
	in.end.access = 0x121;
	proven(cause, DETAIL_flush_flags);
	id.fn_watched[WIRE_FN_DRIVER_RXE] = false;
	likely(cause, DETAIL_flush_flags);
	id.fn_watched[WIRE_FN_DRIVER_RXE] = true;
	/* On-demand paging is checked before. */
	in.end.access = 0x141;
	proven("odp_unsupported", DETAIL_odp_not_offered);
	in.end.caps.odp_caps = 1;
	proven(cause, DETAIL_flush_flags);
	in.end.access = 0x21;
	unknown(cause, NULL);
}

static void bounced_dma(void **state)
{
	const char *cause = "coco_dma_bounce_unsupported";

	(void)state;
	prove_coco_dma_bounce_unsupported(&in);
	proven(cause, DETAIL_dma_bounced);
	in.end.access = 0x41;
	proven(cause, DETAIL_dma_bounced);
	/* A queue buffer: the umem function is no command, and checks no flags against the device. */
	in.end.api = WIRE_API_UMEM;
	in.end.nchain = 1;
	proven(cause, DETAIL_dma_bounced);
	assert_null(ruled_out(&d, "odp_unsupported"));
	prove_coco_dma_bounce_unsupported(&in);
	in.end.access = 0x41;
	/* Without the mark: what is left when on-demand paging was not asked for. */
	in.end.caps.cc_dma_bounce = 0;
	likely("odp_unsupported", DETAIL_odp_refused_by_driver);
	assert_null(ruled_out(&d, cause));
	in.end.access = 1;
	likely(cause, DETAIL_dma_bounced);
	assert_true(missing_says(&d.verdict, "device.cc_dma_bounce"));
	id.fn_watched[WIRE_FN_GUP_LONGTERM] = false;
	unknown(cause, NULL);
	in.end.chain[0].fn = WIRE_FN_DRIVER_RXE;
	unknown(cause, "in the device's driver");
}

static void changes_of_a_region(void **state)
{
	const char *cause = "rereg_unsupported";

	(void)state;
	prove_rereg_unsupported(&in);
	proven(cause, DETAIL_rereg_refused_by_driver);
	id.fn_watched[WIRE_FN_UMEM] = false;
	likely(cause, DETAIL_rereg_refused_by_driver);
	id = test_identity();
	/* New access flags that need an ability of the device. */
	in.end.args.flags = 4;
	proven(cause, DETAIL_rereg_refused_by_driver);
	in.end.access = 0x41;
	proven("odp_unsupported", DETAIL_odp_not_offered);
	in.end.args.flags = 1;
	proven(cause, DETAIL_rereg_refused_by_driver);
	in.end.access = 7;
	add_chain(&in, WIRE_FN_UVERBS, -EOPNOTSUPP);
	in.end.chain[0].fn = WIRE_FN_UMEM;
	expect("coco_dma_bounce_unsupported", CONFIDENCE_likely);
}

static void changes_that_make_no_sense(void **state)
{
	const char *cause = "rereg_unsupported";

	(void)state;
	prove_rereg_unsupported(&in);
	in.end.chain[0].result = in.end.result = -EINVAL;
	unknown(cause, NULL);
	in.end.args.flags = 8;
	proven(cause, DETAIL_rereg_flags);
	in.end.args.flags = 0;
	proven(cause, DETAIL_rereg_flags);
	in.end.args.flags = 1;
	/* A range of nothing is refused by some kernels only. */
	in.end.length = 0;
	unknown(cause, NULL);
	in.end.length = 1;
	in.end.iova = RANGE + 1;
	proven(cause, DETAIL_rereg_translation);
	in.end.args.flags = 2;
	unknown(cause, NULL);
	in.end.args.flags = 4;
	in.end.access = 2;
	proven("access_flags_invalid", DETAIL_remote_without_local_write);
	in.end.args.flags = 2;
	unknown("access_flags_invalid", "known and fit");
	/* Two faults: the first one checked is named. */
	in.end.args.flags = 12;
	proven(cause, DETAIL_rereg_flags);
	assert_non_null(strstr(ruled_out(&d, "access_flags_invalid"), "changes 0xc"));
	in.end.args.flags = 5;
	proven(cause, DETAIL_rereg_translation);
	in.end.access = 0x41;
	proven(cause, DETAIL_rereg_translation);
	in.end.access = 2;
	in.end.have &= ~(uint32_t)WIRE_HAVE_ARGS;
	unknown("access_flags_invalid", NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(page_offsets), TEST(page_offsets_passed), TEST(access_flags), TEST(access_flags_of_this_kernel),
		TEST(lengths), TEST(on_demand), TEST(on_demand_without_attributes), TEST(on_demand_refused_below),
		TEST(flags_of_the_driver), TEST(flush_refused_by_the_command), TEST(bounced_dma),
		TEST(changes_of_a_region), TEST(changes_that_make_no_sense),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
