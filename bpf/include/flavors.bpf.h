/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Facts that moved between kernels: one accessor each, with the kernel commit that
 * moved them. CO-RE decides by the shape of the data, never by a version.
 */
#ifndef PINWHY_FLAVORS_BPF_H
#define PINWHY_FLAVORS_BPF_H

#include "probe.bpf.h"

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

/* include/linux/mm_types.h: unsigned long in 6.12, memdesc_flags_t {f} in 7.3. */
typedef struct {
	unsigned long f;
} memdesc_flags_t___new;
struct folio___new {
	memdesc_flags_t___new flags;
};
struct folio___old {
	unsigned long flags;
};

/* include/linux/mm_types.h, 6.1: the order is a byte, and no total of mapcounts is kept. */
struct folio___v61 {
	unsigned char _folio_order;
	unsigned char _folio_dtor;
	atomic_t _total_mapcount; /* the entire-mapcount only, despite its name */
	atomic_t _pincount;
};
/* include/linux/mm_types.h, 6.12 and 7.3: the order is in _flags_1, mapcounts are summed. */
struct folio___large {
	unsigned long _flags_1;
	atomic_t _large_mapcount;
	atomic_t _entire_mapcount;
	atomic_t _pincount;
};
/* include/linux/page-flags.h, 6.12 and 7.3: the type is the top byte; 6.1 has a destructor id. */
struct page___typed {
	unsigned int page_type;
};
enum pagetype___typed {
	PGTY_hugetlb = 0xf4,
};
enum pageflags___double {
	PG_double_map = 8,
};
enum compound_dtor_id___v61 {
	HUGETLB_PAGE_DTOR = 2,
};

/* include/linux/mm_types.h: of a tail page, its head and bit 0 in 6.1 and 6.12, compound_info in 7.3. */
struct page___head {
	unsigned long compound_head;
};
struct page___info {
	unsigned long compound_info;
};

/* include/linux/capability.h: two words in 6.1, one u64 in 6.12 and 7.3. */
struct kernel_cap_struct___old {
	__u32 cap[2];
};
struct cred___old {
	struct kernel_cap_struct___old cap_permitted;
	struct kernel_cap_struct___old cap_effective;
};
typedef struct {
	u64 val;
} kernel_cap_t___new;
struct cred___new {
	kernel_cap_t___new cap_permitted;
	kernel_cap_t___new cap_effective;
};

/* include/linux/oom.h: an enum, which does not match an int. */
enum oom_constraint {
	CONSTRAINT_NONE = 0,
};
struct oom_control___enum {
	enum oom_constraint constraint;
};

/* include/linux/kernfs.h: parent in 6.1 and 6.12, RCU-protected __parent in 7.3. */
struct kernfs_node___old {
	struct kernfs_node *parent;
};
struct kernfs_node___new {
	struct kernfs_node *__parent;
};

/* mm/cma.h: one range in 6.1 and 6.12 (base_pfn, count), up to eight in 7.3. */
struct cma_memrange {
	unsigned long base_pfn;
	unsigned long count;
};
struct cma___ranges {
	char name[64];
	int nranges;
	struct cma_memrange ranges[8];
};
struct cma___flat {
	unsigned long base_pfn;
	unsigned long count;
	char name[64];
};
struct cma {
	char name[64];
};

/* trace/events/migrate.h: an int in 6.1 and 6.12, an enum in 7.3. */
struct trace_event_raw_mm_migrate_pages___int {
	int reason;
};
struct trace_event_raw_mm_migrate_pages___enum {
	enum migrate_reason reason;
};

/* include/linux/mm_types.h, 5.10: mappings in a tree with a list beside it; a maple tree from 6.1 on. */
struct rb_node___tree {
	struct rb_node___tree *rb_right, *rb_left;
};
struct rb_root___tree {
	struct rb_node___tree *rb_node;
};
struct rw_semaphore {
	atomic64_t count;
};
struct mm_struct___tree {
	struct rb_root___tree mm_rb;
	u64 vmacache_seqnum;
	struct rw_semaphore mmap_lock;
};
struct vm_area_struct___tree {
	struct rb_node___tree vm_rb;
};

/* include/linux/mempolicy.h, 5.10: nodes in a union; a field of its own from 5.14 on. */
struct mempolicy___union {
	union {
		short preferred_node;
		nodemask_t nodes;
	} v;
};

/* include/rdma/ib_verbs.h, 5.10: the core's own capabilities among those of the device; apart in 6.1. */
struct ib_device_attr___one {
	u64 device_cap_flags;
};
struct ib_device___one {
	struct ib_device_attr___one attrs;
};

#pragma clang attribute pop

static __always_inline __u64 folio_page_flags(const struct folio *f)
{
	struct folio___new *n = (void *)f;
	struct folio___old *o = (void *)f;

	if (bpf_core_field_exists(n->flags.f))
		return BPF_CORE_READ(n, flags.f);
	return BPF_CORE_READ(o, flags);
}

#define FOLIO_FLAG(flags, name) (!!((flags) & (1ULL << bpf_core_enum_value(enum pageflags, name))))

static __always_inline __u32 folio_order_of(const struct folio *f, __u64 flags)
{
	struct folio___v61 *v61 = (void *)f;
	struct folio___large *large = (void *)f;

	if (!FOLIO_FLAG(flags, PG_head))
		return 0;
	if (bpf_core_field_exists(v61->_folio_order))
		return BPF_CORE_READ(v61, _folio_order);
	return BPF_CORE_READ(large, _flags_1) & 0xff;
}

