/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The contract between the BPF programs and the daemon: every struct that
 * crosses the ring or lives in a shared map. Compiled by clang for BPF, by gcc
 * for the daemon and by the contract test, which compares the layouts.
 *
 * Fixed widths, explicit padding, size asserts; never packed, so that both
 * sides may use plain loads. Every pad is zero.
 */
#ifndef PINWHY_WIRE_H
#define PINWHY_WIRE_H

#ifndef __bpf__
#include <linux/types.h>
#endif

/* Raised when the meaning of an existing field changes; captures carry it. */
#define WIRE_VERSION 2

#define WIRE_KIND_MAX 16	/* exclusive bound of event ids */
#define WIRE_COMM_LEN 16	/* TASK_COMM_LEN */
#define WIRE_DEVICE_LEN 64	/* IB_DEVICE_NAME_MAX */
#define WIRE_MODULE_LEN 56	/* MODULE_NAME_LEN */
#define WIRE_CGROUP_LEN 1024	/* path components, leaf first, each NUL-terminated */
#define WIRE_AREA_LEN 32	/* CMA area name, truncated */
#define WIRE_FS_LEN 16		/* filesystem type, truncated */
#define WIRE_EXPORTER_LEN 32	/* dma-buf exporter, truncated */
#define WIRE_CHAIN_MAX 8	/* failing functions kept per registration */
#define WIRE_VMAS_MAX 8		/* VMAs of the range kept to place folios in it */
#define WIRE_FOLIOS_MAX 64	/* folios described per registration */
#define WIRE_SPANS 1024		/* registrations in flight that can be followed; power of two */
#define WIRE_LATENCY_BUCKETS 40	/* bucket b counts durations in [2^b, 2^(b+1)) ns; the last is open */

enum wire_kind {
#define EVENT(id, name, type) WIRE_##name = id,
#include "events.def"
#undef EVENT
};

/* Where a hook fired: the function in the errno chain. */
enum wire_fn {
	WIRE_FN_NONE = 0,
#define FN(id, name, function) WIRE_FN_##name = id,
#define DRIVER(id, name, module, function) WIRE_FN_DRIVER_##name = id,
#include "functions.def"
#undef FN
#undef DRIVER
	WIRE_FN_MAX
};

/* The entry point that opened the span. */
enum wire_api {
	WIRE_API_NONE = 0,
#define API(id, name, word, entry) WIRE_API_##name = id,
#include "apis.def"
#undef API
	WIRE_API_MAX
};

/* Deepest stage a registration has entered, for those still in flight. */
enum wire_stage {
	WIRE_STAGE_UVERBS = 0,
	WIRE_STAGE_UMEM = 1,
	WIRE_STAGE_PIN = 2,	/* slow path of the long-term pin */
	WIRE_STAGE_PLACEMENT = 3,	/* migrating folios out of the way */
	WIRE_STAGE_PINNED = 4,	/* the umem exists: provider work */
	WIRE_STAGE_MAX
};

