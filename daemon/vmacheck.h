/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The kernel's check of a mapping before it is pinned (check_vma_flags(), mm/gup.c), done again on what was read of
 * the mapping. Pure: who failed there is told by causes/refusal.c, who would fail there by pages.c.
 */
#ifndef PINWHY_VMACHECK_H
#define PINWHY_VMACHECK_H

#include <stdbool.h>

#include "wire.h"

/* VM_* bits that have kept their place in every kernel (include/linux/mm.h). */
#define VM_READ 0x1ULL
#define VM_WRITE 0x2ULL
#define VM_EXEC 0x4ULL
#define VM_SHARED 0x8ULL
#define VM_MAYREAD 0x10ULL
#define VM_MAYWRITE 0x20ULL
#define VM_UFFD_MISSING 0x200ULL
#define VM_PFNMAP 0x400ULL
#define VM_UFFD_WP 0x1000ULL
#define VM_IO 0x4000ULL
#define VM_HUGETLB 0x400000ULL

/* What the check stops at, in its order: the first one decides. */
enum refusal {
	REFUSAL_UNKNOWN = 0,	/* no mapping is known there, or not how it was to be pinned */
	REFUSAL_DEVICE,
	REFUSAL_FSDAX,
	REFUSAL_SECRET,
	REFUSAL_FILE,		/* writes that the filesystem would not hear of */
	REFUSAL_WRITE,
	REFUSAL_READ,
	REFUSAL_NONE,		/* it passes: what comes next is the page itself */
	REFUSALS
};

/* How the mapping is to be pinned. */
struct vmacheck {
	const struct wire_vma *v;
	bool write, force, longterm, pin;
	bool file_pins_checked;		/* this kernel refuses long-term pins of files whose writes are tracked */
};

/* Protection keys and shadow stacks are not asked: whether these refuse cannot be seen. */
enum refusal vmacheck(const struct vmacheck *c);
/* What the pin then fails with, as a positive number; 0: it does not, or that is not known. */
int vmacheck_errno(enum refusal r);

#endif
