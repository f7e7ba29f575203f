// SPDX-License-Identifier: BSD-2-Clause
/* Arguments of the verbs commands, and what device and driver offer for them. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "causes/call.h"
#include "names.h"

#define ARGUMENT_CAUSES(X) \
	X(iova_offset_mismatch) X(access_flags_invalid) X(length_invalid) X(odp_unsupported) \
	X(provider_access_unsupported) X(coco_dma_bounce_unsupported) X(rereg_unsupported)
#define DECLARE(name) \
	void cause_##name(const struct incident *in, const struct identity *id, struct finding *ret);
ARGUMENT_CAUSES(DECLARE)

/* enum ib_uverbs_access_flags of the kernel's user API. */
enum {
	LOCAL_WRITE = 0x1, REMOTE_WRITE = 0x2, REMOTE_ATOMIC = 0x8, ZERO_BASED = 0x20, ON_DEMAND = 0x40,
	HUGETLB = 0x80, FLUSH = 0x300, OPTIONAL = 0x3ff00000,
	USUAL = 0x1f,		/* read, write, atomic, window binding: every driver takes them */
	KNOWN_EVERYWHERE = 0xff | OPTIONAL,	/* 5.10 and newer */
};
/* include/rdma/ib_verbs.h: enum ib_kernel_cap_flags, enum ib_odp_general_cap_bits. */
#define IBK_ON_DEMAND_PAGING (1 << 2)
#define ODP_SUPPORT 0x1
#define ODP_IMPLICIT 0x2
/* enum ib_uverbs_rereg_mr_flags */
enum { REREG_TRANS = 1, REREG_PD = 2, REREG_ACCESS = 4, REREG_ALL = 7 };

#define REG (API(REG_MR) | API(REG_MR_IOCTL))

static void rule_out(struct finding *ret)
{
	ret->kind = FINDING_RULED_OUT;
}

static void prove(const struct incident *in, struct finding *ret)
{
	ret->kind = call_same_errno(in, ret) ? FINDING_PROVEN : FINDING_LIKELY;
}

/* What must lie at one offset with the iova: the address, or the offset into the dma-buf. */
static bool offsets(const struct incident *in, uint64_t *ret_start)
{
	const struct wire_reg_end *e = &in->end;
	bool dmabuf = e->api == WIRE_API_REG_DMABUF_MR;

	*ret_start = dmabuf ? e->args.offset : e->address;
	return (e->have & WIRE_HAVE_COMMAND) && (!dmabuf || (e->have & (WIRE_HAVE_ARGS | WIRE_HAVE_DMABUF)));
}

static bool offsets_differ(const struct incident *in, const struct identity *id)
{
	uint64_t start;

	return offsets(in, &start) && ((start ^ in->end.iova) & (id->page_size - 1));
}

/* The entry function checks its arguments before it calls: what it calls was seen, so they passed. */
static bool passed_checks(const struct incident *in, const struct identity *id, const char *check, struct finding *ret)
{
	if (in->end.nchain == 0 || call_entry_first(in))
		return false;
	rule_out(ret);
	finding_because(ret, "%s failed (%s): %s come before it is called", name_fn(id, in->end.chain[0].fn),
			name_errno(incident_decisive_errno(in)), check);
	return true;
}

void cause_iova_offset_mismatch(const struct incident *in, const struct identity *id, struct finding *ret)
{
	uint64_t start, mask = id->page_size - 1;
	bool dmabuf = in->end.api == WIRE_API_REG_DMABUF_MR;
	const char *what = dmabuf ? "offset" : "address";

	if (call_is_other(in, REG | API(REG_DMABUF_MR), "its addresses are checked in another way", ret) ||
	    passed_checks(in, id, "the page offsets", ret) || !offsets(in, &start))
		return;
	if (!offsets_differ(in, id)) {
		rule_out(ret);
		finding_because(ret, "%s and iova have the same page offset, 0x%" PRIx64, what, start & mask);
		return;
	}
	if (!call_entry_first(in))
		return;
	ret->detail = dmabuf ? DETAIL_offset_and_iova : DETAIL_address_and_iova;
	finding_summary(ret, "%s and iova lie at different offsets in their pages: 0x%" PRIx64 " and 0x%" PRIx64, what,
			start & mask, (uint64_t)in->end.iova & mask);
	finding_evidence(ret, "%s 0x%" PRIx64 ", iova 0x%" PRIx64 ", pages of %u bytes", what, start, (uint64_t)in->end.iova,
			 id->page_size);
	finding_evidence(ret, "%s = -EINVAL, and nothing that it calls failed: this is its first check",
			 name_fn(id, in->end.chain[0].fn));
	prove(in, ret);
	finding_remedy(ret, "choose an iova with the same offset in its page as the %s, or register from the page's start", what);
}