/* Which fields of a span or record were really read. */
enum wire_have {
	WIRE_HAVE_COMMAND = 1 << 0,	/* uverbs command: iova, pd handle, access */
	WIRE_HAVE_UMEM = 1 << 1,	/* umem arguments: address, length, access */
	WIRE_HAVE_DEVICE = 1 << 2,	/* device name and index */
	WIRE_HAVE_PINNED_VM = 1 << 3,	/* pinned pages before the charge */
	WIRE_HAVE_GUP = 1 << 4,		/* gup_flags and range of the last slow-path pin */
	WIRE_HAVE_FAULT_VMA = 1 << 5,	/* the VMA lookup at the failing pin gave an answer */
	WIRE_HAVE_VMAS = 1 << 6,	/* VMAs of the range */
	WIRE_HAVE_MIGRATE = 1 << 7,	/* result of migrate_pages */
	WIRE_HAVE_PIN_FAST = 1 << 8,	/* pin_user_pages_fast was hooked (on demand) */
	WIRE_HAVE_MEMLOCK = 1 << 9,	/* limits, capability, pinned pages at the end */
	WIRE_HAVE_CGROUP = 1 << 10,
	WIRE_HAVE_PLACEMENT = 1 << 11,	/* folio: zone, node, migratetype */
	WIRE_HAVE_ADDRESS = 1 << 12,	/* folio: its place in the range */
	WIRE_HAVE_COUNTS = 1 << 13,	/* folio: refcount, mapcount, pincount, expected */
	WIRE_HAVE_AREA = 1 << 14,	/* folio: name of the CMA area */
	WIRE_HAVE_GUP_RESULT = 1 << 15,	/* the last slow-path pin was seen to end */
	WIRE_HAVE_VMAS_ALL = 1 << 16,	/* vmas[] covers the whole range */
	WIRE_HAVE_ARGS = 1 << 17,	/* struct wire_args: what an entry point other than reg_mr was asked */
	WIRE_HAVE_CAPS = 1 << 18,	/* struct wire_caps: what the device says it can */
	WIRE_HAVE_ACCOUNT = 1 << 19,	/* struct wire_account: a charge to the user was seen */
	WIRE_HAVE_SIGNAL = 1 << 20,	/* group_exit_code, oom_victim, killed */
	WIRE_HAVE_OOM = 1 << 21,	/* struct wire_oom: the OOM killer chose this process while it registered */
	WIRE_HAVE_FW = 1 << 22,		/* struct wire_fw: a firmware command failed during it */
	WIRE_HAVE_POLICY = 1 << 23,	/* memory policy of the task */
	WIRE_HAVE_DMABUF = 1 << 24,	/* size and exporter of the dma-buf */
};

struct wire_chain {
	__s64 result;	/* -errno, or the number of folios migrate_pages left behind */
	__u32 fn;	/* enum wire_fn */
	__u32 pad;
};

enum wire_vma_what {
	WIRE_VMA_DAX = 1 << 0,		/* its inode is S_DAX */
	WIRE_VMA_DIRTY_TRACKED = 1 << 1,	/* its filesystem wants to hear of writes (vma_needs_dirty_tracking(), v6.5) */
	WIRE_VMA_CHARDEV = 1 << 2,	/* a mapping of a character device; dev is its number */
};

struct wire_vma {
	__u64 start, end;	/* bytes */
	__u64 pgoff;		/* pages */
	__u64 flags;		/* VM_* */
	__u64 file;		/* f_mapping as an identity within one run; 0 = anonymous. Never printed */
	__u64 fs_magic;		/* s_magic of the file's filesystem; 0 = none */
	__u64 anon_root;	/* root of its anon_vma, likewise; 0 = no anonymous page in it */
	__u64 file_bytes;	/* i_size of its inode */
	__u32 what;		/* enum wire_vma_what */
	__u32 dev;		/* character device: MAJOR << 20 | MINOR; else of the filesystem (s_dev) */
	__u32 block_shift;	/* i_blkbits; of hugetlbfs: the huge page's size, log2 */
	__u32 policy;		/* mode of its own memory policy (MPOL_*) + 1, 0 = none */
	__u64 policy_nodes;	/* its first 64 nodes */
	char fs[WIRE_FS_LEN];	/* name of the filesystem type */
};

/* What an entry point was asked beyond address, length and access. Fields that do not apply are 0. */
struct wire_args {
	__u64 offset;		/* into the dma-buf */
	__u64 object_bytes;	/* size of the dma-buf */
	__s32 fd;		/* dma-buf; -1 = none */
	__u32 index;		/* io_uring: which of the buffers was being registered */
	__u32 count;		/* io_uring: how many there are */
	__u32 chunk_bytes, headroom_bytes;	/* AF_XDP */
	__u32 flags;		/* AF_XDP, VFIO, rereg_mr: as given. madvise: the advice */
	char exporter[WIRE_EXPORTER_LEN];	/* of the dma-buf */
};

