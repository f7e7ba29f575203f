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
#define WIRE_CALLER_LEN 48	/* "function [module]", truncated */
#define WIRE_CHAIN_MAX 8	/* failing functions kept per registration */
#define WIRE_VMAS_MAX 8		/* VMAs of the range kept to place folios in it */
#define WIRE_FOLIOS_MAX 64	/* folios described per registration */
#define WIRE_HOLDERS_MAX 16	/* first pins looked at per registration */
#define WIRE_RIVALS_MAX 4	/* registrations in flight that are told of beside them; power of two */
#define WIRE_SPANS 1024		/* registrations in flight that can be followed; power of two */
#define WIRE_LATENCY_BUCKETS 40	/* bucket b counts durations in [2^b, 2^(b+1)) ns; the last is open */

enum wire_kind {
#define EVENT(id, name, type) WIRE_##name = id,
#include "events.def"
#undef EVENT
};

/* Objects in which registrations end. */
enum wire_ends { WIRE_ENDS_REGISTRATION, WIRE_ENDS_SUBSYSTEMS, WIRE_ENDS_MAX };

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
	WIRE_HAVE_PEER = 1 << 25,	/* struct wire_peer: a peer memory client was asked */
	WIRE_HAVE_EXPORT = 1 << 26,	/* struct wire_export: the process got no dma-buf of GPU memory before */
	WIRE_HAVE_VMAS_CUT = 1 << 27,	/* the mmap lock was busy: vmas[] may end before the first hole */
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

/* What a peer memory client says when it is asked whether memory is its own. */
enum wire_peer_answer {
	WIRE_PEER_ANSWER_UNSEEN = 0,
	WIRE_PEER_NOT_MINE = 1,
	WIRE_PEER_MINE = 2,
	WIRE_PEER_ANSWER_MAX
};

/*
 * GPU memory registered by its address: what a peer memory client asked of NVIDIA's driver meanwhile. Apart from
 * the chain, which begins anew with each long-term pin: one may come before, and one behind.
 */
struct wire_peer {
	__u64 address, length;	/* bytes: of the last call, as the client rounded them; 0 = its begin was not seen */
	__s32 err;		/* -errno of the last call, 0 = it gave the pages */
	__u32 fn;		/* enum wire_fn: which of its functions that was; NONE = none was called */
	__u32 calls, failed;
	__u32 answer;		/* enum wire_peer_answer: the last one */
	__u32 pad;
	char caller[WIRE_CALLER_LEN];	/* of the last call; "" = not known */
};

