// SPDX-License-Identifier: BSD-2-Clause
/* GPU memory on its way to a network device: peer memory clients and dma-bufs of the NVIDIA driver. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "causes/gpu.h"
#include "causes/refusal.h"
#include "names.h"
#include "text.h"

#define ENOTSUPP 524	/* the kernel's own, include/linux/errno.h */
#define BAR1_RESERVE (36ULL << 20)	/* what the GPU driver keeps back for itself (CLI_THIRD_PARTY_P2P_BAR1_RESERVE) */

/* NV_STATUS (src/common/sdk/nvidia/inc/nvstatuscodes.h, 525 to 595) */
enum {
	NV_ERR_INSUFFICIENT_RESOURCES = 0x1a,
	NV_ERR_INVALID_ARGUMENT = 0x1f,
	NV_ERR_NO_MEMORY = 0x51,
	NV_ERR_NOT_SUPPORTED = 0x56,
	NV_ERR_OPERATING_SYSTEM = 0x59,
};

void cause_peermem_absent_or_mismatch(const struct incident *in, const struct identity *id, struct finding *ret);
/*
 * The step in which the driver was asked to map: nv_dma_buf_map where it was seen, dma_buf_map_attachment, or the attach, which
 * maps at once for some importers (up to 6.12), though its own ENOMEM may be want of memory. 0 = none of them failed so.
 */
static enum wire_fn failed_map(const struct incident *in, const struct identity *id)
{
	if (incident_errno(in, WIRE_FN_NV_DMABUF_MAP) == ENOMEM)
		return WIRE_FN_NV_DMABUF_MAP;
	if (incident_errno(in, WIRE_FN_DMABUF_MAP) == ENOMEM)
		return WIRE_FN_DMABUF_MAP;
	if (incident_errno(in, WIRE_FN_DMABUF_ATTACH) == ENOMEM && !id->fn_watched[WIRE_FN_NV_DMABUF_MAP])
		return WIRE_FN_DMABUF_ATTACH;
	return WIRE_FN_NONE;
}

void cause_gpu_bar1_exhausted(const struct incident *in, const struct identity *id, struct finding *ret);
void cause_gpu_not_gdr_capable(const struct incident *in, const struct identity *id, struct finding *ret);

/* The exporter of a dma-buf of GPU memory: "nvidia" up to 575, "nv_dmabuf" from 580 on. */
static bool nvidia_exports(const struct incident *in)
{
	const char *exporter = in->end.args.exporter;

	return in->end.have & WIRE_HAVE_DMABUF && (strcmp(exporter, "nv_dmabuf") == 0 || strcmp(exporter, "nvidia") == 0);
}

/* Another exporter, or another step that failed. False: neither is known. */
static bool not_this_step(const struct incident *in, const struct identity *id, enum wire_fn fn, struct finding *f)
{
	if (in->end.have & WIRE_HAVE_DMABUF && !nvidia_exports(in))
		finding_because(f, "the dma-buf's exporter is \"%s\", not the NVIDIA driver", in->end.args.exporter);
	else if (!incident_chain(in, fn) && id->fn_watched[fn])
		finding_because(f, "%s did not fail", name_fn(id, fn));
	else
		return false;
	f->kind = FINDING_RULED_OUT;
	return true;
}