/* Flags that break the command's rules: 0 = none that can be told. */
static uint32_t contradiction(uint32_t access)
{
	return access & LOCAL_WRITE ? 0 : access & (REMOTE_WRITE | REMOTE_ATOMIC);
}

static uint32_t unknown_flags(const struct incident *in, const struct identity *id)
{
	return id->access_known ? in->end.access & ~id->access_known : 0;
}

static bool access_invalid(const struct incident *in, const struct identity *id)
{
	return contradiction(in->end.access) || unknown_flags(in, id);
}

/* Does this command look at the access flags? A re-registration says in its own flags what it changes. */
static bool takes_access(const struct wire_reg_end *e)
{
	return e->api != WIRE_API_REREG_MR || (e->args.flags & REREG_ACCESS);
}

static bool has_what(const struct wire_reg_end *e)
{
	return e->api != WIRE_API_REREG_MR || (e->have & WIRE_HAVE_ARGS);
}

/*
 * What a re-registration is refused for before its access flags are looked at: unknown flags or none, a
 * new range with differing page offsets (older kernels also refuse one without address, iova or length).
 */
static enum detail rereg_fault(const struct incident *in, const struct identity *id)
{
	const struct wire_reg_end *e = &in->end;

	if (e->api != WIRE_API_REREG_MR || !has_what(e))
		return DETAIL_none;
	if ((e->args.flags & ~(uint32_t)REREG_ALL) || !e->args.flags)
		return DETAIL_rereg_flags;
	if ((e->args.flags & REREG_TRANS) && (e->have & WIRE_HAVE_COMMAND) &&
	    ((e->address ^ e->iova) & (id->page_size - 1)))
		return DETAIL_rereg_translation;
	return DETAIL_none;
}

/* Something that the command checks before the access flags is wrong. */
static bool refused_before_access(const struct incident *in, const struct identity *id)
{
	if (in->end.api == WIRE_API_REREG_MR)
		return rereg_fault(in, id) != DETAIL_none;
	return offsets_differ(in, id);
}

void cause_access_flags_invalid(const struct incident *in, const struct identity *id, struct finding *ret)
{
	const struct wire_reg_end *e = &in->end;
	uint32_t against = contradiction(e->access), unknown = unknown_flags(in, id);
	char flags[CALL_ACCESS_LEN], bad[CALL_ACCESS_LEN];

	if (call_is_other(in, REG | API(REREG_MR) | API(REG_DMABUF_MR) | API(DM_MR), "it has no access flags", ret) ||
	    passed_checks(in, id, "the access flags", ret) || !(e->have & WIRE_HAVE_COMMAND) || !has_what(e))
		return;
	if (!access_invalid(in, id) || !takes_access(e)) {
		/* Flags of newer kernels may or may not be known; dma-bufs and device memory take fewer. */
		if ((!id->access_known && (e->access & ~(uint32_t)KNOWN_EVERYWHERE)) ||
		    !(1u << e->api & (REG | API(REREG_MR))))
			return;
		rule_out(ret);
		finding_because(ret, "the access flags are known and fit each other: %s", call_access(flags, e->access));
		return;
	}
	if (refused_before_access(in, id)) {
		rule_out(ret);
		finding_because(ret, "what is checked first is wrong already: address 0x%" PRIx64 ", iova 0x%" PRIx64
				", length %" PRIu64 ", changes 0x%x", (uint64_t)e->address, (uint64_t)e->iova,
				(uint64_t)e->length, e->args.flags);
		return;
	}
	if (!call_entry_first(in))
		return;
	ret->detail = against ? DETAIL_remote_without_local_write : DETAIL_unknown_access_flags;
	call_access(flags, e->access);
	call_access(bad, against ? against : unknown);
	finding_summary(ret, against ? "%s needs LOCAL_WRITE, which is not among the access flags" :
			"this kernel does not know the access flags %s", bad);
	finding_evidence(ret, "access flags: %s", flags);
	finding_evidence(ret, "%s = -EINVAL, and nothing that it calls failed", name_fn(id, e->chain[0].fn));
	prove(in, ret);
	if (against)
		finding_remedy(ret, "add IBV_ACCESS_LOCAL_WRITE, or drop remote write and atomic access");
	else
		finding_remedy(ret, "drop %s, or use a kernel that knows it; only flags in the optional range may be unknown", bad);
}

