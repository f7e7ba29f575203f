// SPDX-License-Identifier: BSD-2-Clause
/* Memory that a long-term pin must leave, and pools of pages that may run dry. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "exposures/exposures.h"

#define EXPOSURE(id, of) void expose_##id(const struct node *n, struct exposure *e);
#include "exposures/exposures.def"
#undef EXPOSURE

#define HELD "a page there that is held by an earlier reference cannot be moved out for a long-term pin"

#define REMEDY_HUGETLB \
	"hugetlb_cma=0 on the kernel command line and reboot, if this node allocates no 1 GiB pages at run time; " \
	"where it needs some: hugepagesz=1G hugepages=N instead, which reserves them at boot"
#define REMEDY_DEFAULT \
	"cma=0 on the kernel command line and reboot, if no driver here needs large contiguous DMA buffers"
#define REMEDY_NUMA \
	"take cma_pernuma= and numa_cma= off the kernel command line and reboot, if no driver here needs large " \
	"contiguous DMA buffers"
#define REMEDY_CRASH "crashkernel=SIZE without ',cma' on the kernel command line and reboot"
#define REMEDY_OTHER \
	"find the driver or the reserved-memory node of the device tree that declares the area; move its users to a " \
	"node without RDMA, if it cannot go"

/* The kernel's own names of areas: hugetlb0, reserved, pernuma1, numa1, crash. */
static const struct {
	const char *prefix, *owner, *remedy;
} owners[] = {
	{ "hugetlb", "hugetlb_cma=", REMEDY_HUGETLB },
	{ "reserved", "cma=, or the default size this kernel was built with", REMEDY_DEFAULT },
	{ "pernuma", "cma_pernuma=", REMEDY_NUMA },
	{ "numa", "numa_cma=", REMEDY_NUMA },
	{ "crash", "crashkernel=...,cma", REMEDY_CRASH },
	{ "", "a driver or the device tree", REMEDY_OTHER },
};

static const char *const cma_words[] = { "cma", "hugetlb_cma", "hugetlb_cma_only", "numa_cma", "cma_pernuma",
					 "pernuma_cma", "crashkernel", NULL };
static const char *const movable_words[] = { "movablecore", "kernelcore", "movable_node", NULL };
static const char *const hotplug_words[] = { "movable_node", "memhp_default_state", "memory_hotplug.online_policy",
					     "memory_hotplug.auto_movable_ratio", NULL };
static const char *const kho_words[] = { "kho", "kho_scratch", NULL };

static size_t owner_of(const char *area)
{
	size_t i;

	for (i = 0; strncmp(area, owners[i].prefix, strlen(owners[i].prefix)) != 0; i++)
		;
	return i;
}

static void boot_evidence(const struct node *n, struct exposure *e, const char *const words[])
{
	char text[256];

	if (node_booted_with(n, words, text, sizeof(text)))
		exposure_evidence(e, "booted with %s", text);
}

static bool over_half(const struct node_zone *z)
{
	/* As __rmqueue() in mm/page_alloc.c compares, with its rounding. */
	return z->free_cma_pages > z->free_pages / 2;
}

static uint64_t percent(uint64_t part, uint64_t whole)
{
	return whole ? part * 100 / whole : 0;
}

static void zone_evidence(const struct node *n, struct exposure *e, const struct node_zone *z)
{
	exposure_evidence(e, "node %u zone %s: %" PRIu64 " of %" PRIu64 " MiB free are CMA (nr_free_cma %" PRIu64
			  ", nr_free_pages %" PRIu64 ", %" PRIu64 " %%)%s", z->node, z->name,
			  node_mib(n, z->free_cma_pages), node_mib(n, z->free_pages), z->free_cma_pages,
			  z->free_pages, percent(z->free_cma_pages, z->free_pages),
			  over_half(z) ? ": movable allocations take CMA pages first" : "");
}

/* Without names of areas the boot parameters tell who it may have been. */
static void remedies_without_names(const struct node *n, struct exposure *e)
{
	static const char *const hugetlb[] = { "hugetlb_cma", NULL }, *const dma[] = { "cma", NULL };
	static const char *const numa[] = { "numa_cma", "cma_pernuma", "pernuma_cma", NULL };
	char text[128];

	if (node_booted_with(n, hugetlb, text, sizeof(text)))
		exposure_remedy(e, REMEDY_HUGETLB);
	if (node_booted_with(n, numa, text, sizeof(text)))
		exposure_remedy(e, REMEDY_NUMA);
	if (node_booted_with(n, dma, text, sizeof(text)) || !e->nremedies)
		exposure_remedy(e, REMEDY_DEFAULT);
}