void cause_peermem_absent_or_mismatch(const struct incident *in, const struct identity *id, struct finding *ret)
{
	const struct wire_vma *v = failing_vma(in, id);
	const struct facts *f = &in->facts;
	bool reserved = v && !(v->flags & (VM_READ | VM_WRITE | VM_EXEC)), device = v && v->what & WIRE_VMA_CHARDEV;
	char text[VMA_TEXT];

	if (FACT_KNOWN(f, libraries) && !strstr(f->libraries, "libcuda.so"))
		finding_because(ret, "0 of the process's libraries is libcuda: it has no GPU memory of CUDA");
	else if (in->end.peer.calls)
		finding_because(ret, "a peer memory client is there: it asked the NVIDIA driver for the pages %u times during the registration", in->end.peer.calls);
	else if (v && !reserved && !device)
		finding_because(ret, "0x%" PRIx64 ", where the pin failed, lies in memory of the host: %s", failing_address(in, id), vma_text(text, v));
	if (ret->because[0]) {
		ret->kind = FINDING_RULED_OUT;
		return;
	}
	if (!FACT_KNOWN(f, libraries) || !failing_pin(in, id, EFAULT) || (!v && !failing_hole(in, id)))
		return;
	ret->kind = FINDING_LIKELY;
	ret->detail = DETAIL_no_peer_client;
	finding_summary(ret, "0x%" PRIx64 " may be GPU memory that no peer memory client took: the address went to the ordinary pin", failing_address(in, id));
	tell_failing_pin(in, id, ret);
	finding_evidence(ret, "the process has libcuda loaded, and what the pin found there is %s", v ? vma_text(text, v) : "no mapping");
	if (FACT_KNOWN(f, nvidia_version) && f->nvidia_version[0])
		finding_evidence(ret, "NVIDIA driver %s", f->nvidia_version);
	tell_failed_export(in, ret);
	if (id->fn_watched[WIRE_FN_NV_P2P])
		finding_evidence(ret, "0 calls of %s during the registration: no peer memory client asked the driver whose memory it is", name_fn(id, WIRE_FN_NV_P2P));
	else
		finding_missing(ret, "question of a peer memory client", "%s is not hooked", name_fn(id, WIRE_FN_NV_P2P));
	finding_remedy(ret, "if lsmod shows no nvidia_peermem: modprobe nvidia-peermem; if that says \"Invalid argument\" or \"Unknown symbol\": build the driver against the RDMA stack that is installed");
	if (!id->fn_watched[WIRE_FN_NV_P2P])
		finding_remedy(ret, "if it is loaded: compare BAR1 in use with its size (nvidia-smi -q -d MEMORY): a full BAR1 makes it say \"not mine\" as well");
	finding_remedy(ret, "better, without it: register through a dma-buf (NCCL_DMABUF_ENABLE=1, UCX from 1.14 on), with the open GPU kernel modules");
}

/* Is there room for the range, with what the driver keeps back? False also when BAR1 was not read. */
static bool bar1_has_room(const struct incident *in)
{
	const struct facts *f = &in->facts;
	uint64_t need;

	return FACT_KNOWN(f, bar1_free_bytes) && FACT_KNOWN(f, bar1_total_bytes) && !__builtin_add_overflow(in->end.length, BAR1_RESERVE, &need) &&
	       f->bar1_free_bytes >= need;
}

void tell_bar1(const struct incident *in, struct finding *ret)
{
	const struct facts *f = &in->facts;
	char free_text[TEXT_BYTES_LEN], total[TEXT_BYTES_LEN], asked[TEXT_BYTES_LEN];

	if (FACT_KNOWN(f, bar1_free_bytes) && FACT_KNOWN(f, bar1_total_bytes))
		finding_evidence(ret, "BAR1, read after the failure: %s free of %s; %s were asked, and the driver keeps 36 MiB back", text_bytes(free_text, f->bar1_free_bytes),
				 text_bytes(total, f->bar1_total_bytes), text_bytes(asked, in->end.length));
	else
		finding_missing(ret, "BAR1", "its use was not read");
	finding_missing(ret, "reason of the GPU driver", "it is not told; the kernel log may have \"no space for BAR1 mappings\" or \"can't alloc VA space\"");
	finding_remedy(ret, "register less GPU memory at once, or release what is not used (a registration cache that is capped)");
	finding_remedy(ret, "if the GPU and the firmware allow it: enable resizable BAR / above-4G decoding, so that BAR1 covers all of its memory (nvidia-smi -q -d MEMORY)");
}

static const char *name_nv_status(uint32_t status)
{
	switch (status) {
	case NV_ERR_INSUFFICIENT_RESOURCES: return "NV_ERR_INSUFFICIENT_RESOURCES";
	case NV_ERR_INVALID_ARGUMENT: return "NV_ERR_INVALID_ARGUMENT";
	case NV_ERR_NO_MEMORY: return "NV_ERR_NO_MEMORY";
	case NV_ERR_NOT_SUPPORTED: return "NV_ERR_NOT_SUPPORTED";
	case NV_ERR_OPERATING_SYSTEM: return "NV_ERR_OPERATING_SYSTEM";
	default: return NULL;
	}
}

