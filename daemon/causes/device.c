// SPDX-License-Identifier: BSD-2-Clause
/* The device's firmware, and kernel memory and DMA mappings that a registration needs after its pin. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "diagnose.h"
#include "names.h"
#include "text.h"

void cause_mkey_exhausted_fw(const struct incident *in, const struct identity *id, struct finding *ret);
void cause_fw_command_rejected(const struct incident *in, const struct identity *id, struct finding *ret);
void cause_fw_command_timeout(const struct incident *in, const struct identity *id, struct finding *ret);
void cause_dma_map_failed_iommu(const struct incident *in, const struct identity *id, struct finding *ret);
void cause_swiotlb_full(const struct incident *in, const struct identity *id, struct finding *ret);
void cause_kernel_metadata_alloc_failed(const struct incident *in, const struct identity *id, struct finding *ret);

/* --- firmware of mlx5 ---------------------------------------------------------------- */

#define OP_CREATE_MKEY 0x200
#define STATUS_LIMIT 0x8
#define STATUS_NO_RESOURCES 0xf

/* include/linux/mlx5/device.h, enum mlx5_cmd_status_*: MLX5_CMD_STAT_*. */
static const struct {
	uint32_t status;
	enum detail detail;
	const char *name, *remedy;
} statuses[] = {
	{ 0x1, DETAIL_fw_internal, "INT_ERR", "the firmware failed inside: look at its health (dmesg, `mlxfwreset`, devlink health), and update it (mstflint, fwupd)" },
	{ 0x2, DETAIL_fw_not_offered, "BAD_OP_ERR", "this firmware does not know the command: update it to the version that goes with the driver (ethtool -i, mstflint -d DEV q)" },
	{ 0x3, DETAIL_fw_bad_parameter, "BAD_PARAM_ERR", "a parameter is refused: compare length, page size, access flags and relaxed ordering with what the device supports (ibv_devinfo -v); look the syndrome up with the vendor" },
	{ 0x4, DETAIL_fw_state, "BAD_SYS_STATE_ERR", "the device is in a state that allows no commands (reset, recovery, teardown): look at dmesg and devlink health, and retry after it" },
	{ 0x5, DETAIL_fw_bad_resource, "BAD_RES_ERR", "an object it refers to is gone or not this user's: the protection domain may have been destroyed meanwhile" },
	{ 0x6, DETAIL_fw_busy, "RES_BUSY", "an object is in use: retry; if it lasts, end what still uses the memory key" },
	{ STATUS_LIMIT, DETAIL_fw_limit, "LIM_ERR", "a limit of the device is reached: count its objects with `rdma resource` and reduce them" },
	{ 0x9, DETAIL_fw_state, "BAD_RES_STATE_ERR", "an object is in a state that does not allow this: look for errors of the queue or key before" },
	{ 0xa, DETAIL_fw_bad_resource, "IX_ERR", "an index is out of range: look the syndrome up with the vendor" },
	{ STATUS_NO_RESOURCES, DETAIL_fw_limit, "NO_RES_ERR", "the device has no resources left: count its objects with `rdma resource` and reduce them" },
	{ 0x10, DETAIL_fw_state, "BAD_QP_STATE_ERR", "the queue pair is in the wrong state: look for errors before" },
	{ 0x30, DETAIL_fw_bad_parameter, "BAD_PKT_ERR", "the firmware refuses a packet it was given: look the syndrome up with the vendor" },
	{ 0x40, DETAIL_fw_bad_parameter, "BAD_SIZE_OUTS_CQES_ERR", "completions are outstanding: look the syndrome up with the vendor" },
	{ 0x50, DETAIL_fw_internal, "BAD_INP_LEN_ERR", "driver and firmware do not agree on the command: update both to versions that go together" },
	{ 0x51, DETAIL_fw_internal, "BAD_OUTP_LEN_ERR", "driver and firmware do not agree on the command: update both to versions that go together" },
};
#define STATUSES (sizeof(statuses) / sizeof(statuses[0]))

static size_t status_row(uint32_t status)
{
	size_t i = 0;

	while (i < STATUSES && statuses[i].status != status)
		i++;
	return i;
}

