// SPDX-License-Identifier: BSD-2-Clause
/* Cases of badreg: the other ways by which a region gets to the kernel. */
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "bad.h"
#include "common.h"
#include "otherpins.h"
#include "rawverbs.h"

/* Two pages short at the end, or, for the control, all there. */
static char *torn_memory(const struct play *play)
{
	char *memory = bad_memory(play->length);

	if (!play->control && munmap(memory + play->length - 2 * page_bytes(), 2 * page_bytes()))
		die_errno("munmap");
	return memory;
}

static void name_hole(struct play *play, const char *memory)
{
	truth_num(play->truth, "hole_index", play->length / page_bytes() - 2);
	truth_hex(play->truth, "hole_address", (uintptr_t)memory + play->length - 2 * page_bytes());
}

/* An optional access flag makes libibverbs ask the provider another way than without. */
static void run_iova2(struct play *play)
{
	unsigned int access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_RELAXED_ORDERING;
	char *memory = torn_memory(play);
	struct ibv_mr *mr;

	name_hole(play, memory);
	bad_call(play, "ibv_reg_mr_iova2", memory, play->length, access);
	play->truth->iova = (uintptr_t)memory + 16 * page_bytes();
	errno = 0;
	mr = ibv_reg_mr_iova2(play->rdma.pd, memory, play->length, play->truth->iova, access);
	bad_outcome(play, mr ? 0 : errno);
	rdma_deregister(mr);
}

static struct raw_mr raw_begin(struct play *play, const char *entry, char *memory)
{
	bad_call(play, entry, memory, play->length, IBV_ACCESS_LOCAL_WRITE);
	return (struct raw_mr){ memory, play->length, (uintptr_t)memory, IBV_ACCESS_LOCAL_WRITE };
}

/* What is registered here goes when the device is closed. */
static void run_raw_reg(struct play *play)
{
	char *memory = torn_memory(play);
	struct raw_mr mr = raw_begin(play, "UVERBS_METHOD_REG_MR", memory);

	name_hole(play, memory);
	bad_outcome(play, raw_reg_mr(&play->rdma, &mr));
}

static void run_raw_reg_flags(struct play *play)
{
	struct raw_mr mr = raw_begin(play, "UVERBS_METHOD_REG_MR", bad_memory(play->length));

	mr.access = play->truth->access = IBV_ACCESS_REMOTE_WRITE | (play->control ? IBV_ACCESS_LOCAL_WRITE : 0);
	bad_outcome(play, raw_reg_mr(&play->rdma, &mr));
}

/* The provider in user space has no such call: the kernel hears nothing of it. */
static void run_dmabuf(struct play *play)
{
	struct ibv_mr *mr;

	bad_call(play, "ibv_reg_dmabuf_mr", NULL, play->length, IBV_ACCESS_LOCAL_WRITE);
	errno = 0;
	mr = ibv_reg_dmabuf_mr(play->rdma.pd, 0, play->length, 0, bad_memfd(play->length), IBV_ACCESS_LOCAL_WRITE);
	bad_outcome(play, mr ? 0 : errno);
	rdma_deregister(mr);
}

static void run_raw_dmabuf(struct play *play)
{
	struct raw_mr mr = raw_begin(play, "UVERBS_METHOD_REG_DMABUF_MR", NULL);

	bad_outcome(play, raw_reg_dmabuf_mr(&play->rdma, bad_memfd(play->length), &mr));
}

static void run_dm_alloc(struct play *play)
{
	bad_call(play, "UVERBS_METHOD_DM_ALLOC", NULL, play->length, 0);
	bad_outcome(play, raw_dm_alloc(&play->rdma, play->length));
}

static void run_dm_reg(struct play *play)
{
	struct raw_mr mr = raw_begin(play, "UVERBS_METHOD_DM_MR_REG", NULL);

	bad_outcome(play, raw_dm_reg(&play->rdma, &mr));
}

/* A live region whose rights, or whose memory, is to change. */
static void rereg(struct play *play, unsigned int flags, unsigned int access)
{
	char *memory = bad_memory(play->length);
	struct ibv_mr *mr = ibv_reg_mr(play->rdma.pd, memory, play->length, IBV_ACCESS_LOCAL_WRITE);
	struct raw_mr change = raw_begin(play, "IB_USER_VERBS_CMD_REREG_MR", memory);

	if (!mr)
		die_errno("the first registration failed");
	truth_num(play->truth, "set_up_ok", 1);
	truth_num(play->truth, "rereg_flags", flags);
	change.access = play->truth->access = access;
	bad_outcome(play, raw_rereg(&play->rdma, mr->handle, flags, &change));
	rdma_deregister(mr);
}