/* A charge against RLIMIT_MEMLOCK that the user, not the process, pays: io_uring and AF_XDP. */
struct wire_account {
	__u64 asked_pages;
	__u64 user_locked_pages;	/* user_struct.locked_vm before the charge */
};

/* struct ib_device_attr, include/rdma/ib_verbs.h. */
struct wire_caps {
	__u64 kernel_caps;	/* kernel_cap_flags; IBK_* */
	__u64 odp_caps;		/* odp_caps.general_caps; IB_ODP_* */
	__u64 max_mr_size;	/* bytes */
	__u64 page_size_cap;
	__u64 max_mr;
	__u64 fw_ver;
	__u32 has_dmabuf;	/* ops.reg_user_mr_dmabuf is there */
	__u32 cc_dma_bounce;	/* confidential guest that bounces DMA for this device; 0 = no, or not known */
};

/* The OOM killer's choice, mm/oom_kill.c oom_kill_process(). */
struct wire_oom {
	__u64 time_ns;
	__u32 constraint;	/* enum oom_constraint: 0 none, 1 cpuset, 2 memory policy, 3 memory cgroup */
	__u32 order;
	__u32 gfp;
	__u32 by_tid;		/* the thread that asked for memory */
};

/* mlx5:mlx5_cmd of drivers/net/ethernet/mellanox/mlx5/core/diag/cmd_tracepoint.h: the first command that failed. */
struct wire_fw {
	__u32 opcode, op_mod;
	__u32 status, syndrome;
	__s32 err;		/* -errno the driver made of it */
	__u32 commands;		/* that failed during the registration */
};

#define WIRE_STACK_MAX 16
#define WIRE_BUILD_ID_LEN 20
#define WIRE_LIBRARY_LEN 32

/* One return address of the user stack. */
struct wire_frame {
	__u64 offset;		/* into the file when build_id is known, else the address */
	__u32 known;		/* build_id was read */
	__u8 build_id[WIRE_BUILD_ID_LEN];
	char library[WIRE_LIBRARY_LEN];	/* base name of the mapped file */
};

/*
 * One registration in flight on one thread. Lives in the map "spans"; a thread
 * finds its own by its tid without hashing. Written by the owning thread's
 * hooks only, except `reported_id` and `abandoned_id`, which the daemon writes: with an id, so that
 * what it says of one span is never taken for the next in the same slot.
 */
