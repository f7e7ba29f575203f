// SPDX-License-Identifier: BSD-2-Clause
/* The plainest incident that proves each cause of causes/arguments.def. */
#include "support.h"

#include <errno.h>
#include <string.h>

void prove_iova_offset_mismatch(struct incident *ret)
{
	fail_command(ret, EINVAL);
	ret->end.iova = RANGE + 8;
}

void prove_access_flags_invalid(struct incident *ret)
{
	fail_command(ret, EINVAL);
	ret->end.access = 0x2;
}

void prove_length_invalid(struct incident *ret)
{
	build_failure(ret, EINVAL);
	fail_upwards(ret, EINVAL);
	ret->end.length = 0;
}

void prove_odp_unsupported(struct incident *ret)
{
	fail_command(ret, EOPNOTSUPP);
	ret->end.access = 0x41;
}

void prove_provider_access_unsupported(struct incident *ret)
{
	fail_driver(ret, EOPNOTSUPP);
	ret->end.access = 0x21;
}

void prove_coco_dma_bounce_unsupported(struct incident *ret)
{
	build_failure(ret, EOPNOTSUPP);
	fail_upwards(ret, EOPNOTSUPP);
	ret->end.have |= WIRE_HAVE_CAPS;
	ret->end.caps.cc_dma_bounce = 1;
}

void prove_rereg_unsupported(struct incident *ret)
{
	fail_command(ret, EOPNOTSUPP);
	ret->end.nchain = 0;
	ret->end.api = WIRE_API_REREG_MR;
	ret->end.have |= WIRE_HAVE_ARGS;
	ret->end.args.flags = 1;
	add_chain(ret, WIRE_FN_REREG_MR, -EOPNOTSUPP);
}

/* A part of 256 pages at offset 0 of a dma-buf of 256 pages. */
static void dmabuf(struct incident *ret, int err)
{
	build_failure(ret, err);
	ret->end.api = WIRE_API_REG_DMABUF_MR;
	ret->end.stage = WIRE_STAGE_UVERBS;
	ret->end.address = ret->end.iova = 0;
	ret->end.have = WIRE_HAVE_DEVICE | WIRE_HAVE_MEMLOCK | WIRE_HAVE_ARGS | WIRE_HAVE_CAPS;
	ret->end.caps.has_dmabuf = 1;
	ret->end.args.fd = 7;
	ret->end.args.object_bytes = 256 * PAGE;
}

void prove_dmabuf_unsupported(struct incident *ret)
{
	dmabuf(ret, EOPNOTSUPP);
	ret->end.caps.has_dmabuf = 0;
	add_chain(ret, WIRE_FN_REG_DMABUF_MR, -EOPNOTSUPP);
}

void prove_dmabuf_range_mismatch(struct incident *ret)
{
	dmabuf(ret, EINVAL);
	ret->end.have |= WIRE_HAVE_DMABUF;
	ret->end.args.offset = PAGE;
	add_chain(ret, WIRE_FN_UMEM_DMABUF, -EINVAL);
	add_chain(ret, WIRE_FN_REG_DMABUF_MR, -EINVAL);
}

void prove_dmabuf_bad_fd(struct incident *ret)
{
	dmabuf(ret, EBADF);
	add_chain(ret, WIRE_FN_DMABUF_GET, -EBADF);
	add_chain(ret, WIRE_FN_UMEM_DMABUF, -EBADF);
	add_chain(ret, WIRE_FN_REG_DMABUF_MR, -EBADF);
}

/* 64 chunks of 4096 bytes. */
void prove_xdp_umem_invalid(struct incident *ret)
{
	build_failure(ret, EINVAL);
	ret->end.api = WIRE_API_XDP_UMEM;
	ret->end.have = WIRE_HAVE_ARGS | WIRE_HAVE_MEMLOCK;
	ret->end.length = 64 * PAGE;
	ret->end.args.chunk_bytes = 1024;
	add_chain(ret, WIRE_FN_XDP_UMEM, -EINVAL);
}

void prove_io_uring_over_1g(struct incident *ret)
{
	build_failure(ret, EFAULT);
	ret->end.api = WIRE_API_IO_URING;
	ret->end.have = WIRE_HAVE_ARGS | WIRE_HAVE_MEMLOCK;
	ret->end.args.count = 1;
	ret->end.length = (1ULL << 30) + 1;
	add_chain(ret, WIRE_FN_URING, -EFAULT);
}
