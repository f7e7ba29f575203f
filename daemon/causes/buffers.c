// SPDX-License-Identifier: BSD-2-Clause
/* Arguments of the entry points that are no verbs command, and dma-bufs. */
#include <errno.h>
#include <inttypes.h>

#include "causes/call.h"
#include "causes/gpu.h"
#include "names.h"

#define BUFFER_CAUSES(X) \
	X(dmabuf_unsupported) X(dmabuf_range_mismatch) X(dmabuf_bad_fd) X(xdp_umem_invalid) X(io_uring_over_1g)
#define DECLARE(name) \
	void cause_##name(const struct incident *in, const struct identity *id, struct finding *ret);
BUFFER_CAUSES(DECLARE)

static void prove(const struct incident *in, struct finding *ret)
{
	ret->kind = call_same_errno(in, ret) ? FINDING_PROVEN : FINDING_LIKELY;
}

static bool first_is(const struct incident *in, enum wire_fn fn, int err)
{
	return in->end.nchain > 0 && in->end.chain[0].fn == fn && in->end.chain[0].result == -err;
}

/* The function that would have failed was not the first to fail: "X failed first". */
static bool another_first(const struct incident *in, const struct identity *id, enum wire_fn fn, struct finding *ret)
{
	if (in->end.nchain == 0 || in->end.chain[0].fn == fn || !id->fn_watched[fn])
		return false;
	ret->kind = FINDING_RULED_OUT;
	finding_because(ret, "%s failed first (%s), not %s", name_fn(id, in->end.chain[0].fn),
			name_errno(incident_decisive_errno(in)), name_fn(id, fn));
	return true;
}

void cause_dmabuf_unsupported(const struct incident *in, const struct identity *id, struct finding *ret)
{
	const struct wire_reg_end *e = &in->end;
	bool caps = e->have & WIRE_HAVE_CAPS;

	if (call_is_other(in, API(REG_DMABUF_MR), "it registers no dma-buf", ret) ||
	    another_first(in, id, WIRE_FN_REG_DMABUF_MR, ret) || !call_entry_first(in))
		return;
	ret->detail = caps && !e->caps.has_dmabuf ? DETAIL_no_dmabuf_operation : DETAIL_dmabuf_refused_by_driver;
	finding_summary(ret, "%s cannot register this dma-buf: %s", e->device, detail_words[ret->detail].meaning);
	finding_evidence(ret, "%s = -EOPNOTSUPP, and nothing below it was seen failing", name_fn(id, WIRE_FN_REG_DMABUF_MR));
	if (caps && !e->caps.has_dmabuf) {
		finding_evidence(ret, "%s has no operation reg_user_mr_dmabuf, which is the command's first check", e->driver);
		prove(in, ret);
	} else {
		finding_missing(ret, "provider.dmabuf", caps ? "the driver has the operation; why it turned the buffer down was not seen" :
				"whether the driver has the operation was not read");
		ret->kind = FINDING_LIKELY;
	}
	finding_remedy(ret, "use a kernel and driver with dma-buf registration for this device (mlx5, irdma, efa, bnxt_re, mana have it in newer kernels), and an rdma-core that matches");
	finding_remedy(ret, "or do without: NCCL_DMABUF_ENABLE=0 with the peer memory module of the GPU driver loaded");
}

/* What is wrong with the part of the dma-buf that was asked for; DETAIL_none = nothing. */
static enum detail range_fault(const struct wire_reg_end *e, uint64_t page)
{
	uint64_t end, aligned;

	if (__builtin_add_overflow(e->args.offset, e->length, &end) || __builtin_add_overflow(end, page - 1, &aligned))
		return DETAIL_range_wraps;
	if ((e->have & WIRE_HAVE_DMABUF) && end > e->args.object_bytes)
		return DETAIL_past_end_of_dmabuf;
	if ((aligned & ~(page - 1)) <= (e->args.offset & ~(page - 1)))
		return DETAIL_length_zero;
	return DETAIL_none;
}

