/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * VMAs of the current task, looked up in the kernel at the moment of failure: the
 * process may be gone, or its map changed, before user space could read
 * /proc/PID/maps.
 */
#ifndef PINWHY_VMA_BPF_H
#define PINWHY_VMA_BPF_H

#include "flavors.bpf.h"

/* mm/vma.c, vma_needs_dirty_tracking(): does its filesystem want to hear of the first write to a page? */
static __always_inline bool vma_dirty_tracked(struct vm_area_struct *vma, struct inode *inode)
{
	if ((FIELD(vma, vm_flags) & (VM_WRITE | VM_SHARED)) != (VM_WRITE | VM_SHARED))
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

CALLED_BACK long vma_copy(struct task_struct *task, struct vm_area_struct *vma, void *ctx)
{
	struct wire_vma *out = ctx;
	struct anon_vma *anon = FIELD(vma, anon_vma);
	struct mempolicy *policy = FIELD(vma, vm_policy);
	struct file *file = FIELD(vma, vm_file);

	out->start = FIELD(vma, vm_start);
	out->end = FIELD(vma, vm_end);
	out->pgoff = FIELD(vma, vm_pgoff);
	out->flags = FIELD(vma, vm_flags);
	if (anon)
		out->anon_root = (__u64)BPF_CORE_READ(anon, root);
	if (policy) {
		out->policy = BPF_CORE_READ(policy, mode) + 1;
		out->policy_nodes = policy_nodes(policy);
	}
	if (file)
		vma_copy_file(out, vma, file);
	return 0;
}

#ifdef PINWHY_BASIC
/*
 * Without bpf_find_vma() (5.17): down the tree, which was one until 6.1 (mm/mmap.c, find_vma()), by reads that may fail and no
 * lock. Within a slow-path pin its caller has the lock; elsewhere nothing found counts when a writer had it meanwhile.
 */
#define TREE_DEPTH 40	/* of a tree of 65530 mappings: at most twice log2 */

struct tree_state {
	__u64 unmapped;	/* counts what was taken out; what was put in, */
	int mappings;	/* mm->map_count tells */
	bool written;
};

static __always_inline struct tree_state tree_state(struct mm_struct___tree *mm)
{
	return (struct tree_state){
		.unmapped = BPF_CORE_READ(mm, vmacache_seqnum), .mappings = BPF_CORE_READ((struct mm_struct *)mm, map_count),
		.written = BPF_CORE_READ(mm, mmap_lock.count.counter) & RWSEM_WRITER_LOCKED,
	};
}

/* The mapping that covers `address`, or -ENOENT, -EBUSY as of vma_lookup(), -EFAULT when this kernel has no such tree. */
static __always_inline __u64 vma_find(__u64 address)
{
	struct mm_struct___tree *mm = (void *)BPF_CORE_READ(current_task(), mm);
	struct vm_area_struct *found = NULL;
	struct tree_state before, after;
	struct rb_node___tree *node;

	if (!mm || !bpf_core_field_exists(mm->mm_rb) || !bpf_core_field_exists(mm->vmacache_seqnum))
		return -EFAULT;
	before = tree_state(mm);
	node = BPF_CORE_READ(mm, mm_rb.rb_node);
	for (int i = 0; i < TREE_DEPTH && node && !found; i++) {
		struct vm_area_struct *vma = (void *)node - bpf_core_field_offset(struct vm_area_struct___tree, vm_rb);

		if (address >= BPF_CORE_READ(vma, vm_end))
			node = BPF_CORE_READ(node, rb_right);
		else if (address < BPF_CORE_READ(vma, vm_start))
			node = BPF_CORE_READ(node, rb_left);
		else
			found = vma;
	}
	after = tree_state(mm);
	if (before.written || after.written || before.unmapped != after.unmapped || before.mappings != after.mappings)
		return -EBUSY;
	if (!found && node)
		return -EFAULT; /* deeper than a tree can be */
	return found ? (__u64)found : -ENOENT;
}

static __always_inline long vma_visit(__u64 address, struct wire_vma *ret_vma)
{
	__u64 vma = vma_find(address);

	return error_of_pointer(vma) ?: vma_copy(NULL, (void *)vma, ret_vma);
}
#else
static __always_inline long vma_visit(__u64 address, struct wire_vma *ret_vma)
{
	return bpf_find_vma(current_task(), address, vma_copy, ret_vma, 0);
}
#endif

/*
 * The VMA that covers `address`. 0, -ENOENT when none does, -EBUSY when the mmap
 * lock could not be had at once (counted).
 */
static __always_inline long vma_lookup(__u64 address, struct wire_vma *ret_vma)
{
	long err;

#ifdef PINWHY_BASIC
	/* Fails, and leaves zeroes that the verifier knows nothing of: of those it knows it would follow every mixture. */
	bpf_probe_read_kernel(ret_vma, sizeof(*ret_vma), NULL);
#else
	__builtin_memset(ret_vma, 0, sizeof(*ret_vma));
#endif
	err = vma_visit(address, ret_vma);
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
	EACH_APART
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