static enum detail length_fault(const struct incident *in, const struct identity *id)
{
	const struct wire_reg_end *e = &in->end;
	uint64_t end;

	if (__builtin_add_overflow(e->address, e->length, &end) || __builtin_add_overflow(end, id->page_size - 1, &end))
		return DETAIL_range_wraps;
	if (incident_pages(in, id) == 0)
		return DETAIL_length_zero;
	return incident_pages(in, id) > UINT32_MAX ? DETAIL_too_many_pages : DETAIL_none;
}

void cause_length_invalid(const struct incident *in, const struct identity *id, struct finding *ret)
{
	const struct wire_reg_end *e = &in->end;
	enum detail fault = length_fault(in, id);

	if (incident_errno(in, WIRE_FN_UMEM) != EINVAL || e->chain[0].fn != WIRE_FN_UMEM) {
		/* Its own EINVAL would be the first of the chain. */
		if (e->nchain && id->fn_watched[WIRE_FN_UMEM]) {
			rule_out(ret);
			finding_because(ret, "%s failed first (%s), not %s", name_fn(id, e->chain[0].fn),
					name_errno(incident_decisive_errno(in)), name_fn(id, WIRE_FN_UMEM));
		}
		return;
	}
	if (!(e->have & WIRE_HAVE_UMEM))
		return;
	if (fault == DETAIL_none) {
		rule_out(ret);
		finding_because(ret, "the range has %" PRIu64 " pages and does not wrap", incident_pages(in, id));
		return;
	}
	ret->detail = fault;
	finding_summary(ret, "a length of %" PRIu64 " at 0x%" PRIx64 " is no range: %s", (uint64_t)e->length,
			(uint64_t)e->address, detail_words[fault].meaning);
	finding_evidence(ret, "address 0x%" PRIx64 ", length %" PRIu64 " bytes (0x%" PRIx64 ")", (uint64_t)e->address,
			 (uint64_t)e->length, (uint64_t)e->length);
	finding_evidence(ret, "%s = -EINVAL, which it gives for such arguments before it looks at the memory",
			 name_fn(id, WIRE_FN_UMEM));
	prove(in, ret);
	finding_remedy(ret, "look where the program takes the length from: an empty message, a failed size query (-1), or an overflow");
}

/* The command itself refused, which checks access flags before it calls the driver. */
static bool command_refused(const struct incident *in)
{
	return (1u << in->end.api & (REG | API(REREG_MR))) && call_entry_first(in);
}

/* What the device says of on-demand paging: 1 offers it, 0 does not, -1 not known. */
static int odp_offered(const struct wire_reg_end *e)
{
	if (!(e->have & WIRE_HAVE_CAPS))
		return -1;
	return (e->caps.odp_caps & ODP_SUPPORT) || (e->caps.kernel_caps & IBK_ON_DEMAND_PAGING);
}

/* Why on-demand paging is not the reason although it was asked for. */
static bool odp_excluded(const struct incident *in, const struct identity *id, struct finding *ret)
{
	const struct wire_reg_end *e = &in->end;
	char flags[CALL_ACCESS_LEN];

	if (!(e->access & ON_DEMAND) || !takes_access(e))
		finding_because(ret, "on-demand paging was not asked for: access flags %s", call_access(flags, e->access));
	else if (incident_decisive_errno(in) == EINVAL && command_refused(in) &&
		 (access_invalid(in, id) || refused_before_access(in, id)))
		finding_because(ret, "access flags %s or page offsets (0x%" PRIx64 ", 0x%" PRIx64
				") are refused before it", call_access(flags, e->access), (uint64_t)e->address, (uint64_t)e->iova);
	else if (command_refused(in) && odp_offered(e) == 1)
		finding_because(ret, "the device offers on-demand paging: general capabilities 0x%" PRIx64, (uint64_t)e->caps.odp_caps);
	else
		return false;
	rule_out(ret);
	return true;
}

/* Refused below the command, where a driver may have other reasons too: likely at most. */
static bool odp_refused_below(const struct incident *in, struct finding *ret)
{
	const struct wire_reg_end *e = &in->end;
	bool implicit = e->address == 0 && e->length == UINT64_MAX;
	bool unusual = e->access & (ZERO_BASED | HUGETLB | FLUSH);
	int err = incident_decisive_errno(in);

	if (e->nchain == 0 || command_refused(in))
		return false;
	ret->detail = implicit && (e->have & WIRE_HAVE_CAPS) && !(e->caps.odp_caps & ODP_IMPLICIT) ?
		DETAIL_odp_implicit_not_offered : DETAIL_odp_refused_by_driver;
	if (call_driver_first(in))
		return (err == EOPNOTSUPP && !unusual) || ret->detail == DETAIL_odp_implicit_not_offered;
	return err == EOPNOTSUPP && (e->chain[0].fn == WIRE_FN_UMEM_ODP ||
				     (e->chain[0].fn == WIRE_FN_UMEM && !e->caps.cc_dma_bounce));
}

