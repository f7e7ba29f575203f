// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Stands in for NVIDIA's nvidia.ko, as far as its pins of host memory go. Names, signatures and calling contexts of
 * os_lock_user_pages() and os_unlock_user_pages() are those of kernel-open/nvidia/os-mlock.c (525 to 595), and the
 * pins are real. Releases before 570.86.15 unlock with two arguments: tests/kmod/nvidia_565 is this file built so.
 *
 * Its dma-bufs are one page of host memory, exported and mapped by functions of the same names (nv-dmabuf.c), which can fail as the
 * driver's do. Why they fail there, in RM and BAR1, is nothing it can show.
 *
 * Its GPU memory is a mapping of /dev/nvidiactl without access, with nothing behind it: other modules get a table of its pages
 * (nv-p2p.c) that has no addresses in it, or the errno that the driver makes of the status which RM is told to give.
 * It cannot show what libcuda asks for and when, what RM does between a lock and its unlock, nor how often
 * any of it happens. FOLL_LONGTERM, which the release and the architecture decide, is a parameter here.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/dma-buf.h>
#include <linux/dma-mapping.h>
#include <linux/fs.h>
#include <linux/kthread.h>
#include <linux/miscdevice.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <linux/version.h>

#include "nv-p2p.h"
#include "nvidia_standin.h"

static bool longterm;
module_param(longterm, bool, 0644);
MODULE_PARM_DESC(longterm, "pin with FOLL_LONGTERM, as from 535.171.04 and 550.67 on x86");

static ulong pages_per_pin;
module_param(pages_per_pin, ulong, 0644);
MODULE_PARM_DESC(pages_per_pin, "pages of one pin_user_pages() call, 0 = all");

static bool deferred;
module_param(deferred, bool, 0644);
MODULE_PARM_DESC(deferred, "unlock from the thread nv_queue, as on a close that may not sleep");

typedef u32 NV_STATUS;
#define NV_OK 0
#define NV_ERR_INSUFFICIENT_RESOURCES 0x1a
#define NV_ERR_INVALID_ADDRESS 0x1e
#define NV_ERR_INVALID_ARGUMENT 0x1f
#define NV_ERR_INVALID_STATE 0x40
#define NV_ERR_NO_MEMORY 0x51
#define NV_ERR_NOT_SUPPORTED 0x56
#define NV_ERR_OBJECT_NOT_FOUND 0x57
#define NV_ERR_OPERATING_SYSTEM 0x59
#define NV_ERR_STATE_IN_USE 0x63
#define NV_LOCK_USER_PAGES_FLAGS_WRITE 1

/* --- os-mlock.c ---------------------------------------------------------------------- */

NV_STATUS os_lock_user_pages(void *address, u64 page_count, void **page_array, u32 flags);
#ifdef UNLOCK_TWO_ARGUMENTS
NV_STATUS os_unlock_user_pages(u64 page_count, void *page_array);
#define UNLOCK(n, pages, flags) os_unlock_user_pages(n, pages)
#else
NV_STATUS os_unlock_user_pages(u64 page_count, void *page_array, u32 flags);
#define UNLOCK(n, pages, flags) os_unlock_user_pages(n, pages, flags)
#endif

static long pin(unsigned long start, unsigned long n, unsigned int gup_flags, struct page **pages)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 5, 0)
	return pin_user_pages(start, n, gup_flags, pages);
#else
	return pin_user_pages(start, n, gup_flags, pages, NULL);
#endif
}

