// SPDX-License-Identifier: BSD-2-Clause
/* Limits other than memlock: cgroups, objects, entries. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "causes/call.h"
#include "names.h"
#include "text.h"

#define LIMIT_CAUSES(X) \
	X(rdma_cgroup_limit) X(mr_object_limit) X(max_mr_size_exceeded) X(mtt_pages_limit) \
	X(vfio_dma_entry_limit) X(gpu_pin_quota)
#define DECLARE(name) \
	void cause_##name(const struct incident *in, const struct identity *id, struct finding *ret);
LIMIT_CAUSES(DECLARE)

#define ACCESS_ON_DEMAND 0x40
#define VERBS (API(REG_MR) | API(REG_MR_IOCTL) | API(REG_DMABUF_MR) | API(DM_MR) | API(REREG_MR))

/* enum rdmacg_resource_type, include/linux/cgroup_rdma.h. */
enum { RDMACG_HCA_HANDLE, RDMACG_HCA_OBJECT };

static bool reached_in_facts(const struct facts *f)
{
	return FACT_KNOWN(f, rdmacg_path) && FACT_KNOWN(f, rdmacg_object_max) && FACT_KNOWN(f, rdmacg_object_current) &&
	       f->rdmacg_object_current >= f->rdmacg_object_max;
}

static void tell_cgroup(const struct incident *in, bool handle, struct finding *ret)
{
	const struct facts *f = &in->facts;

	/* The facts are about hca_object: they name no culprit for the other. */
	if (!handle && reached_in_facts(f)) {
		finding_evidence(ret, "%s has hca_object=%" PRIu64 " in rdma.max for %s and %" PRIu64 " in rdma.current",
				 f->rdmacg_path, f->rdmacg_object_max, in->end.device, f->rdmacg_object_current);
		finding_remedy(ret, "raise it: echo \"%s hca_object=max\" > rdma.max in /sys/fs/cgroup%s, or in the setting of what made that cgroup",
			       in->end.device, f->rdmacg_path);
	} else {
		finding_missing(ret, "cgroup_limits.rdma", "the ancestor that refused was not found at its limit afterwards (an object may have been released since)");
		finding_remedy(ret, "compare rdma.current with rdma.max in the process's cgroup and each ancestor below /sys/fs/cgroup, and raise the one that is reached");
	}
	finding_remedy(ret, "or release objects: all MRs, QPs, CQs and PDs of the cgroup's processes count; `rdma resource show` lists them by pid");
}

void cause_rdma_cgroup_limit(const struct incident *in, const struct identity *id, struct finding *ret)
{
	bool seen = incident_errno(in, WIRE_FN_RDMACG) == EAGAIN;
	bool handle = seen && in->end.cgroup_resource == RDMACG_HCA_HANDLE;
	const char *what = handle ? "hca_handle" : "hca_object";

	if (call_is_other(in, VERBS, "only RDMA objects are charged to the rdma cgroup", ret))
		return;
	if (!seen && id->fn_watched[WIRE_FN_RDMACG]) {
		ret->kind = FINDING_RULED_OUT;
		finding_because(ret, "%s did not fail: the charge to the rdma cgroup was accepted", name_fn(id, WIRE_FN_RDMACG));
		return;
	}
	if (!seen && !reached_in_facts(&in->facts))
		return;
	ret->detail = handle ? DETAIL_cgroup_hca_handles : DETAIL_cgroup_hca_objects;
	finding_summary(ret, "the limit on %s of a cgroup above the process is reached for %s", what, in->end.device);
	if (seen)
		finding_evidence(ret, "%s = -EAGAIN for %s, which it gives only when a limit is reached; the driver was not called",
				 name_fn(id, WIRE_FN_RDMACG), what);
	else
		finding_missing(ret, "chain", "%s is not hooked: that the charge failed was not seen", name_fn(id, WIRE_FN_RDMACG));
	ret->kind = call_same_errno(in, ret) && seen ? FINDING_PROVEN : FINDING_LIKELY;
	tell_cgroup(in, handle, ret);
}

#define NEW_REGION (API(REG_MR) | API(REG_MR_IOCTL) | API(REG_DMABUF_MR))

static bool count_known(const struct incident *in)
{
	return (in->end.have & WIRE_HAVE_CAPS) && in->end.caps.max_mr && FACT_KNOWN(&in->facts, mr_device_count);
}

static bool device_full(const struct incident *in)
{
	return count_known(in) && in->facts.mr_device_count >= in->end.caps.max_mr;
}

/* On demand the whole address space may be asked for; such a length is no length. */
static bool length_known(const struct incident *in)
{
	const struct wire_reg_end *e = &in->end;

	return (e->have & WIRE_HAVE_CAPS) && e->caps.max_mr_size && incident_has_range(in) && !(e->access & ACCESS_ON_DEMAND);
}