struct wire_span {
	__u32 tid;		/* 0 = free, as is an abandoned one; claimed by compare-and-swap */
	__u32 tgid;
	__u64 id;		/* never 0 or reused while the maps live */
	__u64 seq;		/* generations of this slot */
	__u64 start_ns;		/* CLOCK_MONOTONIC */
	__u64 last_ns;		/* last time a slow-path hook saw progress */
	__u64 reported_id;	/* id of the span the daemon has reported as stuck */
	__u64 abandoned_id;	/* id of the span whose end, as the daemon found, was missed */
	__u64 user_sp, user_pc;	/* of the thread when it entered the kernel, and the first arguments of its system */
	__u64 user_args[3];	/* call: how that is known again. Never leave the maps */
	__u64 attrs;		/* kernel pointer to what the entry point was given; never leaves the maps */
	__u64 device;		/* kernel pointer to struct ib_device; never leaves the maps */
	__u64 address, length;	/* bytes, as given to the umem function */
	__u64 pinned_before_pages;	/* mm->pinned_vm at umem entry */
	__u64 gup_start;	/* address of the slow remainder, not of the range */
	__u64 gup_pages;
	__s64 gup_result;	/* of the last completed slow-path pin */
	__u64 pin_fast_pages;	/* sum of what pin_user_pages_fast returned while hooked */
	__s64 migrate_moved, migrate_failed;	/* base pages, last attempt */
	__u32 gup_flags;
	__u32 pin_fast_flags;	/* as given by the caller; FOLL_PIN is set further down */
	__u32 access;		/* IB_ACCESS_* */
	__u32 device_index;
	__u32 have;		/* enum wire_have */
	__u16 api;		/* enum wire_api */
	__u16 stage;		/* enum wire_stage */
	__u32 migrate_mode;	/* enum migrate_mode of the running kernel */
	__u32 migrate_reason;	/* enum migrate_reason of the running kernel */
	__u32 passes;		/* migration attempts of the current long-term section */
	__u32 no_target;	/* alloc_migration_target failures of the current section */
	__u32 gup_calls;	/* slow-path pins entered */
	__u16 in_longterm;	/* inside __gup_longterm_locked with FOLL_LONGTERM */
	__u16 migrate_left;	/* migrate_pages() for this pin has just left pages behind */
	__u32 folios_seen;	/* folios that would not move, current section; likewise: */
	__u32 folios_sent;
	__u32 folios_dropped;	/* ring full */
	__u32 fault_vma_state;	/* enum wire_fault_vma */
	__u32 nvmas;
	__u32 nchain;
	__u32 collects;		/* times the pinned folios were looked through for unpinnable ones, this section */
	__u32 cgroup_resource;	/* enum rdmacg_resource_type that was refused */
	struct wire_args args;
	struct wire_account account;
	struct wire_fw fw;
	struct wire_vma fault_vma;	/* VMA covering gup_start when the pin failed */
	struct wire_vma vmas[WIRE_VMAS_MAX];
	struct wire_chain chain[WIRE_CHAIN_MAX];
};

/* What a VMA lookup at the first page of the failing pin found. */
enum wire_fault_vma {
	WIRE_FAULT_VMA_UNKNOWN = 0,	/* not looked up, or the mmap lock was busy */
	WIRE_FAULT_VMA_HOLE = 1,	/* no VMA covers the address */
	WIRE_FAULT_VMA_COVERED = 2,	/* fault_vma describes the one that does */
	WIRE_FAULT_VMA_HOLE_LATER = 3,	/* none covered it at the registration's end; unknown before */
};

struct wire_hdr {
	__u16 kind;	/* enum wire_kind */
	__u16 version;	/* WIRE_VERSION */
	__u32 size;	/* whole record in bytes */
	__u64 time_ns;	/* CLOCK_MONOTONIC */
	__u64 span_id;
};

/* The whole span at its end, and what only the failing task's context can tell. */
struct wire_reg_end {
	struct wire_hdr hdr;
	__u64 start_ns;
	__u64 task_start_ns;	/* start_boottime: identifies the process after pid reuse */
	__u64 address, length, iova;	/* bytes */
	__u64 pinned_before_pages, pinned_after_pages;	/* mm->pinned_vm at umem entry; at the end */
	__u64 locked_vm_pages;
	__u64 memlock_soft_bytes, memlock_hard_bytes;	/* ~0 = unlimited */
	__u64 cgroup_id;
	__u64 gup_start, gup_pages;
	__s64 gup_result;
	__u64 pin_fast_pages;
	__s64 migrate_moved, migrate_failed;
	__s64 result;		/* -errno, or 0 for a stuck registration that ended well */
	__u32 tgid, tid, ns_tgid, uid;
	__u32 have;
	__u32 access;
	__u32 device_index;
	__u32 pd_handle;
	__u32 gup_flags, pin_fast_flags;
	__u32 migrate_mode, migrate_reason;
	__u32 passes, no_target, gup_calls;
	__u32 folios_seen, folios_sent, folios_dropped;
	__u32 fault_vma_state;
	__u32 nvmas, nchain;
	__u32 collects;
	__u32 cgroup_resource;
	__u32 map_count;	/* mm->map_count */
	__u32 group_exit_code;	/* signal the process is dying of, 0 = none */
	__u32 policy;		/* mode of the task's memory policy (MPOL_*) + 1, 0 = none */
	__u32 nframes;
	__u16 api, stage;
	__u8 ipc_lock;		/* CAP_IPC_LOCK effective in the initial user namespace */
	__u8 was_reported;	/* the daemon had reported this span as stuck */
	__u8 init_user_ns;	/* the task's credentials are of the initial user namespace */
	__u8 ipc_lock_effective;	/* CAP_IPC_LOCK effective in the task's own user namespace */
	__u8 ipc_lock_permitted;	/* CAP_IPC_LOCK permitted there */
	__u8 oom_victim;	/* marked by the OOM killer (signal->oom_mm) */
	__u8 killed;		/* a fatal signal is pending for the thread */
	__u8 pad[1];
	__u64 policy_nodes;	/* its first 64 nodes */
	__u64 user_locked_pages;	/* user_struct.locked_vm at the end */
	struct wire_args args;
	struct wire_account account;
	struct wire_caps caps;
	struct wire_oom oom;
	struct wire_fw fw;
	struct wire_frame frames[WIRE_STACK_MAX];	/* of the user stack, innermost first */
	struct wire_vma fault_vma;
	struct wire_vma vmas[WIRE_VMAS_MAX];
	struct wire_chain chain[WIRE_CHAIN_MAX];
	char comm[WIRE_COMM_LEN];
	char device[WIRE_DEVICE_LEN];
	char driver[WIRE_MODULE_LEN];	/* module that owns the device's operations */
	char cgroup[WIRE_CGROUP_LEN];
};

