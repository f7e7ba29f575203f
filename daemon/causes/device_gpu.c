// SPDX-License-Identifier: BSD-2-Clause
/* GPU memory on its way to a network device: peer memory clients and dma-bufs of the NVIDIA driver. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "causes/refusal.h"
#include "names.h"
#include "text.h"

#define ENOTSUPP 524	/* the kernel's own, include/linux/errno.h */
#define BAR1_RESERVE (36ULL << 20)	/* what the GPU driver keeps back for itself (CLI_THIRD_PARTY_P2P_BAR1_RESERVE) */

void cause_peermem_absent_or_mismatch(const struct incident *in, const struct identity *id, struct finding *ret);
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
	finding_missing(ret, "answer of the peer memory client", "it is asked inside the vendor's RDMA stack, which is not hooked");
	finding_remedy(ret, "if lsmod shows no nvidia_peermem: modprobe nvidia-peermem; if that says \"Invalid argument\" or \"Unknown symbol\": build the driver against the RDMA stack that is installed");
	finding_remedy(ret, "if it is loaded: compare BAR1 in use with its size (nvidia-smi -q -d MEMORY): a full BAR1 makes it say \"not mine\" as well");
	finding_remedy(ret, "better, without it: register through a dma-buf (NCCL_DMABUF_ENABLE=1, UCX from 1.14 on), with the open GPU kernel modules");
}

void cause_gpu_bar1_exhausted(const struct incident *in, const struct identity *id, struct finding *ret)
{
	const struct wire_reg_end *e = &in->end;
	const struct facts *f = &in->facts;
	bool known = FACT_KNOWN(f, bar1_free_bytes) && FACT_KNOWN(f, bar1_total_bytes);
	char free_text[TEXT_BYTES_LEN], total[TEXT_BYTES_LEN], asked[TEXT_BYTES_LEN];
	uint64_t need;

	if (not_this_step(in, id, WIRE_FN_DMABUF_MAP, ret))
		return;
	if (!nvidia_exports(in) || incident_errno(in, WIRE_FN_DMABUF_MAP) != ENOMEM)
		return;
	/* More is free than it takes: pieces of it may be too small all the same, but nothing points there. */
	if (known && !__builtin_add_overflow(e->length, BAR1_RESERVE, &need) && f->bar1_free_bytes >= need)
		return;
	ret->kind = FINDING_LIKELY;
	ret->detail = known ? DETAIL_bar1_full : DETAIL_bar1_not_read;
	finding_summary(ret, "the NVIDIA driver could not map %s of GPU memory for the device; its BAR1 window may be full", text_bytes(asked, e->length));
	finding_evidence(ret, "%s = -ENOMEM for a dma-buf of exporter \"%s\": what the driver gives for every failure to map, mostly for want of BAR1",
			 name_fn(id, WIRE_FN_DMABUF_MAP), e->args.exporter);
	if (known)
		finding_evidence(ret, "BAR1, read after the failure: %s free of %s; %s were asked, and the driver keeps 36 MiB back", text_bytes(free_text, f->bar1_free_bytes),
				 text_bytes(total, f->bar1_total_bytes), asked);
	else
		finding_missing(ret, "BAR1", "its use was not read");
	finding_missing(ret, "reason of the GPU driver", "it is not told; the kernel log may have \"no space for BAR1 mappings\" or \"can't alloc VA space\"");
	finding_remedy(ret, "register less GPU memory at once, or release what is not used (a registration cache that is capped)");
	finding_remedy(ret, "if the GPU and the firmware allow it: enable resizable BAR / above-4G decoding, so that BAR1 covers all of its memory (nvidia-smi -q -d MEMORY)");
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
