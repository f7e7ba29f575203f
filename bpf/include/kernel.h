/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Hand-minimised kernel types: only fields that a program reads, by their real
 * names, relocated by CO-RE. Each says where it is declared. What moved between
 * kernels has its flavour and its accessor in flavors.bpf.h.
 */
#ifndef PINWHY_KERNEL_H
#define PINWHY_KERNEL_H

/* Tells bpf_tracing.h that registers go by the kernel's names (di, si), not user space's. */
#define __VMLINUX_H__

typedef signed char __s8;
typedef unsigned char __u8;
typedef short __s16;
typedef unsigned short __u16;
typedef int __s32;
typedef unsigned int __u32;
typedef long long __s64;
typedef unsigned long long __u64;
typedef __u8 u8;
typedef __u16 u16;
typedef __u32 u32;
typedef __u64 u64;
typedef __s32 s32;
typedef __s64 s64;
typedef _Bool bool;
typedef __u16 __be16;
typedef __u32 __be32;
typedef __u32 __wsum;

#define NULL ((void *)0)
#define true 1
#define false 0

#define ENOENT 2
#define EFAULT 14
#define EBUSY 16
#define ENOMEM 12
#define ENOSPC 28

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

/* --- processes: include/linux/sched.h, cred.h, sched/signal.h, mm_types.h --- */

struct list_head {
	struct list_head *next, *prev;
};

typedef struct {
	int counter;
} atomic_t;

typedef struct {
	s64 counter;
} atomic64_t;

typedef struct {
	u32 val;
} kuid_t;

struct user_namespace {
	int level;
};

struct user_struct {
	atomic64_t locked_vm; /* atomic_long_t: pages of io_uring and AF_XDP, for all processes of the user */
};

struct cred {
	kuid_t uid;
	struct user_struct *user;
	struct user_namespace *user_ns;
};

typedef struct {
	unsigned long sig[1];
} sigset_t;

struct sigpending {
	sigset_t signal;
};

typedef struct {
	unsigned long bits[1];
} nodemask_t;

/* include/linux/mempolicy.h */
struct mempolicy {
	unsigned short mode;
	nodemask_t nodes;
};

struct rlimit {
	unsigned long rlim_cur;
	unsigned long rlim_max;
};

struct signal_struct {
	atomic_t live; /* threads that have not begun to exit */
	int group_exit_code;
	struct mm_struct *oom_mm; /* set by mark_oom_victim(), mm/oom_kill.c */
	struct rlimit rlim[16];
};

struct upid {
	int nr;
};

struct pid {
	unsigned int level;
	struct upid numbers[1];
};

struct mm_struct {
	int map_count;
	unsigned long locked_vm;
	atomic64_t pinned_vm;
};

struct kernfs_node {
	const char *name;
};

struct cgroup {
	struct kernfs_node *kn;
};

struct css_set {
	struct cgroup *dfl_cgrp;
};

struct task_struct {
	unsigned int flags;
	int pid;
	int tgid;
	struct mm_struct *mm;
	struct task_struct *group_leader;
	struct signal_struct *signal;
	const struct cred *cred;
	struct sigpending pending;
	struct mempolicy *mempolicy;
	struct pid *thread_pid;
	u64 start_boottime;
	u64 self_exec_id;
	struct css_set *cgroups;
};

struct address_space {
	struct inode *host;
};

struct file_system_type {
	const char *name;
};

struct backing_dev_info {
	unsigned int capabilities;
};

struct super_block {
	u32 s_dev;
	unsigned long s_magic;
	struct file_system_type *s_type;
	struct backing_dev_info *s_bdi;
};

struct inode {
	unsigned short i_mode;
	unsigned int i_flags;
	u32 i_rdev;
	u8 i_blkbits;
	long long i_size;
	struct super_block *i_sb;
};

struct qstr {
	const unsigned char *name;
};

struct dentry {
	struct qstr d_name;
};

struct path {
	struct dentry *dentry;
};

struct file {
	struct path f_path;
	struct address_space *f_mapping;
	struct inode *f_inode;
};