static void area_evidence(const struct node *n, struct exposure *e)
{
	for (uint32_t i = 0; i < n->nareas; i++) {
		const struct node_area *a = &n->areas[i];
		size_t o = owner_of(a->name);

		if (a->has_total)
			exposure_evidence(e, "area \"%s\": %" PRIu64 " MiB, reserved by %s", a->name,
					  node_mib(n, a->total_pages), owners[o].owner);
		else
			exposure_evidence(e, "area \"%s\": reserved by %s", a->name, owners[o].owner);
		exposure_remedy(e, "%s", owners[o].remedy);
	}
	if (n->areas_left_out)
		exposure_evidence(e, "%u more areas", n->areas_left_out);
	if (!n->nareas)
		remedies_without_names(n, e);
}

void expose_cma_area(const struct node *n, struct exposure *e)
{
	if (!n->cma_total_bytes && !n->nareas)
		return;
	exposure_found(e, placement_severity(n), "%" PRIu64 " MiB of CMA: " HELD " (cma=, hugetlb_cma=)",
		       n->cma_total_bytes >> 20);
	exposure_evidence(e, "CmaTotal %" PRIu64 " MiB, CmaFree %" PRIu64 " MiB", n->cma_total_bytes >> 20,
			  n->cma_free_bytes >> 20);
	area_evidence(n, e);
	boot_evidence(n, e, cma_words);
	for (uint32_t i = 0; i < n->cma_log.n; i++)
		exposure_evidence(e, "kernel log: %s", n->cma_log.lines[i]);
	for (uint32_t i = 0; i < n->nzones; i++)
		if (n->zones[i].cma_pages || n->zones[i].free_cma_pages)
			zone_evidence(n, e, &n->zones[i]);
	exposure_remedy(e, "where their order can be chosen: register memory (ibv_reg_mr) before another driver pins it "
			"(cudaHostRegister)");
	if (n->err[NODE_cma_areas] == NODE_ABSENT)
		exposure_unchecked(e, "names of CMA areas", "this kernel has no /sys/kernel/mm/cma (CONFIG_CMA_SYSFS)");
	if (!n->err[NODE_kernel_log] && !n->cma_log.n && n->log_begins_late)
		exposure_unchecked(e, "reservations of CMA in the kernel log", "it no longer goes back to the boot");
}

/* MIGRATE_CMA pages by the most exact of the sources; false when none tells. */
static bool marked_pages(const struct node *n, uint64_t *ret_pages, const char **ret_source)
{
	uint64_t pages = 0;

	for (uint32_t i = 0; i < n->nzones; i++)
		pages += n->zones[i].cma_pages;
	*ret_source = "cma in /proc/zoneinfo";
	*ret_pages = pages;
	if (!n->err[NODE_zoneinfo] && n->zones_tell_cma && !n->zones_left_out)
		return true;
	*ret_source = "/proc/pagetypeinfo";
	*ret_pages = n->cma_pageblocks * n->pageblock_pages;
	return n->err[NODE_pageblocks] == 0;
}

void expose_cma_unaccounted(const struct node *n, struct exposure *e)
{
	uint64_t accounted = n->page_bytes ? n->cma_total_bytes / n->page_bytes : 0, marked;
	const char *source;
	bool known = marked_pages(n, &marked, &source);

	if (n->err[NODE_meminfo] || !n->has_cma)
		return;
	if (known ? marked <= accounted : n->cma_free_bytes <= n->cma_total_bytes)
		return;
	exposure_found(e, placement_severity(n), "more memory is MIGRATE_CMA than CmaTotal accounts for, as the scratch "
		       "areas of kexec handover are: " HELD " (kho=)");
	if (known)
		exposure_evidence(e, "%" PRIu64 " MiB are MIGRATE_CMA (%s), CmaTotal is %" PRIu64 " MiB",
				  node_mib(n, marked), source, node_mib(n, accounted));
	if (n->cma_free_bytes > n->cma_total_bytes)
		exposure_evidence(e, "CmaFree %" PRIu64 " MiB is more than CmaTotal %" PRIu64 " MiB",
				  n->cma_free_bytes >> 20, n->cma_total_bytes >> 20);
	if (!n->err[NODE_pageblocks])
		exposure_evidence(e, "%" PRIu64 " MIGRATE_CMA pageblocks of %" PRIu64 " pages (/proc/pagetypeinfo)",
				  n->cma_pageblocks, n->pageblock_pages);
	if (!n->err[NODE_kho])
		exposure_evidence(e, "kexec handover holds %" PRIu64 " MiB of scratch areas", n->kho_scratch_bytes >> 20);
	boot_evidence(n, e, kho_words);
	exposure_remedy(e, "kho=off on the kernel command line and reboot, if this node hands no memory over to the next "
			"kernel (live update); otherwise kho_scratch=SIZE with a smaller size, or a kernel that does not "
			"give these areas back as CMA");
}