static bool over_device_length(const struct incident *in)
{
	return length_known(in) && in->end.length > in->end.caps.max_mr_size;
}

/* The number or the function that excludes a full device. False: it is not excluded. */
static bool not_full(const struct incident *in, const struct identity *id, struct finding *ret)
{
	const struct wire_reg_end *e = &in->end;
	int err = incident_decisive_errno(in);

	if (call_is_other(in, NEW_REGION, "it makes no new memory region", ret))
		return true;
	if (e->nchain && !name_fn_is_driver(e->chain[0].fn) && e->chain[0].fn != name_api_entry(e->api))
		finding_because(ret, "%s failed first (%s %d), not the driver by itself", name_fn(id, e->chain[0].fn),
				name_errno(err), err);
	else if (count_known(in) && !device_full(in))
		finding_because(ret, "%s holds %" PRIu64 " memory regions of %" PRIu64, e->device,
				in->facts.mr_device_count, (uint64_t)e->caps.max_mr);
	else
		return false;
	ret->kind = FINDING_RULED_OUT;
	return true;
}

void cause_mr_object_limit(const struct incident *in, const struct identity *id, struct finding *ret)
{
	const struct wire_reg_end *e = &in->end;
	uint64_t count = in->facts.mr_device_count;
	bool only_reason = strcmp(e->driver, "rdma_rxe") == 0;

	if (not_full(in, id, ret) || !device_full(in) || !call_driver_first(in))
		return;
	ret->detail = DETAIL_device_mr_count;
	finding_summary(ret, "%s holds %" PRIu64 " memory regions and can hold %" PRIu64, e->device, count,
			(uint64_t)e->caps.max_mr);
	finding_evidence(ret, "%s = -%s, before it came to the memory", name_fn(id, e->chain[0].fn),
			 name_errno(incident_decisive_errno(in)));
	finding_evidence(ret, "%s: max_mr %" PRIu64 ", memory regions listed over RDMA netlink after the failure: %" PRIu64,
			 e->device, (uint64_t)e->caps.max_mr, count);
	if (FACT_KNOWN(&in->facts, mr_process_count))
		finding_evidence(ret, "%" PRIu64 " of them are this process's", in->facts.mr_process_count);
	if (over_device_length(in))
		finding_evidence(ret, "not proven: the length is more than the device takes as well");
	/* Other drivers give the same errnos for other reasons before they come to the memory. */
	if (!only_reason)
		finding_missing(ret, "the driver's own reason", "%s may refuse a registration for more than this before it comes to the memory",
				e->driver[0] ? e->driver : "the driver");
	ret->kind = call_same_errno(in, ret) && call_umem_watched(id, ret) && !over_device_length(in) && only_reason ?
		FINDING_PROVEN : FINDING_LIKELY;
	finding_remedy(ret, "find who holds them: `rdma resource show mr dev %s` lists a pid per memory region; one that only grows leaks", e->device);
	finding_remedy(ret, "register fewer and larger regions, or bound the registration cache of the communication library (UCX_RCACHE_MAX_REGIONS with UCX)");
}

void cause_max_mr_size_exceeded(const struct incident *in, const struct identity *id, struct finding *ret)
{
	char length[TEXT_BYTES_LEN], most[TEXT_BYTES_LEN];
	const struct wire_reg_end *e = &in->end;
	bool before = call_driver_first(in);

	if (call_is_other(in, NEW_REGION, "it makes no new memory region", ret) || !length_known(in))
		return;
	text_bytes(length, e->length);
	text_bytes(most, e->caps.max_mr_size);
	if (!over_device_length(in)) {
		ret->kind = FINDING_RULED_OUT;
		finding_because(ret, "%" PRIu64 " bytes are within max_mr_size of %s, %" PRIu64 " bytes", (uint64_t)e->length,
				e->device, (uint64_t)e->caps.max_mr_size);
		return;
	}
	if (!incident_entered_driver(in))
		return;
	ret->detail = DETAIL_length_over_device_limit;
	finding_summary(ret, "the range of %s is longer than a memory region of %s may be, %s", length, e->device, most);
	finding_evidence(ret, "length %" PRIu64 " bytes, max_mr_size %" PRIu64 " bytes", (uint64_t)e->length,
			 (uint64_t)e->caps.max_mr_size);
	finding_evidence(ret, "%s = -%s, %s", name_fn(id, e->chain[0].fn), name_errno(incident_decisive_errno(in)),
			 before ? "before it came to the memory" : "not before it came to the memory");
	if (!before)
		finding_evidence(ret, "not proven: the driver took the length first and failed later");
	if (device_full(in))
		finding_evidence(ret, "not proven: the device is out of memory regions as well");
	finding_missing(ret, "the driver's own reason", "what a driver refuses by itself has several reasons with one errno");
	call_same_errno(in, ret);
	call_umem_watched(id, ret);
	ret->kind = FINDING_LIKELY;
	finding_remedy(ret, "split the registration into regions of at most %s each", most);
}