void cause_dmabuf_range_mismatch(const struct incident *in, const struct identity *id, struct finding *ret)
{
	const struct wire_reg_end *e = &in->end;
	enum detail fault = range_fault(e, id->page_size);

	if (another_first(in, id, WIRE_FN_UMEM_DMABUF, ret) || !(e->have & (WIRE_HAVE_ARGS | WIRE_HAVE_DMABUF)) ||
	    !first_is(in, WIRE_FN_UMEM_DMABUF, EINVAL))
		return;
	if (fault == DETAIL_none) {
		if (!(e->have & WIRE_HAVE_DMABUF))
			return;
		ret->kind = FINDING_RULED_OUT;
		finding_because(ret, "offset %" PRIu64 " + length %" PRIu64 " lie within the dma-buf of %" PRIu64 " bytes",
				(uint64_t)e->args.offset, (uint64_t)e->length, (uint64_t)e->args.object_bytes);
		return;
	}
	ret->detail = fault;
	finding_summary(ret, "the part of the dma-buf that was asked for is no part of it: %s", detail_words[fault].meaning);
	finding_evidence(ret, "offset %" PRIu64 ", length %" PRIu64 " bytes", (uint64_t)e->args.offset, (uint64_t)e->length);
	if (e->have & WIRE_HAVE_DMABUF)
		finding_evidence(ret, "size of the dma-buf: %" PRIu64 " bytes%s%s", (uint64_t)e->args.object_bytes,
				 e->args.exporter[0] ? ", exported by " : "", e->args.exporter);
	finding_evidence(ret, "%s = -EINVAL, before it attached to the exporter", name_fn(id, WIRE_FN_UMEM_DMABUF));
	prove(in, ret);
	finding_remedy(ret, "take offset and length from the buffer that was exported: the size of a dma-buf is lseek(fd, 0, SEEK_END)");
	finding_remedy(ret, "for GPU memory export the whole allocation, not the pointer: a pointer into it needs its offset from the allocation's start");
}

void cause_dmabuf_bad_fd(const struct incident *in, const struct identity *id, struct finding *ret)
{
	const struct wire_reg_end *e = &in->end;
	bool closed = first_is(in, WIRE_FN_DMABUF_GET, EBADF);
	bool known = e->have & (WIRE_HAVE_ARGS | WIRE_HAVE_DMABUF);

	if (another_first(in, id, WIRE_FN_DMABUF_GET, ret) || (!closed && !first_is(in, WIRE_FN_DMABUF_GET, EINVAL)))
		return;
	ret->detail = closed ? DETAIL_fd_not_open : DETAIL_fd_not_dmabuf;
	if (known)
		finding_summary(ret, "file descriptor %d %s", e->args.fd, closed ? "is not open in the process" : "is open and is no dma-buf");
	else
		finding_summary(ret, "%s", detail_words[ret->detail].meaning);
	finding_evidence(ret, "%s = -%s, which it gives for %s", name_fn(id, WIRE_FN_DMABUF_GET), closed ? "EBADF" : "EINVAL",
			 closed ? "a descriptor that is not open" : "a file that is no dma-buf");
	prove(in, ret);
	tell_failed_export(in, ret);
	finding_remedy(ret, "keep the exported descriptor open until the registration has returned; the region keeps the buffer by itself afterwards");
	finding_remedy(ret, "pass it to another process with SCM_RIGHTS or pidfd_getfd(): its number means nothing there");
}

/* include/uapi/linux/if_xdp.h, net/xdp/xdp_umem.c */
#define XDP_MIN_CHUNK 2048
#define XDP_PACKET_HEADROOM 256
enum {
	XDP_UNALIGNED = 1 << 0,
	XDP_NEWER_FLAGS = 1 << 1 | 1 << 2,	/* transmit checksum and metadata: not on 5.10 and 6.1 */
};
/* The newest kernels also want room for struct skb_shared_info and 128 bytes behind the headroom: at most this. */
#define XDP_TAILROOM_MOST 1024

/*
 * The kernel's checks, in its order. *ret_sure: no kernel would take it. DETAIL_none: all pass.
 * Old kernels also wanted chunks to fill whole pages: that passes here.
 */
static enum detail xdp_fault(const struct wire_reg_end *e, uint64_t page, bool *ret_sure)
{
	uint64_t chunk = e->args.chunk_bytes, end;
	bool unaligned = e->args.flags & XDP_UNALIGNED;

	*ret_sure = true;
	if (chunk < XDP_MIN_CHUNK || chunk > page)
		return DETAIL_chunk_size;
	if (e->args.flags & ~(uint32_t)(XDP_UNALIGNED | XDP_NEWER_FLAGS))
		return DETAIL_umem_flags;
	if (!unaligned && (chunk & (chunk - 1)))
		return DETAIL_chunk_size;
	if (e->address & (page - 1))
		return DETAIL_umem_address;
	if (__builtin_add_overflow(e->address, e->length, &end) || e->length / page >= UINT32_MAX ||
	    e->length / chunk == 0 || (!unaligned && e->length % chunk))
		return DETAIL_umem_length;
	if (e->args.headroom_bytes >= chunk - XDP_PACKET_HEADROOM)
		return DETAIL_headroom;
	*ret_sure = false;
	if (e->args.flags & XDP_NEWER_FLAGS)
		return DETAIL_umem_flags;
	return e->args.headroom_bytes + XDP_PACKET_HEADROOM + XDP_TAILROOM_MOST > chunk ? DETAIL_headroom : DETAIL_none;
}