noinline NV_STATUS os_lock_user_pages(void *address, u64 page_count, void **page_array, u32 flags)
{
	unsigned int gup_flags = (flags & NV_LOCK_USER_PAGES_FLAGS_WRITE ? FOLL_WRITE : 0) | (longterm ? FOLL_LONGTERM : 0);
	struct page **pages = kvmalloc_array(page_count, sizeof(*pages), GFP_KERNEL);
	u64 done = 0;

	if (!pages)
		return NV_ERR_NO_MEMORY;
	mmap_read_lock(current->mm);
	while (done < page_count) {
		u64 n = min_t(u64, page_count - done, pages_per_pin ?: page_count);
		long pinned = pin((unsigned long)address + done * PAGE_SIZE, n, gup_flags, pages + done);

		if (pinned > 0)
			done += pinned;
		if (pinned != (long)n)
			break;
	}
	mmap_read_unlock(current->mm);
	if (done < page_count) {
		unpin_user_pages(pages, done);
		kvfree(pages);
		return NV_ERR_INVALID_ADDRESS;
	}
	*page_array = pages;
	return NV_OK;
}

static void unlock(u64 page_count, struct page **pages, bool dirty)
{
	u64 i;

	for (i = 0; i < page_count; i++) {
		if (dirty)
			set_page_dirty_lock(pages[i]);
		unpin_user_page(pages[i]);
	}
	kvfree(pages);
}

#ifdef UNLOCK_TWO_ARGUMENTS
noinline NV_STATUS os_unlock_user_pages(u64 page_count, void *page_array)
{
	unlock(page_count, page_array, true);
	return NV_OK;
}
#else
noinline NV_STATUS os_unlock_user_pages(u64 page_count, void *page_array, u32 flags)
{
	unlock(page_count, page_array, flags & NV_LOCK_USER_PAGES_FLAGS_WRITE);
	return NV_OK;
}
#endif

/* --- nv-dmabuf.c --------------------------------------------------------------------- */

static bool dmabuf_map_fails;
module_param(dmabuf_map_fails, bool, 0644);
MODULE_PARM_DESC(dmabuf_map_fails, "map no dma-buf, as when BAR1 is full");

static bool dmabuf_attach_fails;
module_param(dmabuf_attach_fails, bool, 0644);
MODULE_PARM_DESC(dmabuf_attach_fails, "let no device attach, as when it cannot reach the GPU; from 580.65.06 on");

/* Hooked by name, whatever the compiler might make of it. */
static noinline __attribute__((__noipa__)) struct sg_table *nv_dma_buf_map(struct dma_buf_attachment *attachment, enum dma_data_direction direction)
{
	struct page *page = attachment->dmabuf->priv;
	struct sg_table *sgt = dmabuf_map_fails ? NULL : kzalloc(sizeof(*sgt), GFP_KERNEL);

	if (!sgt)
		return NULL;
	if (sg_alloc_table_from_pages(sgt, &page, 1, 0, PAGE_SIZE, GFP_KERNEL))
		goto free;
	if (dma_map_sgtable(attachment->dev, sgt, direction, 0))
		goto free_table;
	return sgt;
free_table:
	sg_free_table(sgt);
free:
	kfree(sgt);
	return NULL;
}

static void nv_dma_buf_unmap(struct dma_buf_attachment *attachment, struct sg_table *sgt, enum dma_data_direction direction)
{
	dma_unmap_sgtable(attachment->dev, sgt, direction, 0);
	sg_free_table(sgt);
	kfree(sgt);
}

static void nv_dma_buf_release(struct dma_buf *buf)
{
	__free_page(buf->priv);
}

#ifndef UNLOCK_TWO_ARGUMENTS
static int nv_dma_buf_attach(struct dma_buf *buf, struct dma_buf_attachment *attachment)
{
	return dmabuf_attach_fails ? -ENOTSUPP : 0;
}
#endif

/* No pin: an exporter whose buffers do not move, as the driver's. */
static const struct dma_buf_ops nv_dma_buf_ops = {
#ifndef UNLOCK_TWO_ARGUMENTS
	.attach = nv_dma_buf_attach,
#endif
	.map_dma_buf = nv_dma_buf_map,
	.unmap_dma_buf = nv_dma_buf_unmap,
	.release = nv_dma_buf_release,
};