/*
 * rxe gives EOPNOTSUPP before it comes to the memory for two reasons: flags that it does not take, and
 * on-demand paging that it has not.
 */
static bool odp_refused_by_rxe(const struct incident *in, const struct identity *id)
{
	const struct wire_reg_end *e = &in->end;

	return call_driver_first(in) && e->chain[0].fn == WIRE_FN_DRIVER_RXE && incident_decisive_errno(in) == EOPNOTSUPP &&
	       !(e->access & (ZERO_BASED | HUGETLB | FLUSH)) && id->fn_watched[WIRE_FN_UMEM] &&
	       id->fn_watched[WIRE_FN_UMEM_ODP] && (e->have & WIRE_HAVE_CAPS) &&
	       !(e->caps.odp_caps & (e->address == 0 && e->length == UINT64_MAX ? ODP_IMPLICIT : ODP_SUPPORT));
}

void cause_odp_unsupported(const struct incident *in, const struct identity *id, struct finding *ret)
{
	const struct wire_reg_end *e = &in->end;
	bool lacks = odp_offered(e) == 0 && command_refused(in);
	bool unseen = odp_offered(e) < 0 && command_refused(in) && incident_decisive_errno(in) == EOPNOTSUPP &&
		      !(e->access & FLUSH);

	if (call_is_other(in, REG | API(REREG_MR) | API(UMEM) | API(DEVX_UMEM), "it knows no on-demand paging", ret) ||
	    !call_has_access(in) || !has_what(e) || odp_excluded(in, id, ret))
		return;
	if (lacks || unseen)
		ret->detail = DETAIL_odp_not_offered;
	else if (!odp_refused_below(in, ret))
		return;
	finding_summary(ret, "on-demand paging was asked for on %s: %s", e->device, detail_words[ret->detail].meaning);
	finding_evidence(ret, "access flags 0x%x have ON_DEMAND", e->access);
	if (e->have & WIRE_HAVE_CAPS)
		finding_evidence(ret, "capabilities of the device: on-demand paging 0x%" PRIx64 " (0x1 supported, 0x2 implicit)",
				 (uint64_t)e->caps.odp_caps);
	else
		finding_missing(ret, "device.capabilities", "the device's attributes were not read");
	finding_evidence(ret, "%s = -%s was the first to fail", name_fn(id, e->chain[0].fn), name_errno(incident_decisive_errno(in)));
	ret->kind = FINDING_LIKELY;
	if (lacks || odp_refused_by_rxe(in, id))
		prove(in, ret);
	finding_remedy(ret, "register without IBV_ACCESS_ON_DEMAND: the memory is pinned then, and counts against the memlock limit");
	finding_remedy(ret, "or use a device with on-demand paging (mlx5 from ConnectX-4 on; `ibv_devinfo -v`, odp_caps)");
}

static enum detail unusual_detail(uint32_t unusual)
{
	if (unusual == ZERO_BASED)
		return DETAIL_zero_based;
	if (unusual == HUGETLB)
		return DETAIL_hugetlb_flag;
	return unusual & ~(uint32_t)FLUSH ? DETAIL_several_flags : DETAIL_flush_flags;
}

void cause_provider_access_unsupported(const struct incident *in, const struct identity *id, struct finding *ret)
{
	const struct wire_reg_end *e = &in->end;
	uint32_t unusual = e->access & ~(uint32_t)(USUAL | ON_DEMAND | OPTIONAL);
	/* The command itself refuses flush alone; on-demand paging, which it checks before, must be out. */
	bool flush = call_entry_first(in) && (e->access & FLUSH) && (!(e->access & ON_DEMAND) || odp_offered(e) == 1);
	char flags[CALL_ACCESS_LEN];

	if (call_is_other(in, REG, "it passes no such flags to the driver", ret) || !call_has_access(in))
		return;
	if (!unusual) {
		rule_out(ret);
		finding_because(ret, "no unusual access flag: %s", call_access(flags, e->access));
		return;
	}
	if (flush)
		unusual &= FLUSH;
	else if (!call_driver_first(in))
		return;
	ret->detail = unusual_detail(unusual);
	call_access(flags, unusual);
	finding_summary(ret, "%s does not support the access flags %s", flush ? e->device : e->driver, flags);
	finding_evidence(ret, "%s = -EOPNOTSUPP, before it came to the memory", name_fn(id, e->chain[0].fn));
	finding_evidence(ret, "access flags 0x%x, of which not every driver takes %s", e->access, flags);
	ret->kind = FINDING_LIKELY;
	if (flush ? incident_stage_of(in, id) == STAGE_uverbs :
		    e->chain[0].fn == WIRE_FN_DRIVER_RXE && call_umem_watched(id, ret))
		prove(in, ret);
	else
		finding_missing(ret, "provider.reason", "%s may give EOPNOTSUPP for something else as well",
				e->driver[0] ? e->driver : "the driver");
	finding_remedy(ret, "register without %s%s", flags, unusual & HUGETLB ? "; huge pages are used by themselves" : "");
}

