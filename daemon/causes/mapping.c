// SPDX-License-Identifier: BSD-2-Clause
/* What the mapping behind the address is and allows, or that there is none. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "causes/refusal.h"
#include "diagnose.h"
#include "names.h"
#include "text.h"

void cause_address_not_mapped(const struct incident *in, const struct identity *id, struct finding *ret);
void cause_vma_permission_mismatch(const struct incident *in, const struct identity *id, struct finding *ret);
void cause_vma_pfnmap_io(const struct incident *in, const struct identity *id, struct finding *ret);
void cause_secretmem(const struct incident *in, const struct identity *id, struct finding *ret);
void cause_cuda_vmm_or_gpu_memory_by_va(const struct incident *in, const struct identity *id, struct finding *ret);

static void tell_neighbours(const struct incident *in, uint64_t address, struct finding *f)
{
	const struct wire_reg_end *e = &in->end;
	const struct wire_vma *below = NULL, *above = NULL;
	char text[VMA_TEXT];
	uint32_t i;

	if (!(e->have & WIRE_HAVE_VMAS))
		return;
	for (i = 0; i < e->nvmas; i++) {
		const struct wire_vma *v = &e->vmas[i];

		if (v->end <= address && (!below || v->end > below->end))
			below = v;
		if (v->start > address && (!above || v->start < above->start))
			above = v;
	}
	if (below)
		finding_evidence(f, "nearest mapping of the range below: %s", vma_text(text, below));
	if (above)
		finding_evidence(f, "nearest mapping of the range above: %s", vma_text(text, above));
}

/* A pin that stopped early at an address that no mapping seen at the end of the call covers; nothing was looked up there. */
static bool stopped_at_hole(const struct incident *in, const struct identity *id)
{
	const struct wire_reg_end *e = &in->end;
	uint64_t address;
	uint32_t i;

	/* vmas[] goes up to the first hole, if there was room for all before it. */
	if (!(e->have & WIRE_HAVE_VMAS) || e->have & WIRE_HAVE_VMAS_CUT || e->nvmas == WIRE_VMAS_MAX || e->fault_vma_state != WIRE_FAULT_VMA_UNKNOWN ||
	    !incident_pin_short(in, id, &address))
		return false;
	for (i = 0; i < e->nvmas; i++)
		if (e->vmas[i].start <= address && address < e->vmas[i].end)
			return false;
	return true;
}

static void tell_unmapped_remedies(struct finding *ret)
{
	finding_remedy(ret, "look for who unmapped or never mapped the address: compare it with /proc/PID/maps and with the buffer the program meant");
	finding_remedy(ret, "if it is a GPU address: register it through dma-buf, or load the peer memory module that matches the GPU driver");
}

void cause_address_not_mapped(const struct incident *in, const struct identity *id, struct finding *ret)
{
	const struct wire_reg_end *e = &in->end;
	bool later = e->fault_vma_state == WIRE_FAULT_VMA_HOLE_LATER || stopped_at_hole(in, id);
	const struct wire_vma *v = failing_vma(in, id);
	char text[VMA_TEXT];
	int64_t index;

	if (gpu_memory_rules_out(in, id, ret))
		return;
	if (v) {
		finding_because(ret, "0x%" PRIx64 ", where the pin failed, lies in a mapping: %s", failing_address(in, id), vma_text(text, v));
		ret->kind = FINDING_RULED_OUT;
		return;
	}
	if (!failing_pin(in, id, EFAULT) || failing_fault(in) || (!later && !failing_hole(in, id)))
		return;
	index = incident_index(in, id, failing_address(in, id));
	ret->detail = index == 0 ? DETAIL_hole_at_start : DETAIL_hole_inside;
	finding_summary(ret, "0x%" PRIx64 ", page %" PRId64 " of %" PRIu64 " of the range, is not mapped in the process",
			failing_address(in, id), index, incident_pages(in, id));
	tell_failing_pin(in, id, ret);
	finding_evidence(ret, "no mapping covered 0x%" PRIx64 " %s (looked up in the kernel)", failing_address(in, id),
			 later ? "at the end of the call" : "when the pin failed");
	if (later)
		finding_missing(ret, "the mapping at the moment of the failure", "it was not looked up then, or the map was locked by another thread; a hole found later may have come in between");
	tell_neighbours(in, failing_address(in, id), ret);
	ret->kind = failing_kind(in, id, EFAULT, ret);
	if (later)
		ret->kind = FINDING_LIKELY;
	tell_unmapped_remedies(ret);
}

