/* SPDX-License-Identifier: BSD-2-Clause */
/* A tree in which every fact that is a file has an answer, and a request about process 123 in it. */
#ifndef PINWHY_TESTS_ENRICH_TREE_H
#define PINWHY_TESTS_ENRICH_TREE_H

#include "enrich/enrich.h"
#include "tree.h"

static struct tree tree;
static struct enrich enrich;
static struct facts facts;
static struct facts_request req;

#define KNOWN(fact) assert_int_equal(facts.err[FACT_##fact], 0)
#define UNKNOWN(fact, error) assert_int_equal(facts.err[FACT_##fact], error)

/* starttime (field 22) is 4711 */
#define STAT_OF(pid, comm, ppid, ticks) pid " (" comm ") S " ppid " 2 3 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 " ticks " 9 9\n"
#define STAT(comm, ticks) STAT_OF("123", comm, "1", ticks)
#define LIMITS(soft) "Limit                     Soft Limit           Hard Limit           Units     \n" \
	"Max cpu time              unlimited            unlimited            seconds   \n" \
	"Max locked memory         " soft "              unlimited            bytes     \n"

/* The string without the NUL that C adds. */
#define ENVIRON(text) tree_write_bytes(&tree, "proc/123/environ", text, sizeof(text) - 1)

static inline void tree_link(const char *name, const char *target)
{
	tree_parents(&tree, name);
	if (symlink(target, tree_path(&tree, name)) < 0)
		abort();
}

static inline void enrich_tree_process(void)
{
	tree_write(&tree, "proc/123/stat", STAT("app", "4711"));
	tree_write(&tree, "proc/123/status", "Name:\tx\nVmPeak:\t 9 kB\nVmLck:\t  12 kB\nVmPin:\t  34 kB\n");
	tree_write(&tree, "proc/123/comm", "app\n");
	tree_write(&tree, "proc/123/cgroup", "1:name=systemd:/x\n0::/a/b\n");
	tree_link("proc/123/exe", "/usr/bin/app");
	tree_write(&tree, "proc/123/limits", LIMITS("8388608"));
	tree_write(&tree, "proc/1/stat", STAT_OF("1", "shell", "0", "1"));
	tree_write(&tree, "proc/1/limits", LIMITS("unlimited"));
	tree_link("proc/123/fd/0", "/dev/null");
	tree_link("proc/123/fd/5", "anon_inode:[io_uring]");
	tree_write(&tree, "proc/123/fdinfo/5",
		   "pos:\t0\nSqMask:\t7\nUserFiles:\t0\nUserBufs:\t1\n    0: 0x7f0000000ff0/32\nPollList:\n");
	tree_write(&tree, "proc/123/maps",
		   "7f0000000000-7f0000001000 r--p 00000000 08:01 11 /usr/lib/libibverbs.so.1\n"
		   "7ffc00000000-7ffc00021000 rw-p 00000000 00:00 0 [stack]\n"
		   "ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0 [vsyscall]\n");
	ENVIRON("SLURM_JOB_ID=77\0SLURM_PROCID=3\0SECRET=x\0NCCL_COMM_ID=10.0.0.1:4000\0");
}

static inline void enrich_tree_node(void)
{
	tree_write(&tree, "proc/meminfo",
		   "MemTotal:        2048 kB\nMemFree:         1024 kB\nMemAvailable:    1500 kB\n"
		   "Buffers:           10 kB\nCmaTotal:         512 kB\nCmaFree:          100 kB\n");
	tree_write(&tree, "proc/zoneinfo",
		   "Node 0, zone      DMA\n  per-node stats\n      nr_inactive_anon 5\n  pages free     10\n"
		   "        min      1\n      nr_free_pages 10\n      nr_zone_inactive_anon 0\n      nr_free_cma  0\n"
		   "  pagesets\n    cpu: 0\n              count: 0\n"
		   "Node 0, zone   Normal\n  pages free     1000\n      nr_free_pages 1000\n      nr_free_cma  400\n"
		   "Node 0, zone  Movable\n  pages free     5000\n      nr_free_pages 5000\n      nr_free_cma  0\n"
		   "Node 1, zone   Normal\n  pages free     30\n      nr_free_pages 30\n      nr_free_cma  30\n"
		   "Node 1, zone   Device\n  pages free     7\n      nr_free_pages 7\n");
	tree_write(&tree, "sys/class/infiniband/rxe0/ports/1/link_layer", "Ethernet\n");
	tree_write(&tree, "proc/sys/vm/max_map_count", "65530\n");
	tree_write(&tree, "sys/module/vfio_iommu_type1/parameters/dma_entry_limit", "65535\n");
	tree_write(&tree, "sys/devices/system/node/online", "0,2-3\n");
	tree_write(&tree, "sys/devices/system/node/node0/meminfo", "Node 0 MemTotal: 9 kB\nNode 0 MemFree: 4 kB\n");
	tree_write(&tree, "sys/devices/system/node/node3/meminfo", "Node 3 MemFree: 8 kB\n");
	tree_write(&tree, "proc/driver/nvidia/version", "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.104.05  "
		   "Sat Aug 19 01:15:15 UTC 2023\nGCC version:  gcc version 12.2.0\n");
	tree_write(&tree, "sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages", "16\n");
	tree_write(&tree, "sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages", "5\n");
	tree_write(&tree, "sys/kernel/mm/hugepages/hugepages-2048kB/resv_hugepages", "2\n");
}

static inline void enrich_tree_cgroup(void)
{
	tree_write(&tree, "sys/fs/cgroup/a/b/memory.current", "8192\n");
	tree_write(&tree, "sys/fs/cgroup/a/b/memory.max", "max\n");
	tree_write(&tree, "sys/fs/cgroup/a/b/memory.events", "low 0\nhigh 0\nmax 7\noom 4\noom_kill 3\n");
	tree_write(&tree, "sys/fs/cgroup/a/memory.max", "65536\n");
	tree_write(&tree, "sys/fs/cgroup/a/b/rdma.max", "rxe0 hca_handle=max hca_object=max\n");
	tree_write(&tree, "sys/fs/cgroup/a/rdma.max", "rxe1 hca_handle=2 hca_object=1\nrxe0 hca_handle=2 hca_object=10\n");
	tree_write(&tree, "sys/fs/cgroup/a/rdma.current", "rxe0 hca_handle=1 hca_object=10\n");
	tree_write(&tree, "sys/fs/cgroup/a/b/hugetlb.2MB.max", "4194304\n");
	tree_write(&tree, "sys/fs/cgroup/a/b/hugetlb.2MB.current", "2097152\n");
	tree_write(&tree, "sys/fs/cgroup/a/b/hugetlb.2MB.events", "max 9\n");
	tree_write(&tree, "sys/fs/cgroup/a/hugetlb.2MB.max", "max\n");
}

static inline void enrich_tree_make(void)
{
	tree_make(&tree);
	enrich = (struct enrich){ .root = tree.root, .ticks_per_s = 100, .page_bytes = 4096 };
	req = (struct facts_request){ .id = 1, .task_start_ns = 47110000000ULL + 5, .tgid = 123, .tid = 123,
				      .hugetlb_bytes = 2 << 20, .device = "rxe0", .address = 0x7f0000000000, .length = 4096,
				      .held = FACTS_HELD_SHARED };
	enrich_tree_process();
	enrich_tree_node();
	enrich_tree_cgroup();
}

static inline void run(void)
{
	facts_unknown(&facts, FACT_NOT_ASKED);
	enrich_read(&enrich, &req, &facts);
}

#endif