struct vm_operations_struct {
	void *page_mkwrite;
	void *pfn_mkwrite;
};

struct anon_vma {
	struct anon_vma *root;
};

struct vm_area_struct {
	unsigned long vm_start;
	unsigned long vm_end;
	unsigned long vm_pgoff;
	struct anon_vma *anon_vma;
	const struct vm_operations_struct *vm_ops;
	struct mempolicy *vm_policy;
	struct file *vm_file;
	unsigned long vm_flags;
};

/* --- folios: include/linux/mm_types.h, mmzone.h, page-flags.h --- */

struct page {
	struct list_head lru;
	atomic_t _mapcount;
};

struct folio {
	struct list_head lru;
	struct address_space *mapping;
	unsigned long index;
	atomic_t _mapcount;
	atomic_t _refcount;
};

/* mm/page-flags.h; the bits move between versions, so only by name. */
enum pageflags {
	PG_locked = 0,
	PG_writeback = 1,
	PG_private = 2,
	PG_head = 3,
	PG_swapcache = 4,
	PG_swapbacked = 5,
	PG_mlocked = 6,
	PG_lru = 7,
	PG_reserved = 8,
	PG_anon_exclusive = 9,	/* since v5.18: this page of an anonymous folio is nobody else's */
};

enum zone_type {
	ZONE_MOVABLE = 3,
	ZONE_DEVICE = 4,	/* memory of devices, with CONFIG_ZONE_DEVICE only */
};

enum migratetype {
	MIGRATE_CMA = 4,
	MIGRATE_ISOLATE = 5,
};

/* include/linux/pageblock-flags.h: a bit of its own in 7.3, where isolation no longer
 * overwrites the type underneath; not in 6.12. */
enum pageblock_bits {
	PB_migrate_isolate = 4,
};

struct mem_section_usage {
	unsigned long subsection_map[1];
	unsigned long pageblock_flags[0];
};

struct mem_section {
	unsigned long section_mem_map;
	struct mem_section_usage *usage;
};

/* kernel/bpf/task_iter.c */
struct seq_file;
struct bpf_iter_meta {
	struct seq_file *seq;
};
struct bpf_iter__task_vma {
	struct bpf_iter_meta *meta;
	struct vm_area_struct *vma; /* NULL: that was the last */
};

/* include/linux/migrate_mode.h */
enum migrate_reason {
	MR_LONGTERM_PIN = 7,
};

enum migrate_mode {
	MIGRATE_SYNC = 2,
};

/* trace/events/migrate.h: read by field name, since arguments shift between versions. */
struct trace_event_raw_mm_migrate_pages {
	unsigned long succeeded;
	unsigned long failed;
	enum migrate_mode mode;
};

/* trace/events/cma.h: only for whether it tells the errno (6.12 and later). */
struct trace_event_raw_cma_alloc_finish {
	int errorno;
};

/* include/linux/oom.h */
struct oom_control {
	struct task_struct *chosen;
	unsigned int gfp_mask;
	int order;
};

/* include/linux/io_uring_types.h; NULL when its maker had CAP_IPC_LOCK */
struct io_ring_ctx {
	struct user_struct *user;
};

/* include/linux/dma-buf.h */
struct dma_buf {
	u64 size;
	const char *exp_name;
};

/* --- modules; the structs of the RDMA core are in layout.def --- */

struct module {
	char name[56];
};

#ifdef __TARGET_ARCH_arm64
struct user_pt_regs {	/* arch/arm64/include/uapi/asm/ptrace.h: what a program's context is; struct pt_regs begins with it */
	u64 regs[31], sp, pc;
};
#else
struct pt_regs {
	unsigned long di, si, dx, cx, r8, r9, r10, ax, sp, ip;
};
#endif
/* Those of a thread in user space. A name of its own: the compiler would share the offsets that libbpf fills in
 * with accesses to a program's context, which must be constants. */
struct pt_regs___user {
#ifdef __TARGET_ARCH_arm64
	u64 regs[31], sp, pc, orig_x0;
#else
	unsigned long di, si, dx, sp, ip;
#endif
};

#pragma clang attribute pop

