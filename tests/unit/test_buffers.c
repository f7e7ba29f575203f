// SPDX-License-Identifier: BSD-2-Clause
/* dma-bufs, AF_XDP areas and io_uring buffers. */
#include "verdicts.h"

static void no_operation_for_dmabufs(void **state)
{
	const char *cause = "dmabuf_unsupported";

	(void)state;
	prove_dmabuf_unsupported(&in);
	proven(cause, DETAIL_no_dmabuf_operation);
	in.end.caps.has_dmabuf = 1;
	likely(cause, DETAIL_dmabuf_refused_by_driver);
	in.end.have &= ~(uint32_t)WIRE_HAVE_CAPS;
	likely(cause, DETAIL_dmabuf_refused_by_driver);
	assert_true(missing_says(&d.verdict, "provider.dmabuf"));
	in.end.nchain = 0;
	add_chain(&in, WIRE_FN_DMABUF_ATTACH, -EOPNOTSUPP);
	add_chain(&in, WIRE_FN_REG_DMABUF_MR, -EOPNOTSUPP);
	unknown(cause, "dma_buf_dynamic_attach failed first");
	prove_provider_access_unsupported(&in);
	in.end.caps.has_dmabuf = 0;
	proven("provider_access_unsupported", DETAIL_zero_based);
	assert_non_null(strstr(ruled_out(&d, cause), "registers no dma-buf"));
}

static void part_of_a_dmabuf(void **state)
{
	const char *cause = "dmabuf_range_mismatch";

	(void)state;
	prove_dmabuf_range_mismatch(&in);
	proven(cause, DETAIL_past_end_of_dmabuf);
	in.end.args.offset = 1;
	proven(cause, DETAIL_past_end_of_dmabuf);
	in.end.args.offset = 0;
	unknown(cause, "within the dma-buf of 1048576 bytes");
	in.end.length = 0;
	proven(cause, DETAIL_length_zero);
	in.end.length = UINT64_MAX;
	in.end.args.offset = PAGE;
	proven(cause, DETAIL_range_wraps);
	in.end.have &= ~(uint32_t)WIRE_HAVE_DMABUF;
	proven(cause, DETAIL_range_wraps);
	in.end.length = 256 * PAGE;
	unknown(cause, NULL);
	in.end.have |= WIRE_HAVE_DMABUF;
	in.end.nchain = 0;
	add_chain(&in, WIRE_FN_DMABUF_ATTACH, -EINVAL);
	add_chain(&in, WIRE_FN_UMEM_DMABUF, -EINVAL);
	unknown(cause, "failed first");
}

static void descriptors(void **state)
{
	const char *cause = "dmabuf_bad_fd";

	(void)state;
	prove_dmabuf_bad_fd(&in);
	proven(cause, DETAIL_fd_not_open);
	assert_non_null(strstr(d.verdict.summary, "file descriptor 7"));
	in.end.chain[0].result = in.end.chain[1].result = in.end.chain[2].result = in.end.result = -EINVAL;
	in.end.args.offset = PAGE;
	in.end.have |= WIRE_HAVE_DMABUF;
	proven(cause, DETAIL_fd_not_dmabuf);
	in.end.have &= ~(uint32_t)(WIRE_HAVE_DMABUF | WIRE_HAVE_ARGS);
	proven(cause, DETAIL_fd_not_dmabuf);
	assert_null(strstr(d.verdict.summary, "descriptor 7"));
	in.end.result = -EIO;
	likely(cause, DETAIL_fd_not_dmabuf);
}

