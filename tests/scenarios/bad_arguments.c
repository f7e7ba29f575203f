// SPDX-License-Identifier: BSD-2-Clause
/* Cases of badreg: arguments that the kernel or the device turns down before any page is looked at. */
#include <errno.h>
#include <stdint.h>
#include <sys/mman.h>

#include "bad.h"
#include "common.h"
#include "otherpins.h"

/* None of the bits that kernels up to 7.3 know, nor of those that they ignore (20 to 29). */
#define ACCESS_UNKNOWN (1u << 15)

static void register_with(struct play *play, unsigned int access)
{
	rdma_deregister(bad_register(play, bad_memory(play->length), play->length, access));
}

static void run_no_local_write(struct play *play)
{
	register_with(play, IBV_ACCESS_REMOTE_WRITE | (play->control ? IBV_ACCESS_LOCAL_WRITE : 0));
}

static void run_atomic_no_local_write(struct play *play)
{
	register_with(play, IBV_ACCESS_REMOTE_ATOMIC | (play->control ? IBV_ACCESS_LOCAL_WRITE : 0));
}

static void run_unknown_bit(struct play *play)
{
	register_with(play, IBV_ACCESS_LOCAL_WRITE | (play->control ? 0 : ACCESS_UNKNOWN));
}

static void run_zero_based(struct play *play)
{
	register_with(play, IBV_ACCESS_LOCAL_WRITE | (play->control ? 0 : IBV_ACCESS_ZERO_BASED));
}

static void run_hugetlb_flag(struct play *play)
{
	register_with(play, IBV_ACCESS_LOCAL_WRITE | (play->control ? 0 : IBV_ACCESS_HUGETLB));
}

static void run_odp(struct play *play)
{
	register_with(play, IBV_ACCESS_LOCAL_WRITE | (play->control ? 0 : IBV_ACCESS_ON_DEMAND));
}

/* The whole address space, of which nothing is pinned: that is what the arguments mean together. */
static void run_odp_implicit(struct play *play)
{
	if (play->control)
		register_with(play, IBV_ACCESS_LOCAL_WRITE);
	else
		rdma_deregister(bad_register(play, NULL, SIZE_MAX, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_ON_DEMAND));
}

static void run_no_length(struct play *play)
{
	rdma_deregister(bad_register(play, bad_memory(play->length), play->control ? play->length : 0,
				     IBV_ACCESS_LOCAL_WRITE));
}

/* Address and length add up to more than 64 bits hold. */
static void run_wraps(struct play *play)
{
	char *memory = bad_memory(play->length);

	rdma_deregister(bad_register(play, memory, play->control ? play->length : SIZE_MAX - 4095,
				     IBV_ACCESS_LOCAL_WRITE));
}

/* The offsets into a page of the address and of what the network calls it must agree. */
static void run_iova(struct play *play)
{
	char *memory = bad_memory(play->length);
	uint64_t iova = (uintptr_t)memory + (play->control ? page_bytes() : 8);
	struct ibv_mr *mr;

	bad_call(play, "ibv_reg_mr_iova", memory, play->length, IBV_ACCESS_LOCAL_WRITE);
	play->truth->iova = iova;
	errno = 0;
	mr = ibv_reg_mr_iova(play->rdma.pd, memory, play->length, iova, IBV_ACCESS_LOCAL_WRITE);
	bad_outcome(play, mr ? 0 : errno);
	rdma_deregister(mr);
}

/* A protection domain that the kernel never gave out. */
static void run_no_pd(struct play *play)
{
	struct ibv_pd pd = *play->rdma.pd;
	struct rdma rdma = { play->rdma.context, play->control ? play->rdma.pd : &pd };
	char *memory = bad_memory(play->length);

	pd.handle = 0x7ffffff;
	bad_call(play, "ibv_reg_mr", memory, play->length, IBV_ACCESS_LOCAL_WRITE);
	truth_num(play->truth, "pd_handle", rdma.pd->handle);
	rdma_deregister(rdma_register(&rdma, memory, play->length, IBV_ACCESS_LOCAL_WRITE, &play->truth->outcome));
}