static void run_rereg_access(struct play *play)
{
	rereg(play, IBV_REREG_MR_CHANGE_ACCESS,
	      IBV_ACCESS_REMOTE_WRITE | (play->control ? IBV_ACCESS_LOCAL_WRITE : 0));
}

static void run_rereg_memory(struct play *play)
{
	if (play->control)
		rereg(play, IBV_REREG_MR_CHANGE_ACCESS, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ);
	else
		rereg(play, IBV_REREG_MR_CHANGE_TRANSLATION, IBV_ACCESS_LOCAL_WRITE);
}

static void run_rereg_legal(struct play *play)
{
	rereg(play, IBV_REREG_MR_CHANGE_ACCESS, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ);
}

static void run_ibv_rereg(struct play *play)
{
	char *memory = bad_memory(play->length);
	struct ibv_mr *mr = ibv_reg_mr(play->rdma.pd, memory, play->length, IBV_ACCESS_LOCAL_WRITE);

	if (!mr)
		die_errno("the first registration failed");
	truth_num(play->truth, "set_up_ok", 1);
	bad_call(play, "ibv_rereg_mr", memory, play->length, IBV_ACCESS_LOCAL_WRITE);
	errno = 0;
	truth_num(play->truth, "returned",
		  (uint64_t)(int64_t)ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, IBV_ACCESS_LOCAL_WRITE));
	bad_outcome(play, errno);
	rdma_deregister(mr);
}

static void run_uring_unmapped(struct play *play)
{
	char *memory = torn_memory(play);

	name_hole(play, memory);
	bad_call(play, "io_uring", memory, play->length, 0);
	bad_outcome(play, uring_register(uring_new(), memory, play->length));
}

static void run_xdp_unmapped(struct play *play)
{
	char *memory = torn_memory(play);

	name_hole(play, memory);
	bad_call(play, "af_xdp", memory, play->length, 0);
	bad_outcome(play, xdp_register(xdp_new(), memory, play->length, &(struct xdp_shape){ .chunk = 4096 }));
}

static void run_xdp_limit(struct play *play)
{
	int fd = xdp_new();
	char *memory = bad_memory(16 * MIB);

	bad_become_nobody(play);
	bad_call(play, "af_xdp", memory, 16 * MIB, 0);
	bad_outcome(play, xdp_register(fd, memory, 16 * MIB, &(struct xdp_shape){ .chunk = 4096 }));
}

static void run_uring_limit(struct play *play)
{
	char *memory = bad_memory(16 * MIB);

	bad_call(play, "io_uring", memory, 16 * MIB, 0);
	bad_outcome(play, uring_register(uring_new(), memory, 16 * MIB));
}

#define NEVER "rxe has no such call on any kernel"

static const struct bad bads[] = {
	BAD("iova2_unmapped", "ibv_reg_mr_iova2 of memory with a hole", run_iova2),
	BAD("raw_reg_unmapped", "UVERBS_METHOD_REG_MR of memory with a hole", run_raw_reg),
	BAD("raw_reg_flags", "UVERBS_METHOD_REG_MR with wrong access flags", run_raw_reg_flags),
	BAD("dmabuf", "ibv_reg_dmabuf_mr", run_dmabuf, .skip_control = NEVER),
	BAD("raw_dmabuf", "UVERBS_METHOD_REG_DMABUF_MR", run_raw_dmabuf, .skip_control = NEVER),
	BAD("dm_alloc", "memory of the device", run_dm_alloc, .skip_control = NEVER),
	BAD("dm_reg", "a region of memory of the device", run_dm_reg, .skip_control = NEVER),
	BAD("rereg_access", "a change to access flags that are not allowed", run_rereg_access),
	BAD("rereg_memory", "a change of memory", run_rereg_memory),
	BAD("rereg_legal", "a change to other access flags", run_rereg_legal, .skip_control = "it is one itself"),
	BAD("ibv_rereg", "ibv_rereg_mr", run_ibv_rereg, .skip_control = "the provider of rxe has no such call"),
	BAD("uring_unmapped", "memory with a hole, for io_uring", run_uring_unmapped, .no_device = true),
	BAD("xdp_unmapped", "memory with a hole, for AF_XDP", run_xdp_unmapped, .no_device = true),
	BAD("uring_limit", "more than the memlock limit, for io_uring", run_uring_limit,
	    LIMITS(8 * MIB, 32 * MIB), .as_nobody = true, .no_device = true),
	BAD("xdp_limit", "more than the memlock limit, for AF_XDP", run_xdp_limit,
	    LIMITS(8 * MIB, 32 * MIB), .no_device = true),
};
const struct bad_family bad_entries = { bads, ARRAY_SIZE(bads) };