static uint dmabuf_export_status;
module_param(dmabuf_export_status, uint, 0644);
MODULE_PARM_DESC(dmabuf_export_status, "NV_STATUS in place of a dma-buf, 0 = there is one");

/* One page, however long it says it is: its importer only pins and lets go. */
static noinline __attribute__((__noipa__)) NV_STATUS nv_dma_buf_export(void *nv, struct nvidia_standin_export *params)
{
	struct page *page = dmabuf_export_status ? NULL : alloc_page(GFP_KERNEL | __GFP_ZERO);
	DEFINE_DMA_BUF_EXPORT_INFO(info);
	struct dma_buf *buf;

	if (dmabuf_export_status)
		return dmabuf_export_status;
	if (!page)
		return NV_ERR_NO_MEMORY;
#ifndef UNLOCK_TWO_ARGUMENTS
	info.exp_name = "nv_dmabuf";
#endif
	info.ops = &nv_dma_buf_ops;
	info.size = params->bytes;
	info.flags = O_RDWR | O_CLOEXEC;
	info.priv = page;
	buf = dma_buf_export(&info);
	if (IS_ERR(buf)) {
		__free_page(page);
		return NV_ERR_OPERATING_SYSTEM;
	}
	params->fd = dma_buf_fd(buf, O_RDWR | O_CLOEXEC);
	if (params->fd >= 0)
		return NV_OK;
	dma_buf_put(buf);
	return NV_ERR_OPERATING_SYSTEM;
}

/* --- nv-p2p.c ------------------------------------------------------------------------ */

static uint p2p_status;
module_param(p2p_status, uint, 0644);
MODULE_PARM_DESC(p2p_status, "NV_STATUS that RM answers when it is asked for pages of GPU memory, 0 = it gives them");

static uint p2p_spared;
module_param(p2p_spared, uint, 0644);
MODULE_PARM_DESC(p2p_spared, "calls that get the pages all the same, counted down");

/* nvidia_p2p_map_status() */
static const struct {
	NV_STATUS status;
	int err;
} p2p_errnos[] = {
	{ NV_OK, 0 },
	{ NV_ERR_INSUFFICIENT_RESOURCES, -ENOMEM },
	{ NV_ERR_NO_MEMORY, -ENOMEM },
	{ NV_ERR_INVALID_ARGUMENT, -EINVAL },
	{ NV_ERR_OBJECT_NOT_FOUND, -EINVAL },
	{ NV_ERR_INVALID_STATE, -EIO },
	{ NV_ERR_NOT_SUPPORTED, -ENOTSUPP },
	{ NV_ERR_STATE_IN_USE, -EBUSY },
};

static int p2p_errno(NV_STATUS status)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(p2p_errnos); i++)
		if (p2p_errnos[i].status == status)
			return p2p_errnos[i].err;
	return -EIO;
}

static const struct vm_operations_struct gpu_vm_ops;

static bool is_gpu_memory(u64 address, u64 length)
{
	struct vm_area_struct *vma;
	bool is;

	mmap_read_lock(current->mm);
	vma = find_vma(current->mm, address);
	is = vma && vma->vm_start <= address && vma->vm_ops == &gpu_vm_ops && vma->vm_end - address >= length;
	mmap_read_unlock(current->mm);
	return is;
}

/* Stands where RM is asked. */
static NV_STATUS rm_get_pages(u64 address, u64 length)
{
	if (!is_gpu_memory(address, length))
		return NV_ERR_OBJECT_NOT_FOUND;
	if (!p2p_spared)
		return p2p_status;
	p2p_spared--;
	return NV_OK;
}

