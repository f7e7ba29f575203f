// SPDX-License-Identifier: BSD-2-Clause
/* GPU drivers, the way from GPU memory to the network card, and DMA address translation. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exposures/exposures.h"

#define EXPOSURE(id, of) void expose_##id(const struct node *n, struct exposure *e);
#include "exposures/exposures.def"
#undef EXPOSURE

/* --- NVIDIA's first pin ----------------------------------------------------------- */

#define VERSION_PARTS 3

struct version {
	uint32_t part[VERSION_PARTS];
	int parts;	/* that were written; the others are 0 */
};

static const struct pin_rule {
	const char *from, *to;
	enum longterm x86_64, aarch64;
} pin_rules[] = {
#define NVIDIA_PIN(from, to, x86_64, aarch64) { from, to, LONGTERM_##x86_64, LONGTERM_##aarch64 },
#include "nvidia.def"
#undef NVIDIA_PIN
};

/* "535.171.04", "550.67"; up to three numbers and nothing behind them. */
static bool parse_version(const char *s, struct version *ret)
{
	struct version v = { .parts = 0 };
	unsigned long part;
	char *end;

	while (v.parts < VERSION_PARTS) {
		if (*s < '0' || *s > '9')
			return false;
		part = strtoul(s, &end, 10);
		if (part >= UINT32_MAX)
			return false;
		v.part[v.parts++] = (uint32_t)part;
		s = end;
		if (*s != '.')
			break;
		s++;
	}
	if (*s)
		return false;
	*ret = v;
	return true;
}

static int compare(const struct version *a, const struct version *b, int parts)
{
	for (int i = 0; i < parts; i++)
		if (a->part[i] != b->part[i])
			return a->part[i] < b->part[i] ? -1 : 1;
	return 0;
}

static bool rule_covers(const struct pin_rule *r, const struct version *v)
{
	struct version from, to;

	return parse_version(r->from, &from) && parse_version(r->to, &to) && compare(v, &from, VERSION_PARTS) >= 0 &&
	       compare(v, &to, to.parts) <= 0;
}

enum longterm nvidia_longterm(const char *version, const char *machine)
{
	struct version v;

	if (!parse_version(version, &v))
		return LONGTERM_UNKNOWN;
	for (size_t i = 0; i < sizeof(pin_rules) / sizeof(pin_rules[0]); i++) {
		if (!rule_covers(&pin_rules[i], &v))
			continue;
		if (strcmp(machine, "x86_64") == 0)
			return pin_rules[i].x86_64;
		if (strcmp(machine, "aarch64") == 0)
			return pin_rules[i].aarch64;
	}
	return LONGTERM_UNKNOWN;
}

static void first_pin_remedies(const struct node *n, struct exposure *e, bool placed)
{
	if (strcmp(n->machine, "x86_64") == 0)
		exposure_remedy(e, "an NVIDIA driver from 535.171.04 on in the 535 series, or from 550.67 on (read to 595.45.04): its pin is "
				"long-term and moves the page first");
	else
		exposure_remedy(e, "no driver for this machine is known to pin long-term (read to 595.45.04): only the place "
				"of the memory and the order of the pins can help");
	if (placed)
		exposure_remedy(e, "remove the CMA area and ZONE_MOVABLE, as under cma_area and movable_zone, if this node can do "
				"without");
	exposure_remedy(e, "where their order can be chosen: register memory (ibv_reg_mr) before cudaHostRegister");
}

void expose_nvidia_first_pin(const struct node *n, struct exposure *e)
{
	uint64_t cma = node_cma_pages(n), movable = node_movable_pages(n);

	if (!n->has_nvidia || n->err[NODE_nvidia])
		return;
	switch (nvidia_longterm(n->nvidia_version, n->machine)) {
	case LONGTERM_YES:
		return;
	case LONGTERM_UNKNOWN:
		exposure_unchecked(e, "whether the NVIDIA driver pins long-term",
				   "not known for %s on %s, whose sources were not read (those of series from 515.43.04 to 595.45.04 were): "
				   "first_pin.gup_flags in a report tells", n->nvidia_version, n->machine);
		return;
	case LONGTERM_NO:
		break;
	}
	exposure_found(e, cma || movable ? SEVERITY_HIGH : SEVERITY_LOW, "the NVIDIA driver pins host memory without "
		       "FOLL_LONGTERM: a page of CMA or ZONE_MOVABLE that it pinned cannot be registered afterwards");
	exposure_evidence(e, "driver %s on %s%s", n->nvidia_version, n->machine,
			  !n->nvidia_flavour_known ? "" : n->nvidia_open ? ", open kernel module" : ", proprietary kernel module");
	exposure_evidence(e, "%" PRIu64 " MiB of CMA, %" PRIu64 " MiB of ZONE_MOVABLE", node_mib(n, cma),
			  node_mib(n, movable));
	first_pin_remedies(n, e, cma || movable);
}

/* --- GPU memory ------------------------------------------------------------------- */

/* The proprietary flavour exports no dma-buf, and the open one does from its first release on. */
#define DMABUF_MAJOR_MIN 515

static bool driver_exports(const struct node *n)
{
	struct version v;

	return n->nvidia_open && parse_version(n->nvidia_version, &v) && v.part[0] >= DMABUF_MAJOR_MIN;
}

