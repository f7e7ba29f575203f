/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * /dev/pinhold: what a test asks the kernel to do, and to tell, about the caller's own pages; and the
 * one lock of another process that whoever looks at it may have to wait for.
 *
 * A hold is a set of page references that stays until it is given back:
 * by PINHOLD_UNPIN, or when the file descriptor that took it is closed; with PINHOLD_KEEP the
 * hold outlives the descriptor and its process, and goes at PINHOLD_UNPIN or when the module is
 * unloaded. Ids are global, so that another process can give a kept hold back.
 * Pages held here are not charged to RLIMIT_MEMLOCK: the device is root's alone.
 */
#ifndef PINHOLD_H
#define PINHOLD_H

#include <linux/ioctl.h>
#include <linux/types.h>

#define PINHOLD_DEVICE "/dev/pinhold"

#define PINHOLD_MAX_HOLDS 256		/* ENOSPC beyond */
#define PINHOLD_MAX_PAGES 262144	/* per hold; E2BIG beyond */
#define PINHOLD_MAX_LOCK_MS 60000	/* half of what the kernel calls a hung task; EINVAL beyond */

/* flags of struct pinhold_pin */
#define PINHOLD_WRITE	 (1u << 0)	/* FOLL_WRITE; the pages are dirtied when given back */
#define PINHOLD_LONGTERM (1u << 1)	/* FOLL_LONGTERM; not with PINHOLD_GET */
#define PINHOLD_GET	 (1u << 2)	/* plain references (get_user_pages) instead of pins */
#define PINHOLD_KEEP	 (1u << 3)	/* outlive the descriptor */
#define PINHOLD_SLOW	 (1u << 4)	/* by pin_user_pages() instead of pin_user_pages_fast(); not with PINHOLD_GET */
#define PINHOLD_BY_SHIFT 5		/* the function that pins are given back by: one of the below */
#define PINHOLD_BY_MASK	 (7u << PINHOLD_BY_SHIFT)
#define PINHOLD_ALL_FLAGS (PINHOLD_WRITE | PINHOLD_LONGTERM | PINHOLD_GET | PINHOLD_KEEP | PINHOLD_SLOW | PINHOLD_BY_MASK)

enum {
	PINHOLD_BY_DIRTY_LOCK,	/* unpin_user_pages_dirty_lock() */
	PINHOLD_BY_PAGES,	/* unpin_user_pages() */
	PINHOLD_BY_PAGE,	/* unpin_user_page() */
	PINHOLD_BY_RANGE,	/* unpin_user_page_range_dirty_lock() */
	PINHOLD_BY_CLEAN,	/* unpin_user_pages_dirty_lock() of pages that stay clean */
	PINHOLD_BY_USER_FOLIO,	/* unpin_user_folio(); like the two below only on kernels that have it, else EOPNOTSUPP */
	PINHOLD_BY_FOLIO,	/* unpin_folio() */
	PINHOLD_BY_FOLIOS,	/* unpin_folios() */
};

/* flags of struct pinhold_resolve */
#define PINHOLD_PAGE_ANON	  (1u << 0)
#define PINHOLD_PAGE_LARGE	  (1u << 1)
#define PINHOLD_PAGE_HUGETLB	  (1u << 2)
#define PINHOLD_PAGE_MAYBE_PINNED (1u << 3)	/* folio_maybe_dma_pinned() */
#define PINHOLD_PAGE_KSM	  (1u << 4)
#define PINHOLD_PAGE_SWAPBACKED	  (1u << 5)
#define PINHOLD_PAGE_MAPPING	  (1u << 6)	/* of a file or of shmem */

#define PINHOLD_PINCOUNT_UNAVAILABLE 0xffffffffffffffffull
#define PINHOLD_EXPECTED_UNAVAILABLE (-1)	/* this kernel has no such function, or not for modules */

/*
 * Where the caller's page at addr lies and who counts on it, as the kernel's own functions say.
 * The page is faulted in if it is not there: an untouched anonymous page is the zero page.
 * Counts are those of the folio, without the reference this call itself takes; per-CPU batches
 * of the kernel may hold one more for a while after the page was first touched.
 * ENOSYS: a kernel function was not found; nothing is ever computed in its place.
 */
struct pinhold_resolve {
	__u64 addr;		/* in */
	__u64 pfn;
	__u64 pincount;		/* the kernel keeps one for large folios only */
	__u32 node;
	__u32 zone;		/* number in the node, enum zone_type */
	__u32 migratetype;	/* of the pageblock, enum migratetype */
	__u32 refcount;
	__u32 mapcount;
	__u32 order;
	__u32 flags;
	__u32 is_cma;		/* the pageblock is MIGRATE_CMA */
	__u32 is_movable_zone;	/* the zone is ZONE_MOVABLE */
	__u32 pad;
	char zone_name[16];
	char migratetype_name[24];	/* as enum migratetype of the kernel's headers has it */
	__u64 head_pfn;		/* of compound_head() */
	__s64 expected;		/* folio_expected_ref_count() */
};