static int get_pages(u64 address, u64 length, struct nvidia_p2p_page_table **page_table)
{
	struct nvidia_p2p_page_table *table;
	int err;

	if (!IS_ALIGNED(address, NVIDIA_P2P_PAGE_SIZE) || !IS_ALIGNED(length, NVIDIA_P2P_PAGE_SIZE))
		return -EINVAL;
	err = p2p_errno(rm_get_pages(address, length));
	if (err)
		return err;
	table = kzalloc(sizeof(*table), GFP_KERNEL);
	if (!table)
		return -ENOMEM;
	table->page_size = 1;
	*page_table = table;
	return 0;
}

/* Hooked by name, as above. */
noinline __attribute__((__noipa__)) int nvidia_p2p_get_pages(u64 p2p_token, u32 va_space, u64 virtual_address, u64 length,
							     struct nvidia_p2p_page_table **page_table, void (*free_callback)(void *data), void *data)
{
	return free_callback ? get_pages(virtual_address, length, page_table) : -EINVAL;
}
EXPORT_SYMBOL_GPL(nvidia_p2p_get_pages);

noinline __attribute__((__noipa__)) int nvidia_p2p_get_pages_persistent(u64 virtual_address, u64 length, struct nvidia_p2p_page_table **page_table, u32 flags)
{
	return get_pages(virtual_address, length, page_table);
}
EXPORT_SYMBOL_GPL(nvidia_p2p_get_pages_persistent);

int nvidia_p2p_put_pages(u64 p2p_token, u32 va_space, u64 virtual_address, struct nvidia_p2p_page_table *page_table)
{
	kfree(page_table);
	return 0;
}
EXPORT_SYMBOL_GPL(nvidia_p2p_put_pages);

int nvidia_p2p_put_pages_persistent(u64 virtual_address, struct nvidia_p2p_page_table *page_table, u32 flags)
{
	kfree(page_table);
	return 0;
}
EXPORT_SYMBOL_GPL(nvidia_p2p_put_pages_persistent);

/* --- what calls it ------------------------------------------------------------------- */

static struct lock {
	struct file *owner;	/* NULL = free */
	u64 id, pages;
	void *page_array;
	u32 flags;
} locks[NVIDIA_STANDIN_LOCKS];
static u64 last_id;
static DEFINE_MUTEX(locks_lock);
/* Until 6.13 creating a worker also started it; later one that was only created counts as blocked until its first work. */
#ifndef kthread_run_worker
#define kthread_run_worker kthread_create_worker
#endif
static struct kthread_worker *nv_queue;

/* Stands where RmCreateOsDescriptor() does in the call chain. */
static noinline NV_STATUS create_os_descriptor(struct lock *l, u64 address)
{
	NV_STATUS status = os_lock_user_pages((void *)(unsigned long)address, l->pages, &l->page_array, l->flags);

	barrier(); /* no tail call: the function is part of the stack */
	return status;
}

struct deferred_unlock {
	struct kthread_work work;
	struct lock lock;
};

static void unlock_deferred(struct kthread_work *work)
{
	struct deferred_unlock *d = container_of(work, struct deferred_unlock, work);

	UNLOCK(d->lock.pages, d->lock.page_array, d->lock.flags);
	kfree(d);
}

static void destroy(struct lock *l)
{
	struct deferred_unlock *d = deferred ? kmalloc(sizeof(*d), GFP_KERNEL) : NULL;

	if (d) {
		d->lock = *l;
		kthread_init_work(&d->work, unlock_deferred);
		kthread_queue_work(nv_queue, &d->work);
	} else {
		UNLOCK(l->pages, l->page_array, l->flags);
	}
	l->owner = NULL;
}

static struct lock *find(struct file *owner, u64 id)
{
	int i;

	for (i = 0; i < NVIDIA_STANDIN_LOCKS; i++)
		if (locks[i].owner == owner && (!owner || !id || locks[i].id == id))
			return &locks[i];
	return NULL;
}