void cause_coco_dma_bounce_unsupported(const struct incident *in, const struct identity *id, struct finding *ret)
{
	const struct wire_reg_end *e = &in->end;
	bool marked = (e->have & WIRE_HAVE_CAPS) && e->caps.cc_dma_bounce;

	if (incident_errno(in, WIRE_FN_UMEM) != EOPNOTSUPP || e->chain[0].fn != WIRE_FN_UMEM) {
		if (e->nchain && id->fn_watched[WIRE_FN_UMEM]) {
			rule_out(ret);
			finding_because(ret, "%s failed first (%s), not %s", name_fn(id, e->chain[0].fn),
					name_errno(incident_decisive_errno(in)), name_fn(id, WIRE_FN_UMEM));
		}
		return;
	}
	if (!marked && (!call_has_access(in) || (e->access & ON_DEMAND) || !id->fn_watched[WIRE_FN_GUP_LONGTERM] ||
			incident_pin_unseen(in)))
		return;
	ret->detail = DETAIL_dma_bounced;
	finding_summary(ret, "DMA of %s goes through bounce buffers in this confidential guest, so user memory cannot be registered for it", e->device);
	finding_evidence(ret, "%s = -EOPNOTSUPP, and no pin failed", name_fn(id, WIRE_FN_UMEM));
	if (marked) {
		finding_evidence(ret, "the device is marked cc_dma_bounce: this is the function's first check");
		prove(in, ret);
	} else {
		finding_evidence(ret, "on-demand paging, its other reason for this errno, was not asked for: access 0x%x", e->access);
		finding_missing(ret, "device.cc_dma_bounce", "the mark of the device could not be read");
		ret->kind = FINDING_LIKELY;
	}
	finding_remedy(ret, "attach the device as a trusted one (TDISP, TEE-IO) where host and device can, or run the job in a guest that is not confidential");
}

void cause_rereg_unsupported(const struct incident *in, const struct identity *id, struct finding *ret)
{
	const struct wire_reg_end *e = &in->end;
	uint32_t what = e->args.flags;
	int err = incident_decisive_errno(in);
	bool needs_ability = (what & REREG_ACCESS) && (!(e->have & WIRE_HAVE_COMMAND) || (e->access & (ON_DEMAND | FLUSH)));

	if (call_is_other(in, API(REREG_MR), "it changes no memory region", ret) || !(e->have & WIRE_HAVE_ARGS) ||
	    !call_entry_first(in))
		return;
	if (err == EINVAL)
		ret->detail = rereg_fault(in, id);
	else if (!needs_ability)
		ret->detail = DETAIL_rereg_refused_by_driver;
	if (ret->detail == DETAIL_none)
		return;
	finding_summary(ret, "the memory region cannot be changed like this: %s", detail_words[ret->detail].meaning);
	finding_evidence(ret, "to change: 0x%x (0x1 translation, 0x2 protection domain, 0x4 access)", what);
	if (ret->detail == DETAIL_rereg_translation)
		finding_evidence(ret, "new range: address 0x%" PRIx64 ", iova 0x%" PRIx64 ", length %" PRIu64,
				 (uint64_t)e->address, (uint64_t)e->iova, (uint64_t)e->length);
	finding_evidence(ret, "%s = -%s, and nothing below it was seen failing", name_fn(id, e->chain[0].fn), name_errno(err));
	prove(in, ret);
	if (ret->detail == DETAIL_rereg_refused_by_driver && !call_umem_watched(id, ret))
		ret->kind = FINDING_LIKELY;
	finding_remedy(ret, "deregister the region and register it anew; the remote side needs the new key then");
}
