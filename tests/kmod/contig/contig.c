// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Wants contiguous memory, as a driver with DMA buffers does: from the default CMA area, by the kernel's own cma_alloc().
 *   alloc  written PAGES: takes that many, aligned to a pageblock; the write's errno is the answer. Kept until `free`.
 *   free   written anything: gives all back
 * A kernel without CMA answers EOPNOTSUPP, and one without an area ENODEV.
 */
#include <linux/cma.h>
#include <linux/kallsyms.h>
#include <linux/kprobes.h>
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

/* Not exported on 6.1 and 6.12: a kprobe finds them. */
static typeof(cma_get_name) *cma_name;
static typeof(cma_for_each_area) *each_area;
static typeof(cma_alloc) *area_alloc;
static typeof(cma_release) *area_release;
static struct cma *area;

static void *find_function(const char *name)
{
	struct kprobe probe = { .symbol_name = name };
	char symbol[KSYM_SYMBOL_LEN];
	unsigned long offset;
	const char *plus;

	if (register_kprobe(&probe))
		return NULL;
	unregister_kprobe(&probe);
	sprint_symbol(symbol, (unsigned long)probe.addr);
	plus = strchr(symbol, '+');
	return plus && sscanf(plus, "+0x%lx/", &offset) == 1 ? (char *)probe.addr - offset : NULL;
}

/* kernel/dma/contiguous.c names the default area so. */
static int take_default(struct cma *one, void *data)
{
	if (!strcmp(cma_name(one), "reserved"))
		area = one;
	return 0;
}

static void find_area(void)
{
	cma_name = find_function("cma_get_name");
	each_area = find_function("cma_for_each_area");
	area_alloc = find_function("cma_alloc");
	area_release = find_function("cma_release");
	if (cma_name && each_area && area_alloc && area_release)
		each_area(take_default, NULL);
}

static int alloc(unsigned long n)
{
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
		buffers[i].pages = area_alloc(area, n, pageblock_order, false);
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
			area_release(area, buffers[i].pages, buffers[i].n);
		buffers[i].pages = NULL;
	}
	mutex_unlock(&lock);
}
#else
static void find_area(void)
{
}

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
	find_area();
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