static const char *remedy_of_export(uint32_t status)
{
	switch (status) {
	case NV_ERR_NOT_SUPPORTED:
		return "for the export: it takes the open GPU kernel modules (CU_DEVICE_ATTRIBUTE_DMA_BUF_SUPPORTED tells whether it works), and gpuDirectRDMACapable set for memory of cuMemCreate()";
	case NV_ERR_INVALID_ARGUMENT:
		return "for the export: address and size must be multiples of the host's page size, and within one allocation (cuMemGetAddressRange)";
	case NV_ERR_NO_MEMORY:
	case NV_ERR_INSUFFICIENT_RESOURCES:
		return "for the export: the driver was short of memory or BAR1; export less at once, and close descriptors that are not used";
	default:
		return "for the export: look for NVRM lines in the kernel log";
	}
}

void tell_failed_export(const struct incident *in, struct finding *ret)
{
	const struct wire_export *x = &in->end.export;
	const char *name = name_nv_status(x->status);

	if (!(in->end.have & WIRE_HAVE_EXPORT))
		return;
	finding_evidence(ret, "%" PRIu64 " ms before, the NVIDIA driver exported no dma-buf to this process: nv_dma_buf_export = 0x%x%s%s, %u in a row",
			 (uint64_t)(in->end.hdr.time_ns - x->time_ns) / 1000000, x->status, name ? " " : "", name ? name : "", x->failed);
	finding_remedy(ret, "%s", remedy_of_export(x->status));
}

/* Of an address: the driver had no room for the pages a peer memory client asked for. */
static bool pages_without_room(const struct incident *in, const struct identity *id)
{
	struct finding gpu = { 0 };

	return incident_peer_errno(in) == ENOMEM && gpu_memory_rules_out(in, id, &gpu) && (incident_peer_failed(in) || failing_pin(in, id, EFAULT));
}

void cause_gpu_bar1_exhausted(const struct incident *in, const struct identity *id, struct finding *ret)
{
	const struct wire_reg_end *e = &in->end;
	const struct facts *f = &in->facts;
	bool known = FACT_KNOWN(f, bar1_free_bytes) && FACT_KNOWN(f, bar1_total_bytes), pages = pages_without_room(in, id);
	enum wire_fn fn = pages ? e->peer.fn : failed_map(in, id);
	char asked[TEXT_BYTES_LEN];

	if (!pages && (!fn || !nvidia_exports(in))) {
		not_this_step(in, id, WIRE_FN_DMABUF_MAP, ret);
		return;
	}
	/* More is free than it takes: pieces of it may be too small all the same, but nothing points there. */
	if (bar1_has_room(in))
		return;
	ret->kind = FINDING_LIKELY;
	ret->detail = known ? DETAIL_bar1_full : DETAIL_bar1_not_read;
	finding_summary(ret, "the NVIDIA driver could not map %s of GPU memory for the device; its BAR1 window may be full", text_bytes(asked, e->length));
	if (pages)
		finding_evidence(ret, "%s = -ENOMEM during the registration: what the driver gives for want of BAR1, and of memory of its own", name_fn(id, fn));
	else
		finding_evidence(ret, "%s = -ENOMEM for a dma-buf of exporter \"%s\": what the driver gives for every failure to map, mostly for want of BAR1",
				 name_fn(id, fn), e->args.exporter);
	tell_bar1(in, ret);
}

void cause_gpu_not_gdr_capable(const struct incident *in, const struct identity *id, struct finding *ret)
{
	int err = incident_errno(in, WIRE_FN_DMABUF_ATTACH);

	if (not_this_step(in, id, WIRE_FN_DMABUF_ATTACH, ret))
		return;
	if (!nvidia_exports(in) || (err != ENOTSUPP && err != EOPNOTSUPP))
		return;
	ret->kind = FINDING_LIKELY;
	ret->detail = DETAIL_peer_attach_refused;
	finding_summary(ret, "the NVIDIA driver does not let %s reach this GPU memory directly", in->end.device);
	finding_evidence(ret, "%s = -%d for a dma-buf of exporter \"%s\": the driver refuses a device that cannot do peer-to-peer, or cannot reach the GPU over PCI",
			 name_fn(id, WIRE_FN_DMABUF_ATTACH), err, in->end.args.exporter);
	finding_missing(ret, "reason of the GPU driver", "model of the GPU and PCI topology were not read");
	finding_remedy(ret, "if the GPU is a consumer model: GPUDirect RDMA is not offered there; stage the data in host memory (NCCL_NET_GDR_LEVEL=LOC)");
	finding_remedy(ret, "if the topology is the reason (nvidia-smi topo -m shows SYS): use the network device that is nearest to the GPU, and check ACS and the IOMMU");
}