/* Takes all pages that [addr, addr + len) touches, or none. */
struct pinhold_pin {
	__u64 addr;	/* in */
	__u64 len;	/* in */
	__u32 flags;	/* in */
	__u32 id;	/* out, never 0 */
};

/* PINHOLD_STATE fills what is behind the id; PINHOLD_UNPIN reads the id alone. ENOENT: no such hold. */
struct pinhold_state {
	__u32 id;	/* in */
	__u32 flags;
	__u64 pages;
};

/*
 * Keeps the mmap lock of another process's memory, for writing, as long as this call lasts: until `ms` are
 * over, or a signal comes (EINTR). The lock goes with its caller, since a descriptor is not closed under a call.
 * `held` is written once the lock is held: a thread or process that shares it can see that.
 */
struct pinhold_lock {
	__u32 pid;	/* in, as the caller's pid namespace numbers it; ESRCH: it has no memory */
	__u32 ms;	/* in, 1 to PINHOLD_MAX_LOCK_MS */
	__u32 held;	/* out */
	__u32 pad;
};

/*
 * Marks the pageblock of the caller's page at addr as MIGRATE_ISOLATE, as those who empty a range of memory do
 * first (memory hot-remove, contiguous allocations), or takes the mark off a block again. EBUSY: the block has pages that
 * cannot be moved. EOPNOTSUPP: this kernel lets long-term pins stay in such blocks.
 */
struct pinhold_isolate {
	__u64 addr;	/* in, for setting the mark */
	__u64 pfn;	/* out, first of the block; in, for taking it off */
	__u32 off;	/* in */
	__u32 pad;
};

/* Pageblock types by what they are called: their numbers are each kernel's own. */
enum {
	PINHOLD_TYPE_UNMOVABLE,
	PINHOLD_TYPE_MOVABLE,
	PINHOLD_TYPE_RECLAIMABLE,
	PINHOLD_TYPE_HIGHATOMIC,
	PINHOLD_TYPE_CMA,
	PINHOLD_TYPE_ISOLATE,
	PINHOLD_TYPE_ISOLATE_CMA,	/* CMA that is being isolated, where the kernel keeps both */
	PINHOLD_TYPE_MAX
};

enum { PINHOLD_ZONE_DMA, PINHOLD_ZONE_DMA32, PINHOLD_ZONE_NORMAL, PINHOLD_ZONE_MOVABLE, PINHOLD_ZONE_MAX };

/*
 * Takes one whole pageblock of a zone, and marks it with a type, both as long as the descriptor is open; mmap() of the
 * descriptor at offset id * page size maps its pages, as a driver would map what it has allocated. With `whole` they
 * are one folio, else small ones. ENOMEM: no such block is free; ENXIO: there is no such zone or node; EOPNOTSUPP:
 * this kernel has no such type.
 */
struct pinhold_block {
	__u32 zone;	/* in */
	__u32 node;	/* in */
	__u32 type;	/* in */
	__u32 whole;	/* in */
	__u32 id;	/* out */
	__u32 pages;	/* out */
	__u64 pfn;	/* out */
};

#define PINHOLD_RESOLVE _IOWR('P', 1, struct pinhold_resolve)
#define PINHOLD_PIN	_IOWR('P', 2, struct pinhold_pin)
#define PINHOLD_UNPIN	_IOW('P', 3, struct pinhold_state)
#define PINHOLD_STATE	_IOWR('P', 4, struct pinhold_state)
#define PINHOLD_LOCK	_IOWR('P', 5, struct pinhold_lock)
#define PINHOLD_ISOLATE _IOWR('P', 6, struct pinhold_isolate)
#define PINHOLD_BLOCK	_IOWR('P', 7, struct pinhold_block)

_Static_assert(sizeof(struct pinhold_resolve) == 120, "struct pinhold_resolve has a hole");
_Static_assert(sizeof(struct pinhold_pin) == 24, "struct pinhold_pin has a hole");
_Static_assert(sizeof(struct pinhold_state) == 16, "struct pinhold_state has a hole");
_Static_assert(sizeof(struct pinhold_lock) == 16, "struct pinhold_lock has a hole");
_Static_assert(sizeof(struct pinhold_isolate) == 24, "struct pinhold_isolate has a hole");
_Static_assert(sizeof(struct pinhold_block) == 32, "struct pinhold_block has a hole");

#endif