void expose_cma_over_half(const struct node *n, struct exposure *e)
{
	for (uint32_t i = 0; i < n->nzones; i++) {
		if (!over_half(&n->zones[i]))
			continue;
		exposure_found(e, placement_severity(n), "CMA is more than half of what is free in a zone: user memory "
			       "comes from CMA first, now");
		zone_evidence(n, e, &n->zones[i]);
	}
	if (!e->severity)
		return;
	exposure_remedy(e, "make the area smaller or remove it, as under cma_area: at no more than half of the free "
			"memory of its zone other memory is taken first");
	exposure_remedy(e, "until then, if Cached in /proc/meminfo is large: echo 1 > /proc/sys/vm/drop_caches gives memory "
			"outside CMA back for a while");
}

static void movable_remedies(const struct node *n, struct exposure *e)
{
	char text[256];

	if (node_booted_with(n, movable_words, text, sizeof(text)))
		exposure_remedy(e, "take %s off the kernel command line and reboot, if no memory of this node is to be "
				"unplugged", text);
	else
		exposure_remedy(e, "for each block that is online as movable (lsmem -o RANGE,STATE,ZONES shows them): echo "
				"offline > /sys/devices/system/memory/memoryN/state, then echo online_kernel > the same "
				"file, if it is not to be unplugged; for CXL and persistent memory: daxctl "
				"reconfigure-device --mode=system-ram --no-movable DEVICE");
	exposure_remedy(e, "where their order can be chosen: register memory (ibv_reg_mr) before another driver pins it "
			"(cudaHostRegister)");
}

void expose_movable_zone(const struct node *n, struct exposure *e)
{
	uint64_t pages = node_movable_pages(n);

	if (!pages)
		return;
	exposure_found(e, placement_severity(n), "%" PRIu64 " MiB of ZONE_MOVABLE: " HELD " (movablecore=, kernelcore=, "
		       "memory onlined as movable)", node_mib(n, pages));
	for (uint32_t i = 0; i < n->nzones; i++) {
		const struct node_zone *z = &n->zones[i];

		if (strcmp(z->name, "Movable") == 0 && z->managed_pages)
			exposure_evidence(e, "node %u: %" PRIu64 " MiB present, %" PRIu64 " MiB managed, %" PRIu64 " MiB free",
					  z->node, node_mib(n, z->present_pages), node_mib(n, z->managed_pages),
					  node_mib(n, z->free_pages));
	}
	boot_evidence(n, e, movable_words);
	if (!n->err[NODE_memory_blocks])
		exposure_evidence(e, "%" PRIu64 " whole memory blocks of %" PRIu64 " MiB are online as movable",
				  n->movable_blocks, n->block_bytes >> 20);
	movable_remedies(n, e);
}

void expose_movable_hotplug(const struct node *n, struct exposure *e)
{
	/* The policy decides for "online" only; online_kernel and online_movable say which zone. */
	bool movable = strcmp(n->auto_online, "online_movable") == 0;
	bool policy = strcmp(n->auto_online, "online") == 0 && strcmp(n->online_policy, "auto-movable") == 0;

	if (n->err[NODE_hotplug] || (!movable && !policy))
		return;
	exposure_found(e, SEVERITY_LOW, "memory that is added to this node comes online as ZONE_MOVABLE");
	exposure_evidence(e, "auto_online_blocks %s, online_policy %s", n->auto_online,
			  n->online_policy[0] ? n->online_policy : "not there");
	boot_evidence(n, e, hotplug_words);
	exposure_remedy(e, "echo online_kernel > /sys/devices/system/memory/auto_online_blocks, and "
			"memhp_default_state=online_kernel on the kernel command line, if added memory is not to be "
			"unplugged");
}

void expose_hugetlb_pool_empty(const struct node *n, struct exposure *e)
{
	for (uint32_t i = 0; i < n->npools; i++) {
		const struct node_pool *p = &n->pools[i];

		if (!p->pages || p->free_pages)
			continue;
		exposure_found(e, SEVERITY_LOW, "a pool of huge pages has none free: %snew mappings of huge pages fail",
			       n->pins_stay ? "" : "a huge page in CMA or ZONE_MOVABLE then has nowhere to move to for a "
			       "long-term pin, and ");
		exposure_evidence(e, "%" PRIu64 " kB pages: 0 of %" PRIu64 " free, nr_overcommit_hugepages %" PRIu64,
				  p->page_kib, p->pages, p->overcommit_pages);
		exposure_remedy(e, "echo N > /sys/kernel/mm/hugepages/hugepages-%" PRIu64 "kB/nr_hugepages with N above %"
				PRIu64 ", if jobs here map huge pages", p->page_kib, p->pages);
	}
}