static bool mkey_limit(const struct wire_fw *fw)
{
	return fw->opcode == OP_CREATE_MKEY && (fw->status == STATUS_LIMIT || fw->status == STATUS_NO_RESOURCES);
}

/* No command failed, or none can have: it is another vendor's device. False: neither is known. */
static bool no_command(const struct incident *in, const struct identity *id, struct finding *f)
{
	const struct wire_reg_end *e = &in->end;

	if (e->have & WIRE_HAVE_FW)
		return false;
	if (e->driver[0] && strcmp(e->driver, "mlx5_ib") != 0)
		finding_because(f, "the device's driver is %s: only commands of mlx5's firmware are seen", e->driver);
	else if (id->fn_watched[WIRE_FN_FW_COMMAND])
		finding_because(f, "0 firmware commands failed during the call");
	else
		return false;
	f->kind = FINDING_RULED_OUT;
	return true;
}

/* "EINVAL" of -22. */
static const char *command_errno(const struct wire_fw *fw)
{
	return name_errno(fw->err > -4096 && fw->err < 0 ? -fw->err : 0);
}

/* Did this command's failure end the call? What keeps that from being sure becomes a line. */
static bool command_decided(const struct incident *in, struct finding *ret)
{
	const struct wire_reg_end *e = &in->end;
	uint32_t before = ret->nevidence;

	if (e->fw.commands != 1)
		finding_evidence(ret, "not proven: %u commands failed during the call; this is the first", e->fw.commands);
	if (e->fw.err != e->result)
		finding_evidence(ret, "not proven: the call ended with %s, the driver made %s of the command", name_errno((int)-e->result),
				 command_errno(&e->fw));
	return ret->nevidence == before;
}

static void tell_command(const struct incident *in, struct finding *ret)
{
	const struct wire_fw *fw = &in->end.fw;
	size_t row = status_row(fw->status);

	finding_evidence(ret, "firmware command 0x%x%s (op_mod 0x%x) failed: status 0x%x %s, syndrome 0x%x, which the driver makes %s of", fw->opcode,
			 fw->opcode == OP_CREATE_MKEY ? " CREATE_MKEY" : "", fw->op_mod, fw->status,
			 row < STATUSES ? statuses[row].name : "(unknown)", fw->syndrome, command_errno(fw));
	if (in->end.have & WIRE_HAVE_CAPS && in->end.caps.fw_ver)
		finding_evidence(ret, "firmware version %u.%u.%04u", (uint32_t)(in->end.caps.fw_ver >> 32),
				 (uint32_t)(in->end.caps.fw_ver >> 16 & 0xffff), (uint32_t)(in->end.caps.fw_ver & 0xffff));
}

void cause_mkey_exhausted_fw(const struct incident *in, const struct identity *id, struct finding *ret)
{
	const struct wire_fw *fw = &in->end.fw;
	const struct facts *f = &in->facts;

	if (no_command(in, id, ret) || !(in->end.have & WIRE_HAVE_FW))
		return;
	if (!mkey_limit(fw)) {
		finding_because(ret, "the command that failed is 0x%x with status 0x%x, not CREATE_MKEY (0x200) with 0x8 or 0xf", fw->opcode, fw->status);
		ret->kind = FINDING_RULED_OUT;
		return;
	}
	ret->detail = fw->status == STATUS_LIMIT ? DETAIL_mkey_limit : DETAIL_mkey_resources;
	finding_summary(ret, "%s has no memory key left to give: its firmware refused CREATE_MKEY with status 0x%x", in->end.device, fw->status);
	tell_command(in, ret);
	if (FACT_KNOWN(f, mr_device_count) && FACT_KNOWN(f, mr_process_count))
		finding_evidence(ret, "memory regions now: %" PRIu64 " of the device, %" PRIu64 " of them this process's%s", f->mr_device_count, f->mr_process_count,
				 in->end.have & WIRE_HAVE_CAPS ? "" : "; its limit was not read");
	if (in->end.have & WIRE_HAVE_CAPS)
		finding_evidence(ret, "the device says it has %" PRIu64 " memory regions at most", (uint64_t)in->end.caps.max_mr);
	ret->kind = command_decided(in, ret) ? FINDING_PROVEN : FINDING_LIKELY;
	finding_remedy(ret, "find who holds them: `rdma resource show mr dev %s` by pid; a process whose count only grows leaks registrations", in->end.device);
	finding_remedy(ret, "if a registration cache holds them: cap it (UCX_RCACHE_MAX_REGIONS, libfabric FI_MR_CACHE_MAX_COUNT), or register fewer, larger ranges");
	finding_remedy(ret, "if a virtual function is used: its share of keys is smaller than the physical function's; give it more or use fewer");
}