/* The same few pages again and again, so that a guest with less memory can pin the range. */
static char *repeated_memory(size_t length)
{
	const size_t piece = 4 * MIB;
	int fd = bad_memfd(piece);
	char *memory = bad_map(length, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1);

	for (size_t i = 0; i < length; i += piece)
		if (mmap(memory + i, length - i < piece ? length - i : piece, PROT_READ | PROT_WRITE,
			 MAP_SHARED | MAP_FIXED, fd, 0) != memory + i)
			die_errno("mmap");
	return memory;
}

/* io_uring took no single buffer of more than 1 GiB, until that limit was lifted. */
static void run_uring_over_1g(struct play *play)
{
	size_t length = 1 * GIB + (play->control ? 0 : page_bytes());
	char *memory = repeated_memory(length);

	bad_call(play, "io_uring", memory, length, 0);
	bad_outcome(play, uring_register(uring_new(), memory, length));
}

static void xdp(struct play *play, size_t offset, struct xdp_shape shape)
{
	const struct xdp_shape legal = { .chunk = 4096 };
	char *memory = bad_memory(play->length + page_bytes());

	if (play->control) {
		offset = 0;
		shape = legal;
	}
	truth_num(play->truth, "chunk_bytes", shape.chunk);
	truth_num(play->truth, "headroom_bytes", shape.headroom);
	bad_call(play, "af_xdp", memory + offset, play->length, 0);
	bad_outcome(play, xdp_register(xdp_new(), memory + offset, play->length, &shape));
}

static void run_xdp_chunk(struct play *play)
{
	xdp(play, 0, (struct xdp_shape){ .chunk = 3000 });
}

static void run_xdp_small_chunk(struct play *play)
{
	xdp(play, 0, (struct xdp_shape){ .chunk = 1024 });
}

static void run_xdp_address(struct play *play)
{
	xdp(play, 8, (struct xdp_shape){ .chunk = 4096 });
}

static void run_xdp_headroom(struct play *play)
{
	xdp(play, 0, (struct xdp_shape){ .chunk = 2048, .headroom = 2048 });
}

static const struct bad bads[] = {
	BAD("no_local_write", "REMOTE_WRITE without LOCAL_WRITE", run_no_local_write),
	BAD("atomic_no_local_write", "REMOTE_ATOMIC without LOCAL_WRITE", run_atomic_no_local_write),
	BAD("unknown_bit", "an access flag that no kernel knows", run_unknown_bit),
	BAD("zero_based", "IBV_ACCESS_ZERO_BASED", run_zero_based),
	BAD("hugetlb_flag", "IBV_ACCESS_HUGETLB", run_hugetlb_flag),
	BAD("odp", "on-demand paging", run_odp),
	BAD("odp_implicit", "on-demand paging of the whole address space", run_odp_implicit),
	BAD("no_length", "a length of 0", run_no_length),
	BAD("wraps", "address and length wrap around", run_wraps),
	BAD("iova_offset", "address and iova differ in their offset into a page", run_iova),
	BAD("no_pd", "a protection domain that is not there", run_no_pd),
	BAD("uring_over_1g", "a buffer of more than 1 GiB for io_uring", run_uring_over_1g, .no_device = true),
	BAD("xdp_chunk", "AF_XDP chunks of 3000 bytes", run_xdp_chunk, .no_device = true),
	BAD("xdp_small_chunk", "AF_XDP chunks of 1024 bytes", run_xdp_small_chunk, .no_device = true),
	BAD("xdp_address", "AF_XDP memory that does not begin with a page", run_xdp_address, .no_device = true),
	BAD("xdp_headroom", "AF_XDP headroom as large as a chunk", run_xdp_headroom, .no_device = true),
};
const struct bad_family bad_arguments = { bads, ARRAY_SIZE(bads) };
