// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Wants contiguous memory, as a driver with DMA buffers does: from the default CMA area, by the kernel's own cma_alloc().
 *   alloc  written PAGES: takes that many, aligned to a pageblock; the write's errno is the answer. Kept until `free`.
 *   free   written anything: gives all back
 * A kernel without CMA answers EOPNOTSUPP, and one without an area ENODEV.
 */
#include <linux/cma.h>
#include <linux/dma-map-ops.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/mutex.h>

#define BUFFERS 1024

#ifdef CONFIG_CMA
static struct {
	struct page *pages;
	unsigned long n;
} buffers[BUFFERS];
static DEFINE_MUTEX(lock);

static int alloc(unsigned long n)
{
	struct cma *area = dev_get_cma_area(NULL);
	int i = 0, err = 0;

	if (!area)
		return -ENODEV;
	mutex_lock(&lock);
	while (i < BUFFERS && buffers[i].pages)
		i++;
	if (i == BUFFERS) {
		err = -ENOSPC;
	} else {
		buffers[i].n = n;
		buffers[i].pages = cma_alloc(area, n, pageblock_order, false);
		if (!buffers[i].pages)
			err = -ENOMEM;
	}
	mutex_unlock(&lock);
	return err;
}

static void give_back(void)
{
	int i;

	mutex_lock(&lock);
	for (i = 0; i < BUFFERS; i++) {
		if (buffers[i].pages)
			cma_release(dev_get_cma_area(NULL), buffers[i].pages, buffers[i].n);
		buffers[i].pages = NULL;
	}
	mutex_unlock(&lock);
}
#else
static int alloc(unsigned long n)
{
	return -EOPNOTSUPP;
}

static void give_back(void)
{
}
#endif

static int set_alloc(const char *text, const struct kernel_param *kp)
{
	unsigned long n;
	int err = kstrtoul(text, 0, &n);

	return err ?: n ? alloc(n) : -EINVAL;
}

static int set_free(const char *text, const struct kernel_param *kp)
{
	give_back();
	return 0;
}

static const struct kernel_param_ops alloc_ops = { .set = set_alloc };
module_param_cb(alloc, &alloc_ops, NULL, 0200);
static const struct kernel_param_ops free_ops = { .set = set_free };
module_param_cb(free, &free_ops, NULL, 0200);

static int __init contig_init(void)
{
	return 0;
}

static void __exit contig_exit(void)
{
	give_back();
}

module_init(contig_init);
module_exit(contig_exit);
MODULE_DESCRIPTION("Contiguous allocations, for tests");
MODULE_LICENSE("Dual BSD/GPL");