void cause_fw_command_rejected(const struct incident *in, const struct identity *id, struct finding *ret)
{
	const struct wire_fw *fw = &in->end.fw;
	size_t row = status_row(fw->status);

	if (no_command(in, id, ret) || !(in->end.have & WIRE_HAVE_FW))
		return;
	if (mkey_limit(fw) || !fw->status) {
		finding_because(ret, fw->status ? "the command that failed, 0x%x with status 0x%x, is one for want of memory keys" :
						  "the command 0x%x failed without an answer of the firmware (status 0x%x)", fw->opcode, fw->status);
		ret->kind = FINDING_RULED_OUT;
		return;
	}
	ret->detail = row < STATUSES ? statuses[row].detail : DETAIL_fw_internal;
	finding_summary(ret, "the firmware of %s refused command 0x%x with status 0x%x (%s), syndrome 0x%x", in->end.device, fw->opcode, fw->status,
			row < STATUSES ? statuses[row].name : "unknown", fw->syndrome);
	tell_command(in, ret);
	ret->kind = command_decided(in, ret) ? FINDING_PROVEN : FINDING_LIKELY;
	if (row < STATUSES)
		finding_remedy(ret, "%s", statuses[row].remedy);
	finding_remedy(ret, "look the syndrome 0x%x up in the vendor's release notes for this firmware, or give it to their support with the firmware's version", fw->syndrome);
}

void cause_fw_command_timeout(const struct incident *in, const struct identity *id, struct finding *ret)
{
	const struct wire_reg_end *e = &in->end;
	bool seen = incident_errno(in, WIRE_FN_MKEY) == ETIMEDOUT || incident_errno(in, WIRE_FN_FW_COMMAND) == ETIMEDOUT ||
		    (e->have & WIRE_HAVE_FW && e->fw.err == -ETIMEDOUT);

	if (!seen && e->driver[0] && strcmp(e->driver, "mlx5_ib") != 0) {
		finding_because(ret, "the device's driver is %s: only commands of mlx5's firmware are seen", e->driver);
		ret->kind = FINDING_RULED_OUT;
		return;
	}
	if (!seen && incident_errno(in, WIRE_FN_DRIVER_MLX5) != ETIMEDOUT)
		return;
	ret->detail = DETAIL_fw_no_answer;
	finding_summary(ret, "the firmware of %s did not answer a command in time", e->device);
	ret->kind = seen && e->result == -ETIMEDOUT ? FINDING_PROVEN : FINDING_LIKELY;
	if (seen)
		finding_evidence(ret, "%s = -ETIMEDOUT, %" PRIu64 " s after the call began", name_fn(id, incident_errno(in, WIRE_FN_MKEY) == ETIMEDOUT ? WIRE_FN_MKEY : WIRE_FN_FW_COMMAND),
				 incident_lasted_ns(in) / 1000000000);
	else
		finding_evidence(ret, "%s = -ETIMEDOUT, after the pin", name_fn(id, WIRE_FN_DRIVER_MLX5));
	if (!seen)
		finding_missing(ret, "firmware command", "none was seen timing out; the driver has other waits");
	finding_remedy(ret, "look at the device's health: dmesg for \"wait_func\" and \"health\" lines of mlx5_core, devlink health show; reset it if it is ill (devlink dev reload)");
	finding_remedy(ret, "if many processes register at once: spread them out; one command queue serves them all");
}

