// SPDX-License-Identifier: BSD-2-Clause
#include "vmacheck.h"

#include <errno.h>
#include <stddef.h>
#include <stdint.h>

#define SECRETMEM_MAGIC 0x5345434d	/* include/uapi/linux/magic.h */

static bool stops_at_device(const struct vmacheck *c)
{
	return c->v->flags & (VM_IO | VM_PFNMAP);
}

static bool stops_at_fsdax(const struct vmacheck *c)
{
	/* Device DAX is a character device, and may be pinned: vma_is_fsdax(), include/linux/fs.h. */
	return c->longterm && (c->v->what & WIRE_VMA_DAX) && !(c->v->what & WIRE_VMA_CHARDEV);
}

static bool stops_at_secret(const struct vmacheck *c)
{
	return c->v->fs_magic == SECRETMEM_MAGIC;
}

static bool stops_at_file(const struct vmacheck *c)
{
	const uint64_t both = VM_SHARED | VM_WRITE;

	return c->file_pins_checked && c->write && c->pin && c->longterm && (c->v->flags & both) == both &&
	       (c->v->what & WIRE_VMA_DIRTY_TRACKED);
}

static bool stops_at_write(const struct vmacheck *c)
{
	if (!c->write || c->v->flags & VM_WRITE)
		return false;
	/* Forced, a private mapping gets a copy of its own; huge pages cannot be forced. */
	return !c->force || c->v->flags & VM_HUGETLB || (c->v->flags & (VM_SHARED | VM_MAYWRITE)) != VM_MAYWRITE;
}

static bool stops_at_read(const struct vmacheck *c)
{
	return !c->write && !(c->v->flags & VM_READ) && !(c->force && c->v->flags & VM_MAYREAD);
}

/* By refusal, which is the kernel's order. */
static const struct {
	bool (*stops)(const struct vmacheck *c);
	int errno_number;
} checks[REFUSALS] = {
	[REFUSAL_DEVICE] = { stops_at_device, EFAULT },	  [REFUSAL_FSDAX] = { stops_at_fsdax, EOPNOTSUPP },
	[REFUSAL_SECRET] = { stops_at_secret, EFAULT },	  [REFUSAL_FILE] = { stops_at_file, EFAULT },
	[REFUSAL_WRITE] = { stops_at_write, EFAULT },	  [REFUSAL_READ] = { stops_at_read, EFAULT },
};

enum refusal vmacheck(const struct vmacheck *c)
{
	enum refusal r;

	for (r = REFUSAL_DEVICE; r < REFUSAL_NONE; r++)
		if (checks[r].stops(c))
			break;
	return r;
}

int vmacheck_errno(enum refusal r)
{
	return checks[r].errno_number;
}