static long lock_ioctl(struct file *file, void __user *arg)
{
	struct nvidia_standin_lock asked;
	struct lock *l;

	if (copy_from_user(&asked, arg, sizeof(asked)))
		return -EFAULT;
	if (!asked.pages || asked.pages > ULONG_MAX / PAGE_SIZE)
		return -EINVAL;
	mutex_lock(&locks_lock);
	l = find(NULL, 0);
	if (!l) {
		mutex_unlock(&locks_lock);
		return -ENOSPC;
	}
	*l = (struct lock){ .id = ++last_id, .pages = asked.pages, .flags = asked.write ? NV_LOCK_USER_PAGES_FLAGS_WRITE : 0 };
	asked.status = create_os_descriptor(l, asked.address);
	asked.id = l->id;
	if (asked.status == NV_OK)
		l->owner = file;
	mutex_unlock(&locks_lock);
	return copy_to_user(arg, &asked, sizeof(asked)) ? -EFAULT : 0;
}

static long unlock_ioctl(struct file *file, void __user *arg)
{
	struct lock *l;
	u64 id;

	if (copy_from_user(&id, arg, sizeof(id)))
		return -EFAULT;
	mutex_lock(&locks_lock);
	l = id ? find(file, id) : NULL;
	if (l)
		destroy(l);
	mutex_unlock(&locks_lock);
	return l ? 0 : -ENOENT;
}

static long export_ioctl(void __user *arg)
{
	struct nvidia_standin_export asked;

	if (copy_from_user(&asked, arg, sizeof(asked)))
		return -EFAULT;
	asked.status = nv_dma_buf_export(NULL, &asked);
	return copy_to_user(arg, &asked, sizeof(asked)) ? -EFAULT : 0;
}

static long nvidia_ioctl(struct file *file, unsigned int command, unsigned long arg)
{
	switch (command) {
	case NVIDIA_STANDIN_LOCK: return lock_ioctl(file, (void __user *)arg);
	case NVIDIA_STANDIN_UNLOCK: return unlock_ioctl(file, (void __user *)arg);
	case NVIDIA_STANDIN_EXPORT: return export_ioctl((void __user *)arg);
	default: return -ENOTTY;
	}
}

static int nvidia_close(struct inode *inode, struct file *file)
{
	struct lock *l;

	mutex_lock(&locks_lock);
	while ((l = find(file, 0)))
		destroy(l);
	mutex_unlock(&locks_lock);
	return 0;
}

static int nvidia_mmap(struct file *file, struct vm_area_struct *vma)
{
	vma->vm_ops = &gpu_vm_ops;
	return 0;
}

static const struct file_operations nvidia_fops = {
	.owner = THIS_MODULE,
	.mmap = nvidia_mmap,
	.unlocked_ioctl = nvidia_ioctl,
	.release = nvidia_close,
};
static struct miscdevice nvidiactl = {
	.minor = MISC_DYNAMIC_MINOR, .name = "nvidiactl", .mode = 0666, .fops = &nvidia_fops,
};

static int __init nvidia_init(void)
{
	int err;

	nv_queue = kthread_run_worker(0, "nv_queue");
	if (IS_ERR(nv_queue))
		return PTR_ERR(nv_queue);
	err = misc_register(&nvidiactl);
	if (err)
		kthread_destroy_worker(nv_queue);
	return err;
}

static void __exit nvidia_exit(void)
{
	misc_deregister(&nvidiactl);
	kthread_destroy_worker(nv_queue);
}

module_init(nvidia_init);
module_exit(nvidia_exit);
MODULE_DESCRIPTION("Stand-in for NVIDIA's kernel module, for tests");
MODULE_LICENSE("Dual BSD/GPL");
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 13, 0)
MODULE_IMPORT_NS("DMA_BUF");
#else
MODULE_IMPORT_NS(DMA_BUF);
#endif
#ifdef UNLOCK_TWO_ARGUMENTS
MODULE_VERSION("565.57.01");
#else
MODULE_VERSION("580.65.06");
#endif
