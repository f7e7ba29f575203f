// SPDX-License-Identifier: BSD-2-Clause
#include <errno.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "enrich/enrich.h"
#include "enrich/rdma.h"

#define BIT(fact) (1ULL << FACT_##fact)

/* Cheapest and least likely to block first. */
const struct enrich_source enrich_sources[] = {
	{ "meminfo", BIT(mem_total_bytes) | BIT(mem_free_bytes) | BIT(mem_available_bytes) |
	  BIT(cma_total_bytes) | BIT(cma_free_bytes), .node = enrich_meminfo },
	{ "device", BIT(link_layer), .node = enrich_device },
	{ "process", BIT(proc_start_ticks) | BIT(vm_pin_bytes) | BIT(vm_lck_bytes) | BIT(exe) | BIT(comm),
	  .process = enrich_process },
	{ "cgroup", BIT(cgroup) | BIT(cgroup_memory_current_bytes) | BIT(cgroup_memory_max_bytes) |
	  BIT(cgroup_oom_kills) | BIT(cgroup_max_events) | BIT(cgroup_max_path) | BIT(cgroup_v1), .process = enrich_cgroup },
	{ "settings", BIT(vfio_entry_limit) | BIT(max_map_count), .node = enrich_settings },
	{ "nvidia", BIT(nvidia_version) | BIT(nvidia_flavour), .node = enrich_nvidia },
	{ "hugetlb pool", BIT(hugetlb_total_pages) | BIT(hugetlb_free_pages) | BIT(hugetlb_reserved_pages),
	  .node = enrich_hugetlb_pool },
	{ "limits", BIT(limit_set_by) | BIT(limit_chain), .process = enrich_limits },
	{ "rdma cgroup", BIT(rdmacg_path) | BIT(rdmacg_object_max) | BIT(rdmacg_object_current),
	  .process = enrich_cgroup_rdma },
	{ "hugetlb cgroup", BIT(hugetlb_cgroup_max_bytes) | BIT(hugetlb_cgroup_current_bytes) |
	  BIT(hugetlb_cgroup_max_events), .process = enrich_cgroup_hugetlb },
	{ "zoneinfo", BIT(free_outside_bytes), .node = enrich_zoneinfo },
	{ "nodes", BIT(node_free), .node = enrich_node_free },
	/* Locks of a driver and of the process, its files, and what NVML waits for. */
	{ "rdma", BIT(mr_process_pages) | BIT(mr_process_count) | BIT(mr_device_count), .process = enrich_rdma,
	  .waits = true },
	{ "io_uring", BIT(io_uring_pages), .process = enrich_io_uring, .waits = true },
	/* Behind the two that list what is charged: the process may have let go of it meanwhile. */
	{ "pins", BIT(vm_pin_later_bytes), .process = enrich_pins_later, .waits = true },
	{ "holders", BIT(holder_buffers) | BIT(holder_files) | BIT(holder_pipes) | BIT(holder_others),
	  .process = enrich_holders, .waits = true },
	/* The mmap lock of the process: what waits for it costs nothing of the above. */
	{ "job", BIT(job_scheduler) | BIT(job_id) | BIT(job_rank) | BIT(communicator), .process = enrich_job,
	  .waits = true },
	{ "maps", BIT(map_count) | BIT(libraries), .process = enrich_maps, .waits = true },
	{ "bar1", BIT(bar1_total_bytes) | BIT(bar1_used_bytes) | BIT(bar1_free_bytes), .node = enrich_bar1,
	  .waits = true },
};
const uint32_t enrich_nsources = sizeof(enrich_sources) / sizeof(enrich_sources[0]);

_Static_assert(FACT_MAX <= 64, "the facts of a source are bits of a u64");

struct enrich enrich_system(const char *root)
{
	return (struct enrich){
		.root = root,
		.ticks_per_s = (uint64_t)sysconf(_SC_CLK_TCK),
		.page_bytes = (uint64_t)sysconf(_SC_PAGESIZE),
		.rdma_open = rdma_open,
	};
}

bool enrich_is_component(const char *name, size_t size)
{
	size_t len = strnlen(name, size);

	return len && len < size && !memchr(name, '/', len) && strcmp(name, ".") != 0 &&
	       strcmp(name, "..") != 0;
}

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

uint64_t enrich_left_ns(const struct enrich *e)
{
	uint64_t now = now_ns();

	if (!e->until_ns)
		return UINT64_MAX;
	return e->until_ns > now ? e->until_ns - now : 0;
}

uint64_t enrich_until(const struct enrich *e, uint64_t most_ns)
{
	uint64_t most = now_ns() + most_ns;

	return e->until_ns && e->until_ns < most ? e->until_ns : most;
}

void enrich_fail(struct facts *f, uint64_t facts, int err)
{
	for (int i = 0; i < FACT_MAX; i++)
		if (facts & (1ULL << i))
			f->err[i] = err;
}

void enrich_run(const struct enrich_source *s, const struct enrich *e, const struct facts_request *req,
		int proc_fd, struct facts *f)
{
	if (s->node)
		s->node(e, req, f);
	else if (proc_fd < 0)
		enrich_fail(f, s->facts, proc_fd);
	else
		s->process(e, req, proc_fd, f);
}

static int open_process(const struct enrich *e, const struct facts_request *req)
{
	int fd, err = enrich_open_process(e, req, &fd);

	return err ? err : fd;
}

void enrich_read_one(const struct enrich_source *s, const struct enrich *e,
		     const struct facts_request *req, struct facts *f)
{
	int proc_fd = open_process(e, req);

	enrich_run(s, e, req, proc_fd, f);
	if (proc_fd >= 0)
		close(proc_fd);
}

void enrich_read(void *ctx, const struct facts_request *req, struct facts *ret_facts)
{
	struct enrich e = *(const struct enrich *)ctx;
	int proc_fd;

	if (e.budget_ns)
		e.until_ns = now_ns() + e.budget_ns;
	/* All that is read of the process goes through this one directory, which stays with it. */
	proc_fd = open_process(&e, req);
	for (uint32_t i = 0; i < enrich_nsources; i++) {
		if (enrich_sources[i].waits)
			continue;
		if (enrich_left_ns(&e))
			enrich_run(&enrich_sources[i], &e, req, proc_fd, ret_facts);
		else
			enrich_fail(ret_facts, enrich_sources[i].facts, -ETIMEDOUT);
	}
	enrich_read_waiting(&e, req, proc_fd, ret_facts);
	if (proc_fd >= 0)
		close(proc_fd);
}