/* include/uapi/rdma/ib_user_verbs.h: stable ABI, so no relocation. */
struct ib_uverbs_reg_mr {
	u64 response;
	u64 start;
	u64 length;
	u64 hca_va;
	u32 pd_handle;
	u32 access_flags;
};

/* The same header: IB_USER_VERBS_CMD_REREG_MR. */
struct ib_uverbs_rereg_mr {
	u64 response;
	u32 mr_handle;
	u32 flags;
	u64 start;
	u64 length;
	u64 hca_va;
	u32 pd_handle;
	u32 access_flags;
};

/* include/uapi/linux/uio.h */
struct iovec {
	u64 iov_base;
	u64 iov_len;
};

/* include/uapi/linux/if_xdp.h; later fields are of no interest here. */
struct xdp_umem_reg_v1 {
	u64 addr;
	u64 len;
	u32 chunk_size;
	u32 headroom;
	u32 flags;
	u32 pad;
};

/* include/uapi/linux/vfio.h */
struct vfio_iommu_type1_dma_map {
	u32 argsz;
	u32 flags;
	u64 vaddr;
	u64 iova;
	u64 size;
};
#define VFIO_IOMMU_MAP_DMA 0x3b71	/* _IO(';', 100 + 13) */

/* include/uapi/linux/bpf.h */
struct stack_build_id {
	s32 status;
	u8 build_id[20];
	u64 offset; /* into the file, or the address when the id could not be read */
};
#define STACK_BUILD_ID_VALID 1
#define BPF_F_USER_STACK (1ULL << 8)
#define BPF_F_USER_BUILD_ID (1ULL << 11)

#define MPOL_PREFERRED 1		/* include/uapi/linux/mempolicy.h */
#define MADV_DONTNEED 4
#define MADV_REMOVE 9
#define MADV_DONTFORK 10		/* include/uapi/asm-generic/mman-common.h */
#define MADV_DOFORK 11
#define MADV_DONTNEED_LOCKED 24
#define MADV_GUARD_INSTALL 102
#define MREMAP_DONTUNMAP 4
#define MAP_FIXED 0x10			/* include/uapi/linux/mman.h and what it includes; x86_64 and arm64 */
#define MAP_FIXED_NOREPLACE 0x100000
#define SIGKILL_BIT 0x100		/* of a signal set: 1 << (SIGKILL - 1) */
#define S_DAX (1 << 13)			/* include/linux/fs.h */
#define S_IFMT 00170000
#define S_IFCHR 0020000
#define BDI_CAP_WRITEBACK 1		/* include/linux/backing-dev.h */
#define RWSEM_WRITER_LOCKED 1		/* kernel/locking/rwsem.c */
#define VM_WRITE 0x2
#define VM_SHARED 0x8
#define VM_FAULT_SIGBUS 0x2		/* include/linux/mm_types.h */
#define RDMACG_RESOURCE_HCA_OBJECT 1	/* include/linux/cgroup_rdma.h */
#define PF_MEMALLOC_PIN 0x10000000	/* include/linux/sched.h */
#define RLIMIT_MEMLOCK 8		/* include/uapi/asm-generic/resource.h */
#define CAP_IPC_LOCK 14			/* include/uapi/linux/capability.h */
#define VM_HUGETLB 0x00400000
#define PAGE_MAPPING_ANON 0x1		/* include/linux/page-flags.h; FOLIO_MAPPING_ANON in 7.3 */
#define PAGE_MAPPING_FLAGS 0x3
#define SECTION_HAS_MEM_MAP 0x2		/* include/linux/mmzone.h: SECTION_HAS_MEM_MAP_BIT 1 */
#define SECTION_IS_ONLINE 0x4		/* likewise, SECTION_IS_ONLINE_BIT 2 */
#define SECTION_IS_EARLY 0x8		/* likewise, SECTION_IS_EARLY_BIT 3 */
#define SUBSECTION_SHIFT 21		/* likewise: bytes, log2 */
#define TMPFS_MAGIC 0x01021994		/* include/uapi/linux/magic.h */
#define HUGETLBFS_MAGIC 0x958458f6

#endif