static void gpu_evidence(const struct node *n, struct exposure *e)
{
	exposure_evidence(e, "neither nvidia_peermem nor nv_peer_mem is loaded");
	exposure_evidence(e, "driver %s, %s kernel module: %s dma-bufs of GPU memory", n->nvidia_version,
			  n->nvidia_open ? "open" : "proprietary", driver_exports(n) ? "exports" : "does not export");
	exposure_evidence(e, "ib_umem_dmabuf_get is %s/proc/kallsyms: this kernel %s dma-bufs", n->has_dmabuf ? "in " : "not in ",
			  n->has_dmabuf ? "registers" : "does not register");
	for (uint32_t i = 0; i < n->peermem_log.n; i++)
		exposure_evidence(e, "kernel log: %s", n->peermem_log.lines[i]);
}

void expose_gpu_memory_path(const struct node *n, struct exposure *e)
{
	bool works = n->has_dmabuf && driver_exports(n), failed_load = n->peermem_log.n > 0;

	if (!n->has_nvidia || n->has_peermem)
		return;
	if (!n->has_ib_uverbs) {
		exposure_unchecked(e, "registration of GPU memory", "ib_uverbs is not loaded, so that its symbols do not show");
		return;
	}
	if (n->err[NODE_dmabuf] || n->err[NODE_nvidia])
		return;
	/* A kernel that does not register dma-bufs is exposed whatever the flavour. */
	if (!n->nvidia_flavour_known && n->has_dmabuf) {
		exposure_unchecked(e, "registration of GPU memory", "/proc/driver/nvidia/version does not tell whether the "
				   "driver is the open one, which exports dma-bufs");
		return;
	}
	if (works && !failed_load)
		return;
	if (works)
		exposure_found(e, SEVERITY_LOW, "nvidia_peermem failed to load: applications that register GPU memory by its "
			       "address (ibv_reg_mr) fail, those that use dma-bufs do not");
	else
		exposure_found(e, SEVERITY_HIGH, "GPU memory cannot be registered: there is neither nvidia_peermem nor a way "
			       "through dma-bufs");
	gpu_evidence(n, e);
	exposure_remedy(e, "modprobe nvidia_peermem; if it complains about symbols it was built for another ib_core: install "
			"the NVIDIA driver again (dkms autoinstall) after the RDMA stack whose ib_core is loaded");
	if (!works)
		exposure_remedy(e, "or the open flavour of the driver, 515 or newer, on a kernel from 5.12 on: NCCL and UCX then "
				"use dma-bufs, without nvidia_peermem");
}

/* --- DMA addresses ---------------------------------------------------------------- */

void expose_iommu_translated(const struct node *n, struct exposure *e)
{
	static const char *const words[] = { "iommu", "intel_iommu", "amd_iommu", "iommu.passthrough", "iommu.strict",
					     "iommu.forcedac", NULL };
	char text[256];

	if (n->err[NODE_iommu] || !n->groups_translated)
		return;
	exposure_found(e, n->ntranslated ? SEVERITY_MEDIUM : SEVERITY_LOW, "DMA of %s goes through IOMMU translation: "
		       "registering maps every page, which costs time and needs contiguous IOVA space",
		       n->ntranslated ? "RDMA devices" : "some devices, not of those for RDMA,");
	exposure_evidence(e, "%u IOMMUs; groups: %u translated (DMA, DMA-FQ), %u identity", n->iommus,
			  n->groups_translated, n->groups_identity);
	for (uint32_t i = 0; i < n->ntranslated; i++)
		exposure_evidence(e, "RDMA device %s", n->translated[i]);
	if (n->translated_left_out)
		exposure_evidence(e, "%u more RDMA devices", n->translated_left_out);
	if (node_booted_with(n, words, text, sizeof(text)))
		exposure_evidence(e, "booted with %s", text);
	exposure_remedy(e, "iommu=pt (arm64: iommu.passthrough=1) on the kernel command line and reboot, if the devices of this "
			"node are trusted; VFIO keeps working");
	exposure_remedy(e, "for one device, its driver unbound and alone in its group: echo identity > "
			"/sys/kernel/iommu_groups/N/type");
}

/* Bounce buffers are found by search; nearly full, large mappings fail before the last slot is taken. */
#define SWIOTLB_PERCENT 80
#define SWIOTLB_SLOT_KIB 2	/* IO_TLB_SHIFT 11 */

void expose_swiotlb_bounce(const struct node *n, struct exposure *e)
{
	static const char *const words[] = { "swiotlb", NULL };
	bool known = n->err[NODE_swiotlb] == 0, full, forced;
	char text[128];

	full = known && n->swiotlb_slots && n->swiotlb_used * 100 >= n->swiotlb_slots * SWIOTLB_PERCENT;
	forced = node_booted_with(n, words, text, sizeof(text)) && strstr(text, "force") && !strstr(text, "noforce");
	if (!full && !forced)
		return;
	if (forced)
		exposure_found(e, SEVERITY_HIGH, "all DMA is bounced (swiotlb=force): a registration would be of the copy, not "
			       "of the memory");
	else
		exposure_found(e, SEVERITY_MEDIUM, "%u %% or more of the bounce buffers are in use: DMA mappings that need one "
			       "may fail", SWIOTLB_PERCENT);
	if (known)
		exposure_evidence(e, "%" PRIu64 " of %" PRIu64 " slots of %u KiB in use (io_tlb_used, io_tlb_nslabs)",
				  n->swiotlb_used, n->swiotlb_slots, SWIOTLB_SLOT_KIB);
	if (text[0])
		exposure_evidence(e, "booted with %s", text);
	if (forced)
		exposure_remedy(e, "take swiotlb=force off the kernel command line and reboot, if this is not a confidential "
				"virtual machine");
	if (full)
		exposure_remedy(e, "swiotlb=%" PRIu64 " on the kernel command line and reboot, if devices here cannot reach all "
				"memory; otherwise find out why their DMA is bounced", n->swiotlb_slots * 2);
}
