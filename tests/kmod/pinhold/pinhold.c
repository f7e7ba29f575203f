// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A test's hand inside the kernel: takes pins of the caller's pages as a driver would, and says
 * where a page lies by asking the kernel's own functions. Keeps another process's mmap lock on request.
 * See pinhold.h for the interface.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/fs.h>
#include <linux/kallsyms.h>
#include <linux/kprobes.h>
#include <linux/miscdevice.h>
#include <linux/mm.h>
#include <linux/mmap_lock.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/page-isolation.h>
#include <linux/pageblock-flags.h>
#include <linux/pid.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <linux/version.h>
#include <linux/xarray.h>

#include "pinhold.h"
#include "find.h"
#include "blocks.h"

/* Between two batches a killed caller is noticed. */
#define BATCH_PAGES 512

struct hold {
	u32 flags;
	unsigned long pages_held;
	struct page **pages;
	struct file *owner;	/* NULL: kept, or the owner is gone */
};

static DEFINE_XARRAY_ALLOC1(holds);
/* Serialises the life of holds: who finds one in the array may use it while it has the lock. */
static DEFINE_MUTEX(holds_lock);

static long resolve(void __user *arg)
{
	struct pinhold_resolve res;
	struct page *page;
	u64 addr;
	int got;

	if (!functions_found())
		return -ENOSYS;
	if (get_user(addr, (u64 __user *)arg))
		return -EFAULT;

	memset(&res, 0, sizeof(res));
	res.addr = addr;
	got = get_user_pages_fast(addr & PAGE_MASK, 1, 0, &page);
	if (got != 1)
		return got < 0 ? got : -EFAULT;
	describe(page, &res);
	put_page(page);
	return copy_to_user(arg, &res, sizeof(res)) ? -EFAULT : 0;
}

#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 11, 0)
#define FOLIO_RELEASES true

static void unpin_folios_of(struct hold *hold, u32 by)
{
	unsigned long i;

	for (i = 0; i < hold->pages_held; i++) {
		struct folio *folio = page_folio(hold->pages[i]);

		if (by == PINHOLD_BY_USER_FOLIO)
			unpin_user_folio(folio, 1);
		else if (by == PINHOLD_BY_FOLIO)
			unpin_folio(folio);
		else
			unpin_folios(&folio, 1);
	}
}
#else
#define FOLIO_RELEASES false

static void unpin_folios_of(struct hold *hold, u32 by)
{
}
#endif

/* From 5.15 on. */
#define RANGE_RELEASES (LINUX_VERSION_CODE >= KERNEL_VERSION(5, 15, 0))

static void unpin_pages_of(struct hold *hold, bool dirty)
{
	u32 by = (hold->flags & PINHOLD_BY_MASK) >> PINHOLD_BY_SHIFT;
	unsigned long i;

	switch (by) {
	case PINHOLD_BY_DIRTY_LOCK:
		unpin_user_pages_dirty_lock(hold->pages, hold->pages_held, dirty);
		break;
	case PINHOLD_BY_CLEAN:
		unpin_user_pages_dirty_lock(hold->pages, hold->pages_held, false);
		break;
	case PINHOLD_BY_PAGES:
		unpin_user_pages(hold->pages, hold->pages_held);
		break;
	case PINHOLD_BY_PAGE:
		for (i = 0; i < hold->pages_held; i++)
			unpin_user_page(hold->pages[i]);
		break;
#if RANGE_RELEASES
	case PINHOLD_BY_RANGE:
		for (i = 0; i < hold->pages_held; i++)
			unpin_user_page_range_dirty_lock(hold->pages[i], 1, dirty);
		break;
#endif
	default:
		unpin_folios_of(hold, by);
	}
}

static void release_pages_of(struct hold *hold)
{
	bool dirty = hold->flags & PINHOLD_WRITE;
	unsigned long i;

	if (!(hold->flags & PINHOLD_GET)) {
		unpin_pages_of(hold, dirty);
		return;
	}
	for (i = 0; i < hold->pages_held; i++) {
		if (dirty)
			set_page_dirty_lock(hold->pages[i]);
		put_page(hold->pages[i]);
		cond_resched();
	}
}

static void hold_free(struct hold *hold)
{
	if (!hold)
		return;
	if (hold->pages)
		release_pages_of(hold);
	kvfree(hold->pages);
	kfree(hold);
}

static struct hold *hold_new(const struct pinhold_pin *pin, unsigned long wanted, struct file *file)
{
	struct hold *hold = kzalloc(sizeof(*hold), GFP_KERNEL);