/* --- permissions ---------------------------------------------------------------- */

static void tell_permission(const struct incident *in, const struct identity *id, enum refusal is, struct finding *ret)
{
	const struct wire_vma *v = failing_vma(in, id);
	bool forced = in->end.gup_flags & id->foll_force;
	char text[VMA_TEXT];

	ret->detail = !(v->flags & (VM_READ | VM_WRITE)) ? DETAIL_no_access :
		      forced ? DETAIL_shared_readonly : DETAIL_write_to_readonly;
	finding_summary(ret, "0x%" PRIx64 " was to be pinned for %s, and its mapping does not allow that: %s",
			failing_address(in, id), is == REFUSAL_WRITE ? "writing" : "reading", vma_text(text, v));
	tell_failing_pin(in, id, ret);
	finding_evidence(ret, "the mapping there, when the pin failed: %s", text);
	if (is == REFUSAL_WRITE && forced)
		finding_evidence(ret, "the pin was forced (FOLL_FORCE), which only gives a private, ordinary mapping a copy to write to; this one is %s",
				 v->flags & VM_HUGETLB ? "of huge pages" : "shared, or of a file opened for reading only");
	if (!(v->flags & (VM_READ | VM_WRITE)))
		finding_remedy(ret, "give the range access with mprotect(PROT_READ|PROT_WRITE) before it is registered: it is a reservation (PROT_NONE) or guard pages");
	else if (forced)
		finding_remedy(ret, "if the device only reads: this kernel pins read-only registrations for writing as well; map the file MAP_PRIVATE, or copy the data into anonymous memory, or use a kernel from 6.2 on");
	else
		finding_remedy(ret, "if the device only reads the buffer: register it without LOCAL_WRITE, REMOTE_WRITE, REMOTE_ATOMIC and MW_BIND");
	if (is == REFUSAL_WRITE)
		finding_remedy(ret, "if the device is to write: map it with PROT_WRITE (of a file opened O_RDWR), or mprotect() it");
}

/* Huge pages were refused by the check only from some point of each stable series on. */
static bool sure_of_permission(const struct incident *in, const struct identity *id, struct finding *ret)
{
	const struct wire_vma *v = failing_vma(in, id);

	if (!(v->flags & VM_HUGETLB) || !(in->end.gup_flags & id->foll_force) ||
	    (v->flags & (VM_SHARED | VM_MAYWRITE)) != VM_MAYWRITE)
		return true;
	finding_missing(ret, "the kernel's check", "whether this kernel refuses a forced write to private huge pages was not established");
	return false;
}

static void tell_key(const struct incident *in, const struct identity *id, uint32_t key, struct finding *ret)
{
	char text[VMA_TEXT];

	ret->kind = FINDING_LIKELY;
	ret->detail = DETAIL_protection_key;
	finding_summary(ret, "0x%" PRIx64 " is guarded by protection key %u, which may deny the access", failing_address(in, id), key);
	finding_evidence(ret, "the mapping there, when the pin failed: %s, protection key %u", vma_text(text, failing_vma(in, id)), key);
	finding_missing(ret, "rights of the protection key", "the thread's PKRU register was not read");
	finding_remedy(ret, "if the thread gave up the key with pkey_set(): take it back while it registers, or register from a thread that has it");
}

