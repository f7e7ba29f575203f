/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The mapping behind the address at which a pin failed, and the kernel's own check of it: what the
 * causes of EFAULT and EOPNOTSUPP have in common, and what excludes them from each other.
 */
#ifndef PINWHY_CAUSES_REFUSAL_H
#define PINWHY_CAUSES_REFUSAL_H

#include "diagnose.h"

/* VM_* bits that have kept their place in every kernel (include/linux/mm.h). */
#define VM_READ 0x1
#define VM_WRITE 0x2
#define VM_EXEC 0x4
#define VM_SHARED 0x8
#define VM_MAYREAD 0x10
#define VM_MAYWRITE 0x20
#define VM_UFFD_MISSING 0x200
#define VM_PFNMAP 0x400
#define VM_UFFD_WP 0x1000
#define VM_IO 0x4000
#define VM_HUGETLB 0x400000

/* What the check stops at, in its order (mm/gup.c, check_vma_flags()): the first one decides. */
enum refusal {
	REFUSAL_UNKNOWN = 0,	/* no mapping is known there, or not how it was to be pinned */
	REFUSAL_DEVICE,
	REFUSAL_FSDAX,
	REFUSAL_SECRET,
	REFUSAL_FILE,		/* writes that the filesystem would not hear of */
	REFUSAL_WRITE,
	REFUSAL_READ,
	REFUSAL_NONE,		/* it passes: the page fault behind it failed */
};

/* Where the last slow-path pin failed: its first page, or of one that stopped early the first that it did not pin. */
uint64_t failing_address(const struct incident *in, const struct identity *id);
/* The mapping at the address where the pin failed, read when it did; NULL = not known, or none. */
const struct wire_vma *failing_vma(const struct incident *in, const struct identity *id);
/* No mapping covered that address when the pin failed, and nothing seen contradicts that. */
bool failing_hole(const struct incident *in, const struct identity *id);
/*
 * Has the last slow-path pin of the range failed with `err`, at an address of the range? Of one that stopped early
 * the errno is lost; what its mapping is decides all the same, so it counts as EFAULT, which is what mappings give.
 */
bool failing_pin(const struct incident *in, const struct identity *id, int err);
/* What was seen to fail in a page fault of the pin, which takes a mapping that passed every check. NULL: nothing. */
const struct wire_chain *failing_fault(const struct incident *in);
/*
 * Its protection key, 0 = none, or not asked. Whether a key refuses cannot be seen: the check asks it last,
 * after all that enum refusal lists. A fault that was seen has come past it.
 */
uint32_t failing_key(const struct incident *in, const struct identity *id);

enum refusal refusal_of(const struct incident *in, const struct identity *id);
/* Rules out what takes the check to stop at `mine` when it stops elsewhere. False: it does not. */
bool refusal_rules_out(const struct incident *in, const struct identity *id, enum refusal mine, struct finding *f);

/* Proven, unless the call ended with another errno than its pin: then likely, and said so. */
enum finding_kind failing_kind(const struct incident *in, const struct identity *id, int err, struct finding *f);
/* The line on the pin: its function, errno, flags and first bad address. */
void tell_failing_pin(const struct incident *in, const struct identity *id, struct finding *f);

#define VMA_TEXT 112
/* "0x1000-0x2000 rw-s ext4" */
const char *vma_text(char buf[VMA_TEXT], const struct wire_vma *v);

#endif