	if (!hold)
		return NULL;
	hold->flags = pin->flags;
	hold->owner = (pin->flags & PINHOLD_KEEP) ? NULL : file;
	hold->pages = kvcalloc(wanted, sizeof(*hold->pages), GFP_KERNEL);
	if (!hold->pages) {
		kfree(hold);
		return NULL;
	}
	return hold;
}

static long pin_slowly(unsigned long at, int pages, unsigned int gup, struct page **to)
{
	long got;

	mmap_read_lock(current->mm);
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 5, 0)
	got = pin_user_pages(at, pages, gup, to, NULL);
#else
	got = pin_user_pages(at, pages, gup, to);
#endif
	mmap_read_unlock(current->mm);
	return got;
}

static long hold_fill(struct hold *hold, unsigned long start, unsigned long wanted)
{
	unsigned int gup = ((hold->flags & PINHOLD_WRITE) ? FOLL_WRITE : 0) |
			   ((hold->flags & PINHOLD_LONGTERM) ? FOLL_LONGTERM : 0);

	while (hold->pages_held < wanted) {
		unsigned long at = start + hold->pages_held * PAGE_SIZE;
		int batch = min(wanted - hold->pages_held, (unsigned long)BATCH_PAGES);
		struct page **to = hold->pages + hold->pages_held;
		int got;

		if (fatal_signal_pending(current))
			return -EINTR;
		if (hold->flags & PINHOLD_SLOW)
			got = pin_slowly(at, batch, gup, to);
		else
			got = (hold->flags & PINHOLD_GET) ? get_user_pages_fast(at, batch, gup, to) :
							    pin_user_pages_fast(at, batch, gup, to);
		if (got <= 0)
			return got ? got : -EFAULT;
		hold->pages_held += got;
		cond_resched();
	}
	return 0;
}

/* -EBUSY is the array's word for "all ids are taken". */
static long hold_publish(struct hold *hold, u32 *ret_id)
{
	long r;

	mutex_lock(&holds_lock);
	r = xa_alloc(&holds, ret_id, hold, XA_LIMIT(1, PINHOLD_MAX_HOLDS), GFP_KERNEL);
	mutex_unlock(&holds_lock);
	return r == -EBUSY ? -ENOSPC : r;
}

static struct hold *hold_take(u32 id)
{
	struct hold *hold;

	mutex_lock(&holds_lock);
	hold = xa_erase(&holds, id);
	mutex_unlock(&holds_lock);
	return hold;
}

static long pin_check(const struct pinhold_pin *pin, unsigned long *ret_wanted)
{
	u64 first = pin->addr >> PAGE_SHIFT;
	u64 last = (pin->addr + pin->len - 1) >> PAGE_SHIFT;

	if (pin->flags & ~PINHOLD_ALL_FLAGS)
		return -EINVAL;
	if ((pin->flags & PINHOLD_GET) && (pin->flags & (PINHOLD_LONGTERM | PINHOLD_SLOW | PINHOLD_BY_MASK)))
		return -EINVAL;
	if ((pin->flags & PINHOLD_BY_MASK) >> PINHOLD_BY_SHIFT >= PINHOLD_BY_USER_FOLIO && !FOLIO_RELEASES)
		return -EOPNOTSUPP;
	if ((pin->flags & PINHOLD_BY_MASK) >> PINHOLD_BY_SHIFT == PINHOLD_BY_RANGE && !RANGE_RELEASES)
		return -EOPNOTSUPP;
	if (!pin->len || pin->addr + pin->len < pin->addr)
		return -EINVAL;
	if (last - first >= PINHOLD_MAX_PAGES)
		return -E2BIG;
	*ret_wanted = last - first + 1;
	return 0;
}

static long pin_pages(struct file *file, void __user *arg)
{
	struct pinhold_pin pin;
	unsigned long wanted;
	struct hold *hold;
	long r;

	if (copy_from_user(&pin, arg, sizeof(pin)))
		return -EFAULT;
	r = pin_check(&pin, &wanted);
	if (r)
		return r;
	hold = hold_new(&pin, wanted, file);
	if (!hold)
		return -ENOMEM;
	r = hold_fill(hold, pin.addr & PAGE_MASK, wanted);
	if (!r)
		r = hold_publish(hold, &pin.id);
	if (r) {
		hold_free(hold);
		return r;
	}
	if (copy_to_user(arg, &pin, sizeof(pin))) {
		/* Nobody would know the id: all or nothing. */
		hold_free(hold_take(pin.id));
		return -EFAULT;
	}
	return 0;
}