/* --- DMA mapping ----------------------------------------------------------------------- */

/* What dma_map_sgtable() makes of the failure (kernel/dma/mapping.c). */
static const struct {
	int err;
	enum detail detail;
	bool sure;	/* nothing but this gives that errno there */
	const char *why;
} dma_errors[] = {
	{ ENOMEM, DETAIL_iova_exhausted, true, "the IOMMU had no address range, or no memory for its tables, left for it" },
	{ EINVAL, DETAIL_iommu_refused, true, "the IOMMU refused the mapping" },
	{ EREMOTEIO, DETAIL_peer_unreachable, true, "the pages lie on another PCI device that this one cannot reach" },
	{ EIO, DETAIL_dma_refused, false, "the pages lie out of the device's reach, or bounce buffers (swiotlb) ran out" },
};
#define DMA_ERRORS (sizeof(dma_errors) / sizeof(dma_errors[0]))

static size_t dma_row(int err)
{
	size_t i = 0;

	while (i < DMA_ERRORS && dma_errors[i].err != err)
		i++;
	return i;
}

/* The umem function failed by itself, after a pin that was watched and did not fail. */
static bool umem_failed_after_pin(const struct incident *in, const struct identity *id, int err)
{
	return in->end.nchain && in->end.chain[0].fn == WIRE_FN_UMEM && incident_errno(in, WIRE_FN_UMEM) == err &&
	       id->fn_watched[WIRE_FN_GUP_LONGTERM] && !incident_pin_unseen(in);
}

/* The mapping was watched and did not fail. False: it did, or is not known. */
static bool dma_mapped(const struct incident *in, const struct identity *id, struct finding *f)
{
	if (incident_chain(in, WIRE_FN_DMA_MAP) || !id->fn_watched[WIRE_FN_DMA_MAP] || in->end.nchain == WIRE_CHAIN_MAX)
		return false;
	finding_because(f, "%s did not fail", name_fn(id, WIRE_FN_DMA_MAP));
	f->kind = FINDING_RULED_OUT;
	return true;
}

/* The umem function ended with the errno of the last mapping, with nothing in between. */
static bool umem_failed_next(const struct incident *in, int err)
{
	const struct wire_chain *map = incident_chain(in, WIRE_FN_DMA_MAP);

	return map && map + 1 < in->end.chain + in->end.nchain && map[1].fn == WIRE_FN_UMEM && map[1].result == -err;
}

static void tell_dma_remedies(int err, struct finding *ret)
{
	if (err == EREMOTEIO)
		finding_remedy(ret, "put both devices below one PCI switch, or allow peer-to-peer in the host bridge (kernel log: \"cannot be used for peer-to-peer DMA\")");
	else
		finding_remedy(ret, "if the IOMMU translates for this device (/sys/class/infiniband/DEVICE/device/iommu_group/type is DMA or DMA-FQ): boot with iommu=pt, if nothing on the node needs its isolation");
	finding_remedy(ret, "register smaller ranges, or fewer: each takes one piece of the device's DMA address space");
	finding_remedy(ret, "look for messages of the IOMMU (DMAR, AMD-Vi, arm-smmu) and of swiotlb in the kernel log");
}