enum wire_folio_flags {
	WIRE_FOLIO_ANON = 1 << 0,
	WIRE_FOLIO_KSM = 1 << 1,
	WIRE_FOLIO_SWAPCACHE = 1 << 2,
	WIRE_FOLIO_SHMEM = 1 << 3,	/* page cache that is swap-backed */
	WIRE_FOLIO_FILE = 1 << 4,	/* page cache of a file */
	WIRE_FOLIO_HUGETLB = 1 << 5,
	WIRE_FOLIO_LARGE = 1 << 6,
	WIRE_FOLIO_PRIVATE = 1 << 7,
	WIRE_FOLIO_WRITEBACK = 1 << 8,
	WIRE_FOLIO_LOCKED = 1 << 9,
	WIRE_FOLIO_MLOCKED = 1 << 10,
	WIRE_FOLIO_CMA = 1 << 11,	/* pageblock is MIGRATE_CMA, isolated or not */
	WIRE_FOLIO_ISOLATE = 1 << 12,	/* pageblock is isolated */
	WIRE_FOLIO_MOVABLE_ZONE = 1 << 13,
	WIRE_FOLIO_UNMOVABLE_OPS = 1 << 14,	/* not LRU memory: movable_operations page */
};

/*
 * A folio found on the list handed to putback_movable_pages inside this
 * thread's long-term section: migration was tried and the folio stayed. The pins
 * of the registration itself are already dropped and the isolation reference is
 * still held (mm/gup.c, migrate_longterm_unpinnable_folios; v6.1 ff.).
 */
struct wire_folio {
	struct wire_hdr hdr;
	__u64 pfn;		/* of the head page */
	__u64 address;		/* first byte of the registered range that the folio backs */
	__u64 index_pages;	/* the same as a page index into the range */
	__s64 refcount, mapcount, pincount;	/* pincount -1: small folio, not counted apart */
	__s64 expected;		/* references that mappings, page cache and isolation explain */
	__u32 order;
	__u32 zone, node;
	__u32 migratetype;	/* of the running kernel */
	__u32 flags;		/* enum wire_folio_flags */
	__u32 have;		/* enum wire_have */
	__u32 ordinal;		/* 0-based position among the folios that stayed */
	__u32 gup_call;		/* slow-path pin it stayed in; only the registration's last one decided */
	char area[WIRE_AREA_LEN];
};