static long unpin(void __user *arg)
{
	struct pinhold_state state;
	struct hold *hold;

	if (copy_from_user(&state, arg, sizeof(state)))
		return -EFAULT;
	hold = hold_take(state.id);
	hold_free(hold);
	return hold ? 0 : -ENOENT;
}

static long hold_state(void __user *arg)
{
	struct pinhold_state state;
	struct hold *hold;

	if (copy_from_user(&state, arg, sizeof(state)))
		return -EFAULT;
	mutex_lock(&holds_lock);
	hold = xa_load(&holds, state.id);
	if (hold) {
		state.flags = hold->flags;
		state.pages = hold->pages_held;
	}
	mutex_unlock(&holds_lock);
	if (!hold)
		return -ENOENT;
	return copy_to_user(arg, &state, sizeof(state)) ? -EFAULT : 0;
}

/* The memory of a process, to be given back with mmput(); NULL: it has none, or is not there. */
static struct mm_struct *memory_of(u32 number)
{
	struct pid *pid = find_get_pid(number);
	struct task_struct *task = get_pid_task(pid, PIDTYPE_PID);
	struct mm_struct *mm = NULL;

	put_pid(pid);
	if (task) {
		mm = get_task_mm(task);
		put_task_struct(task);
	}
	return mm;
}

static long wait_for_signal(u32 ms)
{
	long left = msecs_to_jiffies(ms);

	while (left && !signal_pending(current))
		left = schedule_timeout_interruptible(left);
	return left ? -EINTR : 0;
}

static long keep_mmap_lock(struct pinhold_lock __user *arg)
{
	struct pinhold_lock lock;
	struct mm_struct *mm;
	long r;

	if (copy_from_user(&lock, arg, sizeof(lock)))
		return -EFAULT;
	if (!lock.ms || lock.ms > PINHOLD_MAX_LOCK_MS)
		return -EINVAL;
	mm = memory_of(lock.pid);
	if (!mm)
		return -ESRCH;
	/* A fault on the caller's own memory, here or later, would wait for the caller itself. */
	r = mm == current->mm ? -EINVAL : mmap_write_lock_killable(mm);
	if (!r) {
		r = put_user(1, &arg->held);
		if (!r)
			r = wait_for_signal(lock.ms);
		mmap_write_unlock(mm);
	}
	mmput(mm);
	return r;
}

static long pinhold_ioctl(struct file *file, unsigned int command, unsigned long arg)
{
	void __user *user = (void __user *)arg;

	switch (command) {
	case PINHOLD_RESOLVE:
		return resolve(user);
	case PINHOLD_PIN:
		return pin_pages(file, user);
	case PINHOLD_UNPIN:
		return unpin(user);
	case PINHOLD_STATE:
		return hold_state(user);
	case PINHOLD_LOCK:
		return keep_mmap_lock(user);
	case PINHOLD_ISOLATE:
		return isolate(user);
	case PINHOLD_BLOCK:
		return make_block(file, user);
	default:
		return -ENOTTY;
	}
}

static int pinhold_release(struct inode *inode, struct file *file)
{
	unsigned long id;
	struct hold *hold;

	mutex_lock(&holds_lock);
	xa_for_each(&holds, id, hold) {
		if (hold->owner != file)
			continue;
		xa_erase(&holds, id);
		hold_free(hold);
	}
	mutex_unlock(&holds_lock);
	blocks_release(file);
	return 0;
}

static const struct file_operations pinhold_fops = {
	.owner = THIS_MODULE,	/* an open descriptor keeps the module: only kept holds remain at exit */
	.unlocked_ioctl = pinhold_ioctl,
	.release = pinhold_release,
	.mmap = map_block,
};

static struct miscdevice pinhold_device = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "pinhold",
	.fops = &pinhold_fops,
	.mode = 0600,
};

static int __init pinhold_init(void)
{
	int err;

	find_functions();
	err = cma_blocks ? leave_cma() : 0;
	return err ? err : misc_register(&pinhold_device);
}

static void __exit pinhold_exit(void)
{
	unsigned long id;
	struct hold *hold;

	misc_deregister(&pinhold_device);
	xa_for_each(&holds, id, hold)
		hold_free(hold);
	xa_destroy(&holds);
}

module_init(pinhold_init);
module_exit(pinhold_exit);
MODULE_DESCRIPTION("Takes and resolves user pages for the tests of pinwhy");
MODULE_LICENSE("Dual BSD/GPL");
