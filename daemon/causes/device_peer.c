// SPDX-License-Identifier: BSD-2-Clause
/* GPU memory registered by its address, whose pages NVIDIA's driver did not give to the peer memory client. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "causes/gpu.h"
#include "causes/refusal.h"
#include "names.h"
#include "text.h"

#define ENOTSUPP 524	/* the kernel's own, include/linux/errno.h */
#define GPU_PAGE 0x10000	/* kernel-open/nvidia/nv-p2p.c: what address and length must be multiples of */

void cause_gpu_pages_refused(const struct incident *in, const struct identity *id, struct finding *ret);

/* What the driver makes of the resource manager's status (nv-p2p.c, nvidia_p2p_map_status()); all else gives EIO. */
static const struct {
	int err;
	enum detail detail;
	const char *remedy;
} refusals[] = {
	{ EINVAL, DETAIL_peer_range_refused, "compare the range with what cuMemGetAddressRange() says of the pointer: it may run beyond its allocation, or the memory was freed by another thread" },
	{ ENOTSUPP, DETAIL_peer_not_supported, "check that the GPU offers GPUDirect RDMA (CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_SUPPORTED), and whether MIG, a virtual GPU or confidential computing is set up; a dma-buf may work where this does not" },
	{ EBUSY, DETAIL_peer_in_use, "end what else has the memory registered or mapped for devices, and try again" },
	{ ENODEV, DETAIL_peer_gpu_gone, "look whether nvidia-smi still lists the GPU, and for \"fallen off the bus\" (Xid 79) in the kernel log: it takes a reset or a reboot" },
	{ EIO, DETAIL_peer_driver_error, "look for Xid and NVRM lines in the kernel log: a GPU that was lost or is being reset gives this" },
};

static void tell_refusal(const struct incident *in, struct finding *ret)
{
	int err = incident_peer_errno(in);
	size_t i;

	if (err == ENOMEM) {
		ret->detail = DETAIL_peer_no_room;
		tell_bar1(in, ret);
		return;
	}
	for (i = 0; i < sizeof(refusals) / sizeof(refusals[0]); i++) {
		if (refusals[i].err != err)
			continue;
		ret->detail = refusals[i].detail;
		finding_remedy(ret, "%s", refusals[i].remedy);
	}
	finding_missing(ret, "reason of the GPU driver", "its status is not told, only this errno; the kernel log may have lines of NVRM");
}

static void tell_call(const struct incident *in, const struct identity *id, struct finding *ret)
{
	const struct wire_peer *p = &in->end.peer;

	finding_evidence(ret, "%s = -%s during the registration, called by %s", name_fn(id, p->fn), name_errno(-p->err), p->caller[0] ? p->caller : "a function that is not known");
	if (p->length)
		finding_evidence(ret, "it was asked for 0x%" PRIx64 "-0x%" PRIx64 "%s", (uint64_t)p->address, (uint64_t)(p->address + p->length),
				 (p->address | p->length) % GPU_PAGE ? ", which is not made of whole pages of 64 KiB" : "");
}

/* Was the driver asked for this address? Unknown counts as no. */
static bool asked_for(const struct incident *in, uint64_t address)
{
	const struct wire_peer *p = &in->end.peer;

	return p->length && address >= p->address && address - p->address < p->length;
}

/* The client had taken the memory, and the driver then refused it: the errno comes back as it is. */
static void refused_openly(const struct incident *in, const struct identity *id, struct finding *ret)
{
	int err = incident_peer_errno(in);

	finding_summary(ret, "the NVIDIA driver did not give the pages of GPU memory at 0x%" PRIx64 " to the peer memory client", (uint64_t)in->end.address);
	tell_call(in, id, ret);
	finding_evidence(ret, in->end.peer.answer == WIRE_PEER_MINE ? "the client had said that the memory is its own: no ordinary pin decided" :
			 "the caller is what a client takes memory by that it has called its own");
	ret->kind = in->end.result == -err ? FINDING_PROVEN : FINDING_LIKELY;
	if (ret->kind == FINDING_LIKELY)
		finding_evidence(ret, "not proven: the call ended with %s", name_errno((int)-in->end.result));
	tell_refusal(in, ret);
}

/* The steps of a refusal that came out as EFAULT; each that was not seen is missing. */
static enum finding_kind hidden_kind(const struct incident *in, const struct identity *id, struct finding *ret)
{
	const struct wire_peer *p = &in->end.peer;
	bool acquire = strncmp(p->caller, "nv_mem_acquire", strlen("nv_mem_acquire")) == 0, sure = true;

	if (p->answer == WIRE_PEER_NOT_MINE)
		finding_evidence(ret, "nvidia-peermem answered \"not mine\", as it does whenever the driver refuses");
	else
		finding_missing(ret, "answer of the peer memory client", "nv_mem_acquire is not hooked; whenever the driver refuses it says \"not mine\"");
	if (!failing_vma(in, id))
		finding_missing(ret, "mapping at the address", "none was found there, so that this may be an address of nothing");
	if (p->answer != WIRE_PEER_NOT_MINE || !acquire || !asked_for(in, failing_address(in, id)) || !failing_vma(in, id))
		sure = false;
	if (incident_peer_errno(in) != ENOMEM) {
		finding_evidence(ret, "not proven: the driver may give %s for an address that is not a GPU's as well", name_errno(incident_peer_errno(in)));
		sure = false;
	}
	if (in->end.result != -EFAULT)
		finding_evidence(ret, "not proven: the call ended with %s", name_errno((int)-in->end.result));
	return in->end.result == -EFAULT && sure ? FINDING_PROVEN : FINDING_LIKELY;
}

static void refused_and_hidden(const struct incident *in, const struct identity *id, struct finding *ret)
{
	const struct wire_vma *v = failing_vma(in, id);
	char text[VMA_TEXT];

	finding_summary(ret, "the NVIDIA driver refused the pages of GPU memory at 0x%" PRIx64 " (%s); nvidia-peermem hides that, and the ordinary pin gave EFAULT",
			failing_address(in, id), name_errno(incident_peer_errno(in)));
	tell_call(in, id, ret);
	ret->kind = hidden_kind(in, id, ret);
	tell_failing_pin(in, id, ret);
	if (v)
		finding_evidence(ret, "the mapping there, when the pin failed: %s", vma_text(text, v));
	tell_refusal(in, ret);
	tell_failed_export(in, ret);
	finding_remedy(ret, "better, without nvidia-peermem: register through a dma-buf (NCCL_DMABUF_ENABLE=1, UCX from 1.14 on), which does not hide the errno");
}

void cause_gpu_pages_refused(const struct incident *in, const struct identity *id, struct finding *ret)
{
	const struct wire_vma *v = failing_vma(in, id);
	int err = incident_peer_errno(in);
	char text[VMA_TEXT];

	if (incident_peer_failed(in)) {
		refused_openly(in, id, ret);
		return;
	}
	if (!err && id->fn_watched[WIRE_FN_NV_P2P])
		finding_because(ret, "%s refused nothing: it was called %u times during the registration", name_fn(id, WIRE_FN_NV_P2P), in->end.peer.calls);
	else if (err && v && host_memory(v))
		finding_because(ret, "0x%" PRIx64 ", where the pin failed, lies in memory of the host: %s", failing_address(in, id), vma_text(text, v));
	if (ret->because[0])
		ret->kind = FINDING_RULED_OUT;
	else if (err && err != EINVAL && failing_pin(in, id, EFAULT) && !in->end.killed && !in->end.oom_victim)
		refused_and_hidden(in, id, ret);
}