/* What took the pages of a live region away from its range. */
enum wire_damage_by {
	WIRE_DAMAGE_NONE = 0,
	WIRE_DAMAGE_MUNMAP = 1,	/* munmap(), or brk() giving heap back */
	WIRE_DAMAGE_MADVISE = 2,
	WIRE_DAMAGE_MREMAP = 3,	/* moved away, cut off, or overwritten by what moved there */
	WIRE_DAMAGE_MMAP = 4,	/* mapped over with MAP_FIXED */
	WIRE_DAMAGE_MAX
};

struct wire_damage {
	__u64 start, end;	/* bytes: the pages of the region that the call covered */
	__u64 call_start, call_end;	/* bytes: what the call was given, by whole pages */
	__u64 enter_ns;		/* when the call began */
	__u32 owner_tgid;	/* who made the region; the caller, but for process_madvise() and vfork() */
	__u32 advice;		/* of madvise */
	__u16 by;		/* enum wire_damage_by */
	__u8 sure;		/* the call takes pages away from such a mapping */
	__u8 pad[5];
};

/*
 * A region that lives on while its memory was replaced. `end` tells of the thread that did it, now,
 * and of the region: api, device, address, length, access; its start_ns is when the region was made.
 */
struct wire_stale {
	struct wire_reg_end end;	/* its header is the record's */
	struct wire_damage damage;
};

/* A hint to look at the slots again; what is loaded is read from sysfs. */
struct wire_module {
	struct wire_hdr hdr;
	char name[WIRE_MODULE_LEN];
};

/* One per CPU in the map "counters", each on cache lines of its own; sums are exact. */
struct wire_counters {
	__u64 reg_ok[WIRE_API_MAX];
	__u64 reg_failed[WIRE_API_MAX];
	__u64 emitted[WIRE_KIND_MAX];	/* records that reached the ring */
	__u64 dropped[WIRE_KIND_MAX];	/* ring full */
	__u64 spans_overflow;	/* registration not followed: no free slot near its tid */
	__u64 spans_missed_end;	/* a thread began a registration with its last one still open */
	__u64 ends_without_span;	/* an end whose begin was not seen */
	__u64 chain_overflow;
	__u64 pin_flag_disagree;	/* open long-term section without PF_MEMALLOC_PIN */
	__u64 vma_lock_busy;	/* VMA lookup refused */
	__u64 stale_unwatched;	/* live regions whose memory is not watched: no place left, or their range was not seen */
	__u64 latency[WIRE_LATENCY_BUCKETS];
} __attribute__((aligned(64)));

/*
 * Facts about the running kernel, found by the daemon and handed to the programs as
 * read-only data before load. An address of 0 means unknown: what needs it is off.
 */
struct wire_cfg {
	__u64 addr_mem_section;	/* kallsyms addresses of data symbols */
	__u64 addr_cma_areas, addr_cma_area_count;
	__u32 foll_longterm;
	__u32 page_shift;
	__u32 section_shift;	/* PFN_SECTION_SHIFT: pages per section, log2 */
	__u32 sections_per_root;
	__u32 pageblock_order;
	__u32 pageblock_bits;	/* bits of pageblock_flags per block */
	__u32 nodes_shift, zones_shift;	/* widths in page flags */
	__u32 hugetlb_index_huge;	/* folio->index of hugetlb counts huge pages */
	__u32 pad;
};

/* What the calibration program learned once, by reading kernel memory. */
struct wire_calibration {
	__u64 vmemmap;	/* 0 = not found */
};

#define WIRE_ASSERT_SIZE(type, bytes) \
	_Static_assert(sizeof(struct type) == (bytes), #type " changed size: raise WIRE_VERSION")
WIRE_ASSERT_SIZE(wire_hdr, 24);
WIRE_ASSERT_SIZE(wire_chain, 16);
WIRE_ASSERT_SIZE(wire_vma, 104);
WIRE_ASSERT_SIZE(wire_args, 72);
WIRE_ASSERT_SIZE(wire_frame, 64);
WIRE_ASSERT_SIZE(wire_damage, 56);

#endif
