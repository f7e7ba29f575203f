/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * VMAs of the current task, looked up in the kernel at the moment of failure: the
 * process may be gone, or its map changed, before user space could read
 * /proc/PID/maps.
 */
#ifndef PINWHY_VMA_BPF_H
#define PINWHY_VMA_BPF_H

#include "probe.bpf.h"

/* mm/vma.c, vma_needs_dirty_tracking(): does its filesystem want to hear of the first write to a page? */
static __always_inline bool vma_dirty_tracked(struct vm_area_struct *vma, struct inode *inode)
{
	if ((vma->vm_flags & (VM_WRITE | VM_SHARED)) != (VM_WRITE | VM_SHARED))
		return false;
	if (BPF_CORE_READ(vma, vm_ops, page_mkwrite) || BPF_CORE_READ(vma, vm_ops, pfn_mkwrite))
		return true;
	return BPF_CORE_READ(inode, i_sb, s_bdi, capabilities) & BDI_CAP_WRITEBACK;
}

static __always_inline void vma_copy_file(struct wire_vma *out, struct vm_area_struct *vma, struct file *file)
{
	struct inode *inode = BPF_CORE_READ(file, f_inode);
	bool chardev = (BPF_CORE_READ(inode, i_mode) & S_IFMT) == S_IFCHR;

	out->file = (__u64)BPF_CORE_READ(file, f_mapping);
	out->fs_magic = BPF_CORE_READ(inode, i_sb, s_magic);
	/* Of a block device the inode on devtmpfs has no size; its mapping belongs to the one that has. */
	out->file_bytes = BPF_CORE_READ(file, f_mapping, host, i_size);
	out->block_shift = BPF_CORE_READ(inode, i_blkbits);
	out->dev = chardev ? BPF_CORE_READ(inode, i_rdev) : BPF_CORE_READ(inode, i_sb, s_dev);
	out->what = (chardev ? WIRE_VMA_CHARDEV : 0) |
		    (BPF_CORE_READ(inode, i_flags) & S_DAX ? WIRE_VMA_DAX : 0) |
		    (vma_dirty_tracked(vma, inode) ? WIRE_VMA_DIRTY_TRACKED : 0);
	bpf_probe_read_kernel_str(out->fs, sizeof(out->fs), BPF_CORE_READ(inode, i_sb, s_type, name));
}

static long vma_copy(struct task_struct *task, struct vm_area_struct *vma, void *ctx)
{
	struct wire_vma *out = ctx;
	struct anon_vma *anon = vma->anon_vma;
	struct mempolicy *policy = vma->vm_policy;
	struct file *file = vma->vm_file;

	out->start = vma->vm_start;
	out->end = vma->vm_end;
	out->pgoff = vma->vm_pgoff;
	out->flags = vma->vm_flags;
	if (anon)
		out->anon_root = (__u64)BPF_CORE_READ(anon, root);
	if (policy) {
		out->policy = BPF_CORE_READ(policy, mode) + 1;
		out->policy_nodes = BPF_CORE_READ(policy, nodes.bits[0]);
	}
	if (file)
		vma_copy_file(out, vma, file);
	return 0;
}

/*
 * The VMA that covers `address`. 0, -ENOENT when none does, -EBUSY when the mmap
 * lock could not be had at once (counted).
 */
static __always_inline long vma_lookup(__u64 address, struct wire_vma *ret_vma)
{
	long err;

	__builtin_memset(ret_vma, 0, sizeof(*ret_vma));
	err = bpf_find_vma(bpf_get_current_task_btf(), address, vma_copy, ret_vma, 0);
	if (err == -EBUSY)
		COUNT(vma_lock_busy);
	return err;
}

/* The first VMAs of the registered range, up to the first hole; are they all? */
static __always_inline void span_vmas(struct wire_span *s)
{
	__u64 cursor = s->address, end = s->address + s->length;
	__u32 n = 0;

	s->have &= ~(WIRE_HAVE_VMAS | WIRE_HAVE_VMAS_ALL | WIRE_HAVE_VMAS_CUT);
	for (int i = 0; i < WIRE_VMAS_MAX; i++) {
		struct wire_vma vma;
		long err;

		err = vma_lookup(cursor, &vma);
		if (err) {
			if (err == -ENOENT)
				s->have |= WIRE_HAVE_VMAS;
			else
				s->have |= WIRE_HAVE_VMAS_CUT;
			break;
		}
		s->have |= WIRE_HAVE_VMAS;
		s->vmas[i] = vma;
		n = i + 1;
		cursor = vma.end;
		if (cursor >= end) {
			s->have |= WIRE_HAVE_VMAS_ALL;
			break;
		}
	}
	s->nvmas = n;
}

#endif
