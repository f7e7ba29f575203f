/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What exposures are judged by: values of this node as they were read, nothing concluded yet.
 * Plain data without pointers: a child process fills it in shared memory (read_node.c).
 */
#ifndef PINWHY_EXPOSURES_NODE_H
#define PINWHY_EXPOSURES_NODE_H

#include <stdbool.h>
#include <stdint.h>

enum node_source {
#define SOURCE(name, path, what) NODE_##name,
#include "exposures/sources.def"
#undef SOURCE
	NODE_SOURCES
};

/* What err[] holds besides 0 = read and -errno: this node has no such thing, which is an answer. */
#define NODE_ABSENT 1

#define NODE_LINE 160
#define NODE_ZONES_MAX 256
#define NODE_AREAS_MAX 64
#define NODE_LOG_MAX 8
#define NODE_SERVICES_MAX 32
#define NODE_POOLS_MAX 8
#define NODE_LIMITS_MAX 16
#define NODE_DEVICES_MAX 16

struct node_zone {
	char name[16];
	uint32_t node;
	uint64_t present_pages, managed_pages, free_pages, free_cma_pages, cma_pages;
};

struct node_area {
	char name[64];
	bool has_total;		/* kernels before 6.10 do not tell */
	uint64_t total_pages;
};

struct node_log {
	uint32_t n, left_out;
	char lines[NODE_LOG_MAX][NODE_LINE];
};

enum node_service_kind { SERVICE_SCHEDULER, SERVICE_CONTAINERS, SERVICE_LOGIN };

/* Processes of one name in one unit with the same limits. */
struct node_service {
	enum node_service_kind kind;
	char comm[16], unit[96];
	uint32_t pid, uid, count;	/* of the first; how many */
	uint64_t soft_bytes, hard_bytes;	/* UINT64_MAX = unlimited */
};

struct node_pool {
	uint64_t page_kib, pages, free_pages, overcommit_pages;
};

struct node {
	int32_t err[NODE_SOURCES];
	char machine[65];	/* as uname(2) has it */
	uint64_t page_bytes;
	bool pins_stay;		/* no page must move for a long-term pin: a fact of the kernel, from elsewhere */

	char cmdline[4096];
	bool has_cma;		/* meminfo speaks of CMA */
	uint64_t cma_total_bytes, cma_free_bytes;

	uint32_t nzones, zones_left_out;
	bool zones_tell_cma;	/* kernels before 5.13 do not tell cma_pages */
	struct node_zone zones[NODE_ZONES_MAX];

	uint32_t nareas, areas_left_out;
	struct node_area areas[NODE_AREAS_MAX];

	uint64_t cma_pageblocks, pageblock_pages;
	uint64_t kho_scratch_bytes;

	bool log_begins_late;	/* the boot is no longer in it */
	struct node_log cma_log, peermem_log;

	uint64_t block_bytes, movable_blocks;
	char auto_online[32], online_policy[32];

	bool has_nvidia, has_peermem, has_ib_uverbs;
	char nvidia_version[64];
	bool nvidia_flavour_known, nvidia_open;
	bool has_dmabuf;

	uint32_t iommus, groups_translated, groups_identity, groups_left_out;
	uint32_t ntranslated, translated_left_out;
	char translated[NODE_DEVICES_MAX][64];	/* RDMA devices behind a translating IOMMU: "mlx5_0 DMA-FQ" */

	uint64_t swiotlb_slots, swiotlb_used;

	uint32_t npools;
	struct node_pool pools[NODE_POOLS_MAX];

	uint32_t nlimits, limits_left_out;
	bool limits_more_dirs;	/* there are more cgroups than were looked at */
	char limits[NODE_LIMITS_MAX][NODE_LINE];

	uint32_t nservices, services_left_out, services_unread;
	struct node_service services[NODE_SERVICES_MAX];

	uint64_t max_map_count, map_count;	/* of the process with the most mappings */
	uint32_t map_pid, map_processes, maps_left_out, maps_unread;
	int32_t maps_unread_err;
	char map_comm[16];
};

#endif