#define COMPOUND_IS_MASK 0xffffffff00000000ULL /* no page lies that high: a mask for the tail's own address */

/*
 * The folio of a page: page_folio() and, for hugetlb pages whose memory map was thinned out, page_fixed_fake_head()
 * of include/linux/page-flags.h. Not stable unless a reference is held: ask twice.
 */
static __always_inline struct folio *folio_of_page(const struct page *page)
{
	struct page___head *h = (void *)page;
	struct page___info *i = (void *)page;
	__u64 link;

	if (bpf_core_field_exists(i->compound_info)) {
		link = BPF_CORE_READ(i, compound_info);
		if (link >= COMPOUND_IS_MASK && (link & 1))
			return (void *)((__u64)page & link);
		return link & 1 ? (void *)(link - 1) : (void *)page;
	}
	link = BPF_CORE_READ(h, compound_head);
	if (link & 1)
		return (void *)(link - 1);
	/* The first page structure in a page of the memory map may be the head's, shown there once more. */
	if (((__u64)page & ((1ULL << cfg.page_shift) - 1)) || !FOLIO_FLAG(folio_page_flags((void *)page), PG_head))
		return (void *)page;
	h = (void *)page + bpf_core_type_size(struct page);
	link = BPF_CORE_READ(h, compound_head);
	return link & 1 ? (void *)(link - 1) : (void *)page;
}

/* -1 for a small folio, whose pins are mixed into its refcount. */
static __always_inline __s64 folio_pincount_of(const struct folio *f, __u32 order)
{
	struct folio___large *large = (void *)f;

	if (!order)
		return -1;
	return BPF_CORE_READ(large, _pincount.counter);
}

/* Mappings of a large folio as a whole, by one entry of an upper page table. */
static __always_inline __s64 folio_entire_mapcount(const struct folio *f)
{
	struct folio___v61 *v61 = (void *)f;
	struct folio___large *large = (void *)f;

	if (bpf_core_field_exists(large->_entire_mapcount))
		return BPF_CORE_READ(large, _entire_mapcount.counter) + 1;
	return BPF_CORE_READ(v61, _total_mapcount.counter) + 1;
}

static __always_inline bool folio_is_hugetlb(const struct folio *f, __u32 order)
{
	struct folio___v61 *v61 = (void *)f;
	struct page___typed *p = (void *)f;

	if (!order)
		return false;
	if (bpf_core_enum_value_exists(enum pagetype___typed, PGTY_hugetlb))
		return BPF_CORE_READ(p, page_type) >> 24 ==
		       bpf_core_enum_value(enum pagetype___typed, PGTY_hugetlb);
	if (bpf_core_field_exists(v61->_folio_dtor))
		return BPF_CORE_READ(v61, _folio_dtor) ==
		       bpf_core_enum_value(enum compound_dtor_id___v61, HUGETLB_PAGE_DTOR);
	return false;
}

static __always_inline __u32 migrate_event_reason(struct trace_event_raw_mm_migrate_pages *ctx)
{
	struct trace_event_raw_mm_migrate_pages___int *i = (void *)ctx;
	struct trace_event_raw_mm_migrate_pages___enum *e = (void *)ctx;

	/* Not by plain loads: merged into one they would make a pointer into the context. */
	if (bpf_core_field_exists(i->reason))
		return BPF_CORE_READ(i, reason);
	return BPF_CORE_READ(e, reason);
}

static __always_inline bool cred_has_ipc_lock(const struct cred *cred)
{
	struct cred___old *o = (void *)cred;
	struct cred___new *n = (void *)cred;
	__u64 caps;

	if (bpf_core_field_exists(n->cap_effective.val))
		caps = BPF_CORE_READ(n, cap_effective.val);
	else
		caps = BPF_CORE_READ(o, cap_effective.cap[0]);
	return caps & (1ULL << CAP_IPC_LOCK);
}

static __always_inline bool cred_permits_ipc_lock(const struct cred *cred)
{
	struct cred___old *o = (void *)cred;
	struct cred___new *n = (void *)cred;
	__u64 caps;

	if (bpf_core_field_exists(n->cap_permitted.val))
		caps = BPF_CORE_READ(n, cap_permitted.val);
	else
		caps = BPF_CORE_READ(o, cap_permitted.cap[0]);
	return caps & (1ULL << CAP_IPC_LOCK);
}

/* The first 64 nodes. */
static __always_inline __u64 policy_nodes(const struct mempolicy *policy)
{
	struct mempolicy___union *u = (void *)policy;
	short node;

	if (bpf_core_field_exists(policy->nodes))
		return BPF_CORE_READ(policy, nodes.bits[0]);
	if (BPF_CORE_READ(policy, mode) != MPOL_PREFERRED)
		return BPF_CORE_READ(u, v.nodes.bits[0]);
	node = BPF_CORE_READ(u, v.preferred_node);
	return node >= 0 && node < 64 ? 1ULL << (node & 63) : 0;
}

static __always_inline __u32 oom_constraint_of(const struct oom_control *oc)
{
	struct oom_control___enum *e = (void *)oc;

	return BPF_CORE_READ(e, constraint);
}

static __always_inline struct kernfs_node *kernfs_parent(struct kernfs_node *kn)
{
	struct kernfs_node___old *o = (void *)kn;
	struct kernfs_node___new *n = (void *)kn;

	if (bpf_core_field_exists(o->parent))
		return BPF_CORE_READ(o, parent);
	return BPF_CORE_READ(n, __parent);
}

#endif