/* A change to a valid area of 64 chunks of 4096 bytes, and what the verdict names. */
static const struct {
	uint64_t address, length;
	uint32_t chunk, headroom, flags;
	enum detail detail;	/* DETAIL_none: every field is in range */
	bool likely;
} areas[] = {
	{ RANGE, 64 * PAGE, 4096, 0, 0, DETAIL_none, false },
	{ RANGE, 64 * PAGE, 2047, 0, 1, DETAIL_chunk_size, false },
	{ RANGE, 64 * PAGE, 2048, 0, 0, DETAIL_none, false },
	{ RANGE, 64 * PAGE, 4097, 0, 1, DETAIL_chunk_size, false },
	{ RANGE, 64 * PAGE, 0, 0, 0, DETAIL_chunk_size, false },
	{ RANGE, 64 * PAGE, 3000, 0, 0, DETAIL_chunk_size, false },
	{ RANGE, 64 * PAGE, 3000, 0, 1, DETAIL_none, false },
	{ RANGE, 64 * PAGE, 4096, 0, 8, DETAIL_umem_flags, false },
	{ RANGE, 64 * PAGE, 4096, 0, 2, DETAIL_umem_flags, true },
	{ RANGE, 64 * PAGE, 1024, 0, 8, DETAIL_chunk_size, false },
	{ RANGE + 1, 64 * PAGE, 4096, 0, 0, DETAIL_umem_address, false },
	{ RANGE + 2048, 64 * PAGE, 2048, 0, 0, DETAIL_umem_address, false },
	{ RANGE, 64 * PAGE + 1, 4096, 0, 0, DETAIL_umem_length, false },
	{ RANGE, 64 * PAGE + 1, 4096, 0, 1, DETAIL_none, false },
	{ RANGE, 4095, 4096, 0, 1, DETAIL_umem_length, false },
	{ RANGE, 0, 4096, 0, 0, DETAIL_umem_length, false },
	{ RANGE, PAGE << 32, 4096, 0, 0, DETAIL_umem_length, false },
	{ RANGE, UINT64_MAX, 4096, 0, 1, DETAIL_umem_length, false },
	{ RANGE, 64 * PAGE, 4096, 3840, 0, DETAIL_headroom, false },
	{ RANGE, 64 * PAGE, 4096, UINT32_MAX, 0, DETAIL_headroom, false },
	{ RANGE, 64 * PAGE, 4096, 3839, 0, DETAIL_headroom, true },
	{ RANGE, 64 * PAGE, 4096, 2816, 0, DETAIL_none, false },
};

static void fields_of_an_area(void **state)
{
	const char *cause = "xdp_umem_invalid";
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(areas) / sizeof(areas[0]); i++) {
		prove_xdp_umem_invalid(&in);
		in.end.address = areas[i].address;
		in.end.length = areas[i].length;
		in.end.args.chunk_bytes = areas[i].chunk;
		in.end.args.headroom_bytes = areas[i].headroom;
		in.end.args.flags = areas[i].flags;
		if (areas[i].detail == DETAIL_none)
			unknown(cause, "every field is in range");
		else if (areas[i].likely)
			likely(cause, areas[i].detail);
		else
			proven(cause, areas[i].detail);
	}
	prove_xdp_umem_invalid(&in);
	in.end.have &= ~(uint32_t)WIRE_HAVE_ARGS;
	unknown(cause, NULL);
}

static void one_gigabyte(void **state)
{
	const char *cause = "io_uring_over_1g";

	(void)state;
	prove_io_uring_over_1g(&in);
	proven(cause, DETAIL_buffer_over_1g);
	in.end.length = 1ULL << 30;
	unknown(cause, "not more than 1073741824");
	/* Two 32-bit fields of a 32-bit caller, read as one. */
	in.end.length = 1ULL << 44;
	unknown(cause, NULL);
	in.end.length = (1ULL << 44) - 1;
	proven(cause, DETAIL_buffer_over_1g);
	/* Refused for having no address, whatever its length. */
	in.end.address = 0;
	unknown(cause, NULL);
	prove_io_uring_over_1g(&in);
	in.end.have &= ~(uint32_t)WIRE_HAVE_ARGS;
	unknown(cause, NULL);
	prove_io_uring_over_1g(&in);
	in.end.nchain = 0;
	add_chain(&in, WIRE_FN_URING_BUFFER, -EFAULT);
	add_chain(&in, WIRE_FN_URING, -EFAULT);
	likely(cause, DETAIL_buffer_over_1g);
	prove_io_uring_over_1g(&in);
	id.uring_bounded = false;
	likely(cause, DETAIL_buffer_over_1g);
	id.uring_bounded = true;
	/* Without its own hook the buffer that was next is not known. */
	prove_io_uring_over_1g(&in);
	id.fn_watched[WIRE_FN_URING_BUFFER] = false;
	unknown(cause, NULL);
	id = test_identity();
	in.end.nchain = 0;
	fail_pin(&in, EFAULT);
	add_chain(&in, WIRE_FN_URING_BUFFER, -EFAULT);
	diagnose(&in, &id, &d);
	assert_non_null(ruled_out(&d, cause));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(no_operation_for_dmabufs), TEST(part_of_a_dmabuf), TEST(descriptors), TEST(fields_of_an_area),
		TEST(one_gigabyte),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