/* The latest export of GPU memory as a dma-buf that a process asked NVIDIA's driver for, and did not get. */
struct wire_export {
	__u64 time_ns;		/* CLOCK_MONOTONIC */
	__u64 task_start_ns;	/* start_boottime of the process */
	__u32 status;		/* NV_STATUS; never 0 */
	__u32 failed;		/* in a row, by now */
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
	__u32 tid;		/* 0 = free, as is an abandoned one; see claim() in basic.bpf.h */
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
	/* New fields come last: a capture may hold spans of before. */
	__u32 npins;		/* first pins that may hold folios of the range */
	__u32 pins_told;	/* bit i: the stack of the i-th was sent */
	__u64 pins[WIRE_HOLDERS_MAX];	/* their keys in the ledger, kernel pointers; never leave the maps */
	__u32 nrivals;		/* other registrations that were pinning the same addresses */
	__u32 rivals[WIRE_RIVALS_MAX];	/* their slots */
	__u32 wanted;		/* threads that are about to claim the slot, where claiming is no single operation */
	struct wire_peer peer;
	__u64 modpin;		/* id of a module's pin that may hold the folio which is looked at, 0 = none so far */
	__u64 modpin_told;	/* that of the last one that was told of, */
	__u32 modpins_told;	/* and how many were */
	__u32 modpin_at;	/* place of the first */
	__u32 modpins_near;	/* the process has one in the range */
	__u32 modpin_pages;	/* of the folio that is looked at, from its address on */
	__s64 result;		/* of the registration, for the program that tells of its end */
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
	/* New fields come last: a capture may hold records of before. */
	struct wire_peer peer;
	struct wire_export export;
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
	WIRE_FOLIO_AREA_UNTOLD = 1 << 15,	/* where the kernel lists its CMA areas is not known: the name is missing for that */
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

#define WIRE_KSTACK_MAX 12
#define WIRE_SYMBOL_LEN 48	/* "function [module]", truncated */

/* Through what a first pin was taken. */
enum wire_pin_via {
	WIRE_PIN_VIA_NONE = 0,
	WIRE_PIN_VIA_NVIDIA = 1,	/* os_lock_user_pages() of nvidia.ko */
	WIRE_PIN_VIA_REGISTRATION = 2,	/* none of the ledger: another registration's long-term pin, in progress */
	WIRE_PIN_VIA_PIN_FAST = 3,	/* pin_user_pages_fast() of an armed process: armed.bpf.c */
	WIRE_PIN_VIA_PIN = 4,		/* pin_user_pages() of one */
	WIRE_PIN_VIA_MODULE = 5,	/* none of the ledger: code of a module that called GUP, in whatever process: modpins.bpf.h */
	WIRE_PIN_VIA_GET_FAST = 6,	/* plain references, by get_user_pages_fast() of an armed process: refs.bpf.h */
	WIRE_PIN_VIA_MAX
};

/* Why a pin that was seen being taken may not be what holds the page: it is a candidate, and no more. */
enum wire_doubt {
	WIRE_DOUBT_NONE = 0,
	WIRE_DOUBT_MIXED = 1,	/* others, or other code, pinned the page beside it: whose pins are left is not known */
	WIRE_DOUBT_COUNT = 2,	/* the page's pins are not as many as were seen being taken and not given back */
	WIRE_DOUBT_MISSED = 3,	/* a release may have been missed: the kernel skipped runs of its hook */
	WIRE_DOUBT_UNWATCHED = 4,	/* releases of such pins are not watched, and the page may be another one by now */
	WIRE_DOUBT_MAX
};

/* A pin that somebody took without a registration, and that is still held: an entry of the ledger. */
struct wire_pin {
	__u64 id;		/* never 0 or reused while the maps live */
	__u64 since_ns;		/* CLOCK_MONOTONIC */
	__u64 task_start_ns;	/* start_boottime of the process that took it */
	__u64 address, pages;	/* where it was in that process then */
	__u32 tgid, tid;
	__u32 gup_flags;	/* as pin_user_pages() was given them; it adds FOLL_PIN itself. Via MODULE: with what it added */
	__u32 calls;		/* of pin_user_pages(), 0 = none was seen: the flags are not known */
	__u32 via;		/* enum wire_pin_via */
	char comm[WIRE_COMM_LEN];
	__u32 doubt;		/* enum wire_doubt */
};

/*
 * A pin of the ledger that covers a folio which would not move, sent right behind the folio: the array of pages
 * that its taker keeps until it lets go has a page of this folio. Or another registration of the process that is
 * in a long-term pin of the folio's address; whether it holds the folio at that moment is not seen. Or a pin that a module
 * took of that address, or a plain reference of the folio; whether it was given back is not seen.
 */
struct wire_holder {
	struct wire_hdr hdr;
	__u64 pfn;		/* of the folio's head page */
	__u64 page;		/* of the pin: the first one in the folio */
	__u32 gup_call;		/* as in the folio's record */
	__u32 nstack;		/* 0 also when an earlier record of this registration tells it of the same pin */
	struct wire_pin pin;
	char stack[WIRE_KSTACK_MAX][WIRE_SYMBOL_LEN];	/* of the thread when it pinned, innermost first */
};

/* Pages of a first pin that lie where long-term pins would have to move them from. */
struct wire_stranded {
	__u64 pages;		/* of all kinds; a page may be of several */
	__u64 cma, movable_zone, isolated;
	__u64 looked;		/* pages looked at */
	__u32 lower_bound;	/* not every page was looked at */
	__u32 pad;
};

/* A pin without FOLL_LONGTERM that has just left pages in such places. */
struct wire_hazard {
	struct wire_reg_end end;	/* its header is the record's; the task that pins, and the range */
	struct wire_holder holder;	/* its header is not used */
	struct wire_stranded stranded;
	struct wire_folio page;		/* the first of these pages: its place; likewise */
};

/* A contiguous allocation from a CMA area, which tries one range after the other until one can be emptied. */
struct wire_contig {
	__u64 pages;		/* asked for */
	__u64 start_ns;		/* CLOCK_MONOTONIC */
	__u64 range_pfn;	/* first frame of the first range that a pin of the ledger has a page in */
	__u32 busy;		/* ranges that could not be emptied */
	__u32 pinned;		/* of these: a pin of the ledger has a page there */
	__u32 unsearched;	/* of these: the ledger was not gone through to its end */
	__u32 failed;		/* no range was left */
	__s32 result;		/* -errno; 0 also where the kernel does not tell it */
	__u32 held;		/* the pin was still in the ledger at the end */
};

/* Ranges that an allocation could not have for a pin without FOLL_LONGTERM. */
struct wire_cma_blocked {
	struct wire_reg_end end;	/* its header is the record's; the task that allocates */
	struct wire_holder holder;	/* the first pin that was found; its header is not used */
	struct wire_contig contig;
	struct wire_folio page;		/* the first page of it in such a range; likewise */
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
	__u64 pins_taken, pins_released;	/* entries of the ledger; the difference is what it holds */
	__u64 pins_unkept;	/* not entered: no place left, or not seen from its begin */
	__u64 pins_unseen;	/* released, and never entered */
	__u64 stranded[WIRE_PIN_VIA_MAX], freed[WIRE_PIN_VIA_MAX];	/* pages; the difference is what is stranded now */
	__u64 latency[WIRE_LATENCY_BUCKETS];
	__u64 cma_busy, cma_pinned;	/* ranges that contiguous allocations could not have; for a pin of the ledger */
	__u64 cma_failures;	/* contiguous allocations that failed */
	__u64 armed_processes;	/* that were armed */
	__u64 armed_refused;	/* that were not: too many were */
	__u64 armed_unkept;	/* pages pinned by armed processes that were not entered: no place left, or a pin of too many */
	__u64 armed_evicted;	/* pins of armed processes that gave their place to later ones */
	__u64 modpins_taken;	/* pins without FOLL_LONGTERM by modules, on the slow path */
	__u64 modpins_evicted;	/* of these: gave their place to later ones, or found none */
	__u64 armed_refs;	/* folios that armed processes were seen taking plain references of, once for each call */
	__u64 armed_refs_evicted;	/* of these: gave their place to later ones, or found none */
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
	__u32 trace;		/* enum wire_trace: only traced processes are followed, step by step */
	char trace_comm[WIRE_COMM_LEN];	/* WIRE_TRACE_COMM: those of this name */
	__u64 addr_last_section;	/* the highest number of a section that is there: mem_section[] ends somewhere behind it */
	__u64 arm_ns;		/* how long a process is armed after its first failure, 0 = it is not */
	__u64 text_start, text_end;	/* of the kernel without its modules, 0 = not known */
	__u32 foll_pin;
	__u32 pad;
	__u64 section_roots;	/* what mem_section points to, where its own address is not known; else 0 */
	__u64 last_section;	/* likewise: the highest number that a section can have */
};

enum wire_trace {
	WIRE_TRACE_ON = 1 << 0,
	WIRE_TRACE_CHILDREN = 1 << 1,	/* what a traced process forks is traced too */
	WIRE_TRACE_COMM = 1 << 2,	/* a process is traced while it has this name */
};

/*
 * How many traced processes have a tgid that ends so: what all other processes are sent back by.
 * The map "traced" has the tgids themselves.
 */
#define WIRE_TRACED_MAX 4096
#define WIRE_TRACED_HINTS 4096	/* power of two */
struct wire_traced {
	__u32 hints[WIRE_TRACED_HINTS];
};

/*
 * Armed watching: whose pins are looked at, and whether what was seen of them counts. A process has one of WIRE_ARMED_PROBES
 * places from its tgid on, and keeps it when its time is over, so that it is armed once.
 */
#define WIRE_ARMED_MAX 64	/* power of two */
#define WIRE_ARMED_PROBES 8
struct wire_armed_process {
	__u64 task_start_ns;	/* start_boottime: the number may be another's by now */
	__u64 until_ns;		/* CLOCK_MONOTONIC */
	__u32 tgid;		/* 0 = free */
	__u32 pad;
};
struct wire_armed {
	__u32 open;		/* every release is hooked: pins are entered */
	__u32 epoch;		/* entries of another one are not there */
	__u64 folios;		/* entries, or a few more: while it is 0 a release looks for none */
	__u64 calls;		/* that pinned some: their ids */
	struct wire_armed_process processes[WIRE_ARMED_MAX];
	__u64 refs;		/* calls that took plain references: their ids */
	__u64 refs_forgotten;	/* those up to this one are not remembered any more */
};

/* What the calibration program learned once, by reading kernel memory, and what else all programs want to know of it. */
struct wire_calibration {
	__u64 vmemmap;	/* 0 = not found */
	__u64 module_gone_ns;	/* when a module went last: slot module_free writes it */
};

/* Where fields of the loaded RDMA core's structs lie: see layout.def. */
enum wire_field {
#define LAYOUT(id, ...) WIRE_FIELD_##id,
#include "layout.def"
#undef LAYOUT
	WIRE_FIELD_MAX
};

struct wire_layout {
	__u32 at[32];	/* bits from the struct's begin, plus 1; 0 = not known, so not read */
};

#define WIRE_ASSERT_SIZE(type, bytes) \
	_Static_assert(sizeof(struct type) == (bytes), #type " changed size: raise WIRE_VERSION")
WIRE_ASSERT_SIZE(wire_hdr, 24);
WIRE_ASSERT_SIZE(wire_chain, 16);
WIRE_ASSERT_SIZE(wire_vma, 104);
WIRE_ASSERT_SIZE(wire_args, 72);
WIRE_ASSERT_SIZE(wire_frame, 64);
WIRE_ASSERT_SIZE(wire_damage, 56);
WIRE_ASSERT_SIZE(wire_peer, 88);
WIRE_ASSERT_SIZE(wire_export, 24);
WIRE_ASSERT_SIZE(wire_pin, 80);
WIRE_ASSERT_SIZE(wire_stranded, 48);
WIRE_ASSERT_SIZE(wire_contig, 48);

#endif