void cause_mtt_pages_limit(const struct incident *in, const struct identity *id, struct finding *ret)
{
	static const char *const tables[] = { "mlx4_ib", "ib_mthca" };
	const struct wire_reg_end *e = &in->end;
	uint64_t pages = incident_pages(in, id);
	bool keeps = false;
	size_t i;

	for (i = 0; i < sizeof(tables) / sizeof(tables[0]); i++)
		keeps |= strcmp(e->driver, tables[i]) == 0;
	if (!keeps || call_driver_first(in)) {
		ret->kind = FINDING_RULED_OUT;
		finding_because(ret, keeps ? "%s failed before %" PRIu64 " pages came to its tables" :
				"%s keeps no tables of a fixed size for all pages (%" PRIu64 " asked)",
				e->driver[0] ? e->driver : "the call's device", pages);
		return;
	}
	if (e->stage != WIRE_STAGE_PINNED || incident_chain(in, WIRE_FN_FW_COMMAND) || incident_chain(in, WIRE_FN_MKEY) ||
	    !incident_entered_driver(in))
		return;
	ret->kind = FINDING_LIKELY;
	ret->detail = DETAIL_translation_table_pages;
	finding_summary(ret, "%s failed with ENOMEM after %" PRIu64 " pages were pinned; its translation tables may be full",
			e->driver, pages);
	finding_evidence(ret, "%s = -ENOMEM after the pin, and no firmware command was seen failing", name_fn(id, e->chain[0].fn));
	finding_missing(ret, "provider.tables", "how much of the device's translation tables is free is known to its driver only");
	finding_remedy(ret, "raise log_num_mtt of mlx4_core (options mlx4_core log_num_mtt=24 in /etc/modprobe.d, then reboot), to cover twice the node's memory");
	finding_remedy(ret, "or use huge pages for the buffers, or split the registration");
}

void cause_vfio_dma_entry_limit(const struct incident *in, const struct identity *id, struct finding *ret)
{
	const struct facts *f = &in->facts;

	if (incident_errno(in, WIRE_FN_VFIO_MAP) != ENOSPC || in->end.chain[0].fn != WIRE_FN_VFIO_MAP)
		return;
	ret->detail = DETAIL_vfio_entries;
	finding_summary(ret, "the VFIO container has no DMA mapping left");
	finding_evidence(ret, "%s = -ENOSPC, which type 1 gives when no entry is available, and nothing below it failed",
			 name_fn(id, WIRE_FN_VFIO_MAP));
	if (FACT_KNOWN(f, vfio_entry_limit))
		finding_evidence(ret, "dma_entry_limit of vfio_iommu_type1 is %" PRIu64, f->vfio_entry_limit);
	else
		finding_missing(ret, "vfio.entry_limit", "%s", name_errno_words(-f->err[FACT_vfio_entry_limit]));
	ret->kind = call_same_errno(in, ret) ? FINDING_PROVEN : FINDING_LIKELY;
	finding_remedy(ret, "map fewer and larger ranges: neighbouring ones in one call, memory backed by huge pages");
	finding_remedy(ret, "or raise the limit before the container is opened: options vfio_iommu_type1 dma_entry_limit=N in /etc/modprobe.d");
}

void cause_gpu_pin_quota(const struct incident *in, const struct identity *id, struct finding *ret)
{
	if (in->end.api == WIRE_API_VFIO_MAP || incident_chain(in, WIRE_FN_VFIO_MAP)) {
		ret->kind = FINDING_RULED_OUT;
		finding_because(ret, "%s gave the ENOSPC (%d): no GPU driver is called there", name_fn(id, WIRE_FN_VFIO_MAP), ENOSPC);
		return;
	}
	if (call_is_other(in, VERBS | API(UMEM) | API(DEVX_UMEM), "no GPU driver is called there", ret) || in->end.nchain == 0)
		return;
	ret->kind = FINDING_LIKELY;
	ret->detail = DETAIL_gpu_pin_quota;
	finding_summary(ret, "ENOSPC on %s: the GPU driver's quota of memory pinned for RDMA may be used up", in->end.device);
	finding_evidence(ret, "%s = -ENOSPC; none of the kernel's own limits on a registration gives that", name_fn(id, in->end.chain[0].fn));
	finding_missing(ret, "gpu.quota", "quota and use are known to the GPU driver only");
	finding_remedy(ret, "release GPU memory registered by other processes, or raise the quota in the GPU driver's settings");
}