void cause_xdp_umem_invalid(const struct incident *in, const struct identity *id, struct finding *ret)
{
	const struct wire_reg_end *e = &in->end;
	enum detail fault;
	bool sure;

	if (another_first(in, id, WIRE_FN_XDP_UMEM, ret) || !(e->have & WIRE_HAVE_ARGS) || !first_is(in, WIRE_FN_XDP_UMEM, EINVAL))
		return;
	fault = xdp_fault(e, id->page_size, &sure);
	if (fault == DETAIL_none) {
		ret->kind = FINDING_RULED_OUT;
		finding_because(ret, "every field is in range: chunk %u, headroom %u, flags 0x%x, address 0x%" PRIx64 ", length %" PRIu64,
				e->args.chunk_bytes, e->args.headroom_bytes, e->args.flags, (uint64_t)e->address, (uint64_t)e->length);
		return;
	}
	ret->detail = fault;
	finding_summary(ret, "the AF_XDP area is not valid: %s", detail_words[fault].meaning);
	finding_evidence(ret, "chunk size %u bytes (2048 to %u, a power of two unless unaligned), flags 0x%x",
			 e->args.chunk_bytes, id->page_size, e->args.flags);
	finding_evidence(ret, "address 0x%" PRIx64 ", length %" PRIu64 " bytes, headroom %u bytes (less than chunk size - %u)",
			 (uint64_t)e->address, (uint64_t)e->length, e->args.headroom_bytes, XDP_PACKET_HEADROOM);
	finding_evidence(ret, "%s = -EINVAL, and nothing below it failed", name_fn(id, WIRE_FN_XDP_UMEM));
	ret->kind = FINDING_LIKELY;
	if (sure)
		prove(in, ret);
	else
		finding_missing(ret, "kernel.xdp_checks", "newer kernels take this value or refuse it where older ones do not; which this one does is not known");
	finding_remedy(ret, "begin the area at a page, make its length a multiple of the chunk size, use chunks of 2048 or 4096 bytes, and a headroom below %u less than the chunk",
		       XDP_PACKET_HEADROOM);
}

void cause_io_uring_over_1g(const struct incident *in, const struct identity *id, struct finding *ret)
{
	const struct wire_reg_end *e = &in->end;
	const uint64_t most = 1ULL << 30;
	/* Without its own hook the buffer that was next is not known. */
	bool first = first_is(in, WIRE_FN_URING, EFAULT) && id->fn_watched[WIRE_FN_URING_BUFFER];

	if (!(e->have & WIRE_HAVE_ARGS) || (!first && !first_is(in, WIRE_FN_URING_BUFFER, EFAULT)))
		return;
	/* Without an address it is refused for that, and a 32-bit caller's buffers are laid out in another way. */
	if (!e->address || e->length >> 44)
		return;
	if (e->length <= most) {
		ret->kind = FINDING_RULED_OUT;
		finding_because(ret, "buffer %u has %" PRIu64 " bytes, not more than %" PRIu64, e->args.index, (uint64_t)e->length, most);
		return;
	}
	ret->detail = DETAIL_buffer_over_1g;
	finding_summary(ret, "io_uring buffer %u of %u has %" PRIu64 " bytes; one may have 1 GiB at most", e->args.index,
			e->args.count, (uint64_t)e->length);
	finding_evidence(ret, "length %" PRIu64 " bytes at 0x%" PRIx64 ", limit %" PRIu64 " bytes", (uint64_t)e->length,
			 (uint64_t)e->address, most);
	finding_evidence(ret, "%s = -EFAULT, and no pin failed", name_fn(id, e->chain[0].fn));
	ret->kind = FINDING_LIKELY;
	/* The check with the bound comes before the buffer's own function; newer kernels have none. */
	if (first && id->uring_bounded)
		prove(in, ret);
	else
		finding_missing(ret, "kernel.io_uring_bound", "%s", first ? "this kernel may take such a buffer: newer ones have no bound" :
				"the buffer's own function was entered, which kernels with the bound do not do");
	finding_remedy(ret, "register the memory as several buffers of at most 1 GiB each");
}