void cause_dma_map_failed_iommu(const struct incident *in, const struct identity *id, struct finding *ret)
{
	int err = incident_errno(in, WIRE_FN_DMA_MAP);
	size_t row = dma_row(err ? err : EIO);
	bool decided = err && umem_failed_next(in, err);
	bool eliminated = !err && !id->fn_watched[WIRE_FN_DMA_MAP] && umem_failed_after_pin(in, id, EIO);

	if (dma_mapped(in, id, ret) || (!err && !eliminated) || row == DMA_ERRORS)
		return;
	ret->detail = dma_errors[row].detail;
	finding_summary(ret, "the pinned pages could not be mapped for DMA: %s", dma_errors[row].why);
	if (err)
		finding_evidence(ret, "%s = -%s, after %" PRIu64 " pages were pinned", name_fn(id, WIRE_FN_DMA_MAP), name_errno(err), incident_pages(in, id));
	else
		finding_missing(ret, "the DMA mapping", "%s is not hooked; nothing else that the umem function calls gives EIO", name_fn(id, WIRE_FN_DMA_MAP));
	if (incident_errno(in, WIRE_FN_UMEM))
		finding_evidence(ret, "%s = -%s", name_fn(id, WIRE_FN_UMEM), name_errno(incident_errno(in, WIRE_FN_UMEM)));
	if (err && !dma_errors[row].sure)
		finding_missing(ret, "state of the bounce buffers", "a full swiotlb gives the same errno");
	if (err && !decided)
		finding_missing(ret, "the end of the umem function", "%s was not seen to end with this errno right after", name_fn(id, WIRE_FN_UMEM));
	ret->kind = decided && dma_errors[row].sure && in->end.result == -err ? FINDING_PROVEN : FINDING_LIKELY;
	tell_dma_remedies(err, ret);
}

void cause_swiotlb_full(const struct incident *in, const struct identity *id, struct finding *ret)
{
	const struct wire_reg_end *e = &in->end;
	bool bounces = e->have & WIRE_HAVE_CAPS && e->caps.cc_dma_bounce;

	if (dma_mapped(in, id, ret) || incident_errno(in, WIRE_FN_DMA_MAP) != EIO || !bounces)
		return;
	ret->kind = FINDING_LIKELY;
	ret->detail = DETAIL_bounce_buffers;
	finding_summary(ret, "the pages could not be mapped for DMA, and this guest bounces DMA of the device: its bounce buffers may be full");
	finding_evidence(ret, "%s = -EIO, and the device bounces DMA (confidential guest)", name_fn(id, WIRE_FN_DMA_MAP));
	finding_missing(ret, "state of the bounce buffers", "used and total slots were not read (/sys/kernel/debug/swiotlb)");
	finding_remedy(ret, "make the pool larger than what is registered at once: swiotlb=SLABS on the command line (a slab is 2 KiB); io_tlb_used and io_tlb_nslabs in /sys/kernel/debug/swiotlb tell");
	finding_remedy(ret, "register less at once: a registration holds its bounce buffers as long as it lives, and data is copied only at its ends");
}

/* --- kernel memory ----------------------------------------------------------------------- */

/* The umem function's own ENOMEM, within the limit and with neither a pin nor a DMA mapping failing. */
static bool umem_ran_short(const struct incident *in, const struct identity *id, const struct memlock_sum *s)
{
	return umem_failed_after_pin(in, id, ENOMEM) && id->fn_watched[WIRE_FN_DMA_MAP] && s->known && !s->over_before && !s->over_after;
}

void cause_kernel_metadata_alloc_failed(const struct incident *in, const struct identity *id, struct finding *ret)
{
	struct memlock_sum s = incident_memlock(in, id);
	char bytes[TEXT_BYTES_LEN];

	if (!umem_ran_short(in, id, &s))
		return;
	ret->detail = DETAIL_page_table_of_umem;
	finding_summary(ret, "the kernel had no memory for the list of the %" PRIu64 " pages of this registration", incident_pages(in, id));
	finding_evidence(ret, "%s = -ENOMEM, no pin failed, and %" PRIu64 " + %" PRIu64 " pages are within the memlock limit", name_fn(id, WIRE_FN_UMEM),
			 s.asked_pages, s.before_pages);
	finding_missing(ret, "allocation that failed", "what the umem function could not get was not seen");
	if (FACT_KNOWN(&in->facts, mem_available_bytes))
		finding_evidence(ret, "MemAvailable, read after the failure: %s", text_bytes(bytes, in->facts.mem_available_bytes));
	ret->kind = FINDING_LIKELY;
	finding_remedy(ret, "if the node is short of memory: free some, or raise vm.min_free_kbytes; kernel memory is not taken from CMA or ZONE_MOVABLE");
	finding_remedy(ret, "if the cgroup is at its limit: raise memory.max; kernel memory of the registration counts there");
	finding_remedy(ret, "use huge pages for large ranges: a list of fewer, longer pieces");
}