void cause_vma_permission_mismatch(const struct incident *in, const struct identity *id, struct finding *ret)
{
	enum refusal is = refusal_of(in, id);
	uint32_t key = failing_key(in, id);

	if (gpu_memory_rules_out(in, id, ret))
		return;
	if (is == REFUSAL_NONE && key && failing_pin(in, id, EFAULT)) {
		tell_key(in, id, key, ret);
		return;
	}
	if (is != REFUSAL_WRITE && refusal_rules_out(in, id, REFUSAL_READ, ret))
		return;
	if ((is != REFUSAL_WRITE && is != REFUSAL_READ) || !failing_pin(in, id, EFAULT))
		return;
	tell_permission(in, id, is, ret);
	ret->kind = failing_kind(in, id, EFAULT, ret);
	if (!sure_of_permission(in, id, ret))
		ret->kind = FINDING_LIKELY;
}

/* --- memory that cannot be pinned whatever is asked ------------------------------- */

/* Character devices by major number (Documentation/admin-guide/devices.txt). */
#define MAJOR_NVIDIA 195
static const struct {
	uint32_t major;
	const char *what;
} majors[] = {
	{ 1, "/dev/mem and its kin" },
	{ 10, "a misc device" },
	{ 29, "a frame buffer" },
	{ MAJOR_NVIDIA, "an NVIDIA GPU" },
	{ 226, "a DRM device (GPU)" },
	{ 231, "InfiniBand verbs: a device's doorbell or queue pages" },
};

static uint32_t chardev_major(const struct wire_vma *v)
{
	return v->what & WIRE_VMA_CHARDEV ? v->dev >> 20 : 0;
}

static void add_device(struct text *t, const struct wire_vma *v)
{
	uint32_t major = chardev_major(v);
	size_t i;

	if (!(v->what & WIRE_VMA_CHARDEV)) {
		text_add(t, v->fs[0] ? "a file of %s" : "no character device", v->fs);
		return;
	}
	text_add(t, "character device %u:%u", major, v->dev & 0xfffff);
	for (i = 0; i < sizeof(majors) / sizeof(majors[0]); i++)
		if (majors[i].major == major)
			text_add(t, ", %s", majors[i].what);
}

void cause_vma_pfnmap_io(const struct incident *in, const struct identity *id, struct finding *ret)
{
	const struct wire_vma *v = failing_vma(in, id);
	char text[VMA_TEXT], device[128];
	struct text t;

	if (refusal_rules_out(in, id, REFUSAL_DEVICE, ret))
		return;
	if (!v || refusal_of(in, id) != REFUSAL_DEVICE || !failing_pin(in, id, EFAULT))
		return;
	text_init(&t, device, sizeof(device));
	add_device(&t, v);
	ret->detail = v->flags & VM_PFNMAP ? DETAIL_bare_page_frames : DETAIL_io_memory;
	finding_summary(ret, "0x%" PRIx64 " is a driver's mapping of device memory (%s): it has no pages that could be pinned", failing_address(in, id), device);
	tell_failing_pin(in, id, ret);
	finding_evidence(ret, "the mapping there, when the pin failed: %s, flags 0x%" PRIx64 ":%s%s", vma_text(text, v), (uint64_t)v->flags,
			 v->flags & VM_IO ? " VM_IO" : "", v->flags & VM_PFNMAP ? " VM_PFNMAP" : "");
	finding_evidence(ret, "it maps %s", device);
	ret->kind = failing_kind(in, id, EFAULT, ret);
	finding_remedy(ret, "if the driver can export this memory as a dma-buf: register that with ibv_reg_dmabuf_mr() in place of the address");
	if (chardev_major(v) == MAJOR_NVIDIA)
		finding_remedy(ret, "if it is GPU memory: export it with cuMemGetHandleForAddressRange(CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD), or load the nvidia-peermem that matches the driver");
	else
		finding_remedy(ret, "if the program meant ordinary memory: look the address up in /proc/PID/maps, and register a copy in anonymous memory");
}

