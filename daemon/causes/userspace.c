// SPDX-License-Identifier: BSD-2-Clause
/* What fails in the process before a registration reaches the kernel: libibverbs' fork protection. */
#include <errno.h>
#include <inttypes.h>

#include "causes/call.h"
#include "names.h"

void cause_max_map_count_madvise(const struct incident *in, const struct identity *id, struct finding *ret);
void cause_fork_hugepage_madvise_einval(const struct incident *in, const struct identity *id, struct finding *ret);

/* include/uapi/asm-generic/mman-common.h */
#define MADV_DONTFORK 10
#define MADV_DOFORK 11
#define VM_HUGETLB 0x400000	/* include/linux/mm.h: the same on every kernel */

static const char *advice(const struct wire_reg_end *e)
{
	if (!(e->have & WIRE_HAVE_ARGS))
		return "fork protection";
	return e->args.flags == MADV_DONTFORK ? "MADV_DONTFORK" : e->args.flags == MADV_DOFORK ? "MADV_DOFORK" : "?";
}

static bool is_fork_advice(const struct wire_reg_end *e)
{
	return !(e->have & WIRE_HAVE_ARGS) || e->args.flags == MADV_DONTFORK || e->args.flags == MADV_DOFORK;
}

static bool madvise_failed(const struct incident *in, int err)
{
	return in->end.nchain > 0 && in->end.chain[0].fn == WIRE_FN_MADVISE && in->end.chain[0].result == -err &&
	       is_fork_advice(&in->end);
}

/* Do the mappings that were seen cover the range without a hole? They come in order of address. */
static bool covered(const struct wire_reg_end *e)
{
	uint64_t at = e->address, end;
	uint32_t i;

	if (!(e->have & WIRE_HAVE_VMAS_ALL) || __builtin_add_overflow(e->address, e->length, &end))
		return false;
	for (i = 0; i < e->nvmas && at < end; i++)
		if (e->vmas[i].start <= at && at < e->vmas[i].end)
			at = e->vmas[i].end;
	return at >= end;
}

void cause_max_map_count_madvise(const struct incident *in, const struct identity *id, struct finding *ret)
{
	const struct wire_reg_end *e = &in->end;
	const struct facts *f = &in->facts;
	int err = incident_decisive_errno(in);
	bool hole_excluded = err == EAGAIN || covered(e);

	if (!FACT_KNOWN(f, max_map_count) || !e->map_count)
		return;
	if (e->map_count < f->max_map_count) {
		ret->kind = FINDING_RULED_OUT;
		finding_because(ret, "the process has %u mappings of %" PRIu64, e->map_count, f->max_map_count);
		return;
	}
	if (!madvise_failed(in, err))
		return;
	ret->detail = DETAIL_map_count_reached;
	finding_summary(ret, "the process has %u mappings, as many as vm.max_map_count allows; fork protection could not split one, and no registration reached the kernel",
			e->map_count);
	finding_evidence(ret, "%s(0x%" PRIx64 ", %" PRIu64 ", %s) = -%s", name_fn(id, WIRE_FN_MADVISE), (uint64_t)e->address,
			 (uint64_t)e->length, advice(e), name_errno(err));
	finding_evidence(ret, "mappings of the process: %u; vm.max_map_count: %" PRIu64, e->map_count, f->max_map_count);
	if (!hole_excluded)
		finding_missing(ret, "mappings of the range", "a hole in the range gives ENOMEM too, and it is not known that there is none");
	ret->kind = call_same_errno(in, ret) && hole_excluded ? FINDING_PROVEN : FINDING_LIKELY;
	finding_remedy(ret, "raise it: `sysctl -w vm.max_map_count=1048576`, and a file in /etc/sysctl.d to keep it");
	finding_remedy(ret, "or do without fork protection, if the program does not fork while it registers or the kernel copies pinned pages on fork (5.12 and newer; rdma-core 35 and newer asks it): unset RDMAV_FORK_SAFE and IBV_FORK_SAFE");
	finding_remedy(ret, "or register fewer and larger buffers: each buffer with protection of its own takes up to two mappings more");
}

/* A hugetlb mapping that the madvise would have to split at `address`; NULL = none. */
static const struct wire_vma *split_at(const struct wire_reg_end *e, uint64_t address)
{
	uint32_t i;

	for (i = 0; i < e->nvmas; i++) {
		const struct wire_vma *v = &e->vmas[i];
		uint64_t huge = v->block_shift < 64 ? 1ULL << v->block_shift : 0;

		if ((v->flags & VM_HUGETLB) && huge && v->start < address && address < v->end && address % huge)
			return v;
	}
	return NULL;
}

void cause_fork_hugepage_madvise_einval(const struct incident *in, const struct identity *id, struct finding *ret)
{
	const struct wire_reg_end *e = &in->end;
	const struct wire_vma *v;
	uint64_t end, at;

	if (!(e->have & WIRE_HAVE_VMAS) || !madvise_failed(in, EINVAL) ||
	    __builtin_add_overflow(e->address, e->length, &end) || __builtin_add_overflow(end, id->page_size - 1, &end))
		return;
	end &= ~((uint64_t)id->page_size - 1);
	/* Refused before any mapping is looked at. */
	if (e->address % id->page_size)
		return;
	v = split_at(e, e->address);
	at = v ? e->address : end;
	if (!v)
		v = split_at(e, end);
	if (!v) {
		if (!(e->have & WIRE_HAVE_VMAS_ALL))
			return;
		ret->kind = FINDING_RULED_OUT;
		finding_because(ret, "neither 0x%" PRIx64 " nor 0x%" PRIx64 " lies inside a huge page of a hugetlb mapping",
				(uint64_t)e->address, end);
		return;
	}
	ret->detail = DETAIL_huge_page_split;
	finding_summary(ret, "fork protection begins or ends at 0x%" PRIx64 ", inside a huge page of %" PRIu64 " bytes; no registration reached the kernel",
			at, (uint64_t)1 << v->block_shift);
	finding_evidence(ret, "%s(0x%" PRIx64 ", %" PRIu64 ", %s) = -EINVAL", name_fn(id, WIRE_FN_MADVISE), (uint64_t)e->address,
			 (uint64_t)e->length, advice(e));
	finding_evidence(ret, "hugetlb mapping 0x%" PRIx64 "-0x%" PRIx64 ", page size %" PRIu64 ": 0x%" PRIx64 " is no multiple of it, and the mapping cannot be split there",
			 (uint64_t)v->start, (uint64_t)v->end, (uint64_t)1 << v->block_shift, at);
	ret->kind = call_same_errno(in, ret) ? FINDING_PROVEN : FINDING_LIKELY;
	finding_remedy(ret, "set RDMAV_HUGEPAGES_SAFE=1: libibverbs then rounds the range to the mapping's page size");
	finding_remedy(ret, "or let buffers on huge pages begin and end at multiples of the huge page's size, or do without fork protection (unset RDMAV_FORK_SAFE and IBV_FORK_SAFE)");
}
