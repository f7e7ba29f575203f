// SPDX-License-Identifier: BSD-2-Clause
#include <unistd.h>

#include "enrich/enrich.h"

#define BIT(fact) (1ULL << FACT_##fact)

/* Cheapest and least likely to block first. */
const struct enrich_source enrich_sources[] = {
	{ "meminfo", enrich_meminfo,
	  BIT(mem_total_bytes) | BIT(mem_free_bytes) | BIT(mem_available_bytes) |
	  BIT(cma_total_bytes) | BIT(cma_free_bytes) },
	{ "device", enrich_device, BIT(link_layer) },
	{ "process", enrich_process,
	  BIT(proc_start_ticks) | BIT(vm_pin_bytes) | BIT(vm_lck_bytes) | BIT(exe) | BIT(comm) |
	  BIT(cgroup) | BIT(cgroup_memory_current_bytes) | BIT(cgroup_memory_max_bytes) },
	{ "zoneinfo", enrich_zoneinfo, BIT(free_outside_bytes) },
};
const uint32_t enrich_nsources = sizeof(enrich_sources) / sizeof(enrich_sources[0]);

_Static_assert(FACT_MAX <= 64, "the facts of a source are bits of a u64");

struct enrich enrich_system(const char *root)
{
	return (struct enrich){
		.root = root,
		.ticks_per_s = (uint64_t)sysconf(_SC_CLK_TCK),
		.page_bytes = (uint64_t)sysconf(_SC_PAGESIZE),
	};
}

void enrich_read(void *ctx, const struct facts_request *req, struct facts *ret_facts)
{
	for (uint32_t i = 0; i < enrich_nsources; i++)
		enrich_sources[i].fn(ctx, req, ret_facts);
}