void cause_secretmem(const struct incident *in, const struct identity *id, struct finding *ret)
{
	char text[VMA_TEXT];

	if (refusal_rules_out(in, id, REFUSAL_SECRET, ret))
		return;
	if (refusal_of(in, id) != REFUSAL_SECRET || !failing_pin(in, id, EFAULT))
		return;
	ret->detail = DETAIL_secret_memory;
	finding_summary(ret, "0x%" PRIx64 " is memory of memfd_secret(), which no kernel code may pin", failing_address(in, id));
	tell_failing_pin(in, id, ret);
	finding_evidence(ret, "the mapping there, when the pin failed: %s, filesystem magic 0x%" PRIx64, vma_text(text, failing_vma(in, id)),
			 (uint64_t)failing_vma(in, id)->fs_magic);
	ret->kind = failing_kind(in, id, EFAULT, ret);
	finding_remedy(ret, "register other memory: keep secrets in memfd_secret() and copy what the device is to see into anonymous memory");
}

/* --- CUDA ------------------------------------------------------------------------- */

void cause_cuda_vmm_or_gpu_memory_by_va(const struct incident *in, const struct identity *id, struct finding *ret)
{
	const struct wire_vma *v = failing_vma(in, id);
	bool cuda = FACT_KNOWN(&in->facts, libraries) && strstr(in->facts.libraries, "libcuda.so");
	bool device, reserved;
	char text[VMA_TEXT];

	if (gpu_memory_rules_out(in, id, ret))
		return;
	if (!v) {
		if (failing_hole(in, id))
			refusal_rules_out(in, id, REFUSAL_DEVICE, ret);
		return;
	}
	device = chardev_major(v) == MAJOR_NVIDIA;
	reserved = !(v->flags & (VM_READ | VM_WRITE | VM_EXEC));
	vma_text(text, v);
	if (!device && !reserved) {
		finding_because(ret, "0x%" PRIx64 ", where the pin failed, lies in %s: neither the NVIDIA driver's device (major %u) nor a reservation without access",
				failing_address(in, id), text, MAJOR_NVIDIA);
		ret->kind = FINDING_RULED_OUT;
		return;
	}
	if (!failing_pin(in, id, EFAULT) || (!device && !cuda))
		return;
	ret->kind = FINDING_LIKELY;
	ret->detail = device ? DETAIL_gpu_mapping : DETAIL_gpu_reservation;
	finding_summary(ret, "0x%" PRIx64 " looks like GPU memory registered by its address: %s", failing_address(in, id),
			device ? "the NVIDIA driver maps it" : "address space without access, in a process that uses CUDA");
	tell_failing_pin(in, id, ret);
	finding_evidence(ret, "the mapping there, when the pin failed: %s", text);
	if (device)
		finding_evidence(ret, "it maps character device %u:%u, an NVIDIA GPU", v->dev >> 20, v->dev & 0xfffff);
	if (incident_peer_errno(in) == EINVAL)
		finding_evidence(ret, "%s = -EINVAL during the registration: the driver has no memory there that it gives out by address",
				 name_fn(id, in->end.peer.fn));
	finding_missing(ret, "owner of the address", "only the GPU driver knows what CUDA has allocated there");
	finding_remedy(ret, "if it is GPU memory: export it with cuMemGetHandleForAddressRange(CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD) and call ibv_reg_dmabuf_mr()");
	finding_remedy(ret, "if it was allocated with cuMemCreate()/cuMemMap(): allocate it with gpuDirectRDMACapable set, or the export is refused as well");
	finding_remedy(ret, "if the stack registers by address (older NCCL, UCX): load the nvidia-peermem that matches driver and RDMA stack (lsmod, dmesg)");
}
