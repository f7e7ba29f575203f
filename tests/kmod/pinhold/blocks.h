/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Part of pinhold.c: pageblocks that are marked, made, or left behind. */
#ifndef PINHOLD_BLOCKS_H
#define PINHOLD_BLOCKS_H

#if defined(CONFIG_CMA) && defined(CONFIG_MEMORY_ISOLATION)
/* Where isolation is no bit of its own (6.1, 6.12) it takes the place of the block's type, which is told for the way back. */
#ifdef MIGRATETYPE_MASK
#define MARK_AS MIGRATE_MOVABLE, 0, GFP_KERNEL
#define UNMARK(undo, first, end) undo(first, end, MIGRATE_MOVABLE)
#else
#define MARK_AS PB_ISOLATE_MODE_OTHER
#define UNMARK(undo, first, end) undo(first, end)
#endif

static long mark_block(struct pinhold_isolate *block)
{
	typeof(start_isolate_page_range) *start = find_function("start_isolate_page_range");
	struct page *page;
	int got;

	if (!start)
		return -ENOSYS;
	got = get_user_pages_fast(block->addr & PAGE_MASK, 1, 0, &page);
	if (got != 1)
		return got < 0 ? got : -EFAULT;
	block->pfn = ALIGN_DOWN(page_to_pfn(page), pageblock_nr_pages);
	put_page(page);
	return start(block->pfn, block->pfn + pageblock_nr_pages, MARK_AS);
}

static long unmark_block(const struct pinhold_isolate *block)
{
	typeof(undo_isolate_page_range) *undo = find_function("undo_isolate_page_range");

	if (!undo)
		return -ENOSYS;
	if (!pfn_valid(block->pfn) || !IS_ALIGNED(block->pfn, pageblock_nr_pages))
		return -EINVAL;
	UNMARK(undo, block->pfn, block->pfn + pageblock_nr_pages);
	return 0;
}
#else
static long mark_block(struct pinhold_isolate *block)
{
	return -EOPNOTSUPP;
}

static long unmark_block(const struct pinhold_isolate *block)
{
	return -EOPNOTSUPP;
}
#endif

static long isolate(void __user *arg)
{
	struct pinhold_isolate block;
	long r;

	if (copy_from_user(&block, arg, sizeof(block)))
		return -EFAULT;
	r = block.off ? unmark_block(&block) : mark_block(&block);
	if (r)
		return r;
	return copy_to_user(arg, &block, sizeof(block)) ? -EFAULT : 0;
}

/* --- CMA of no area ----------------------------------------------------------------- */

static unsigned int cma_blocks;
module_param(cma_blocks, uint, 0444);
MODULE_PARM_DESC(cma_blocks, "pageblocks to give to the allocator as MIGRATE_CMA that belong to no area, for as long as the kernel runs");

#if defined(CONFIG_CMA) && !defined(MIGRATETYPE_MASK)
/*
 * What kexec handover does with its scratch memory (kernel/liveupdate/kexec_handover.c, kho_init(), and
 * init_cma_reserved_pageblock() of mm/mm_init.c, which is gone once the kernel runs): a pageblock is marked and freed.
 */
static int leave_cma(void)
{
	typeof(init_pageblock_migratetype) *mark = find_function("init_pageblock_migratetype");
	struct page *page, *next, *all = NULL;
	unsigned int i;

	if (!mark)
		return -ENOSYS;
	for (i = 0; i < cma_blocks; i++) {
		page = alloc_pages(GFP_HIGHUSER_MOVABLE | __GFP_NOWARN | __GFP_NORETRY, pageblock_order);
		if (!page)
			break;
		page->private = (unsigned long)all;
		all = page;
	}
	for (page = all; page; page = next) {
		next = (struct page *)page->private;
		page->private = 0;
		mark(page, MIGRATE_CMA, false);
		page_zone(page)->cma_pages += pageblock_nr_pages;
		__free_pages(page, pageblock_order);
	}
	return i == cma_blocks ? 0 : -ENOMEM;
}
#else
static int leave_cma(void)
{
	return -EOPNOTSUPP;
}
#endif

/* --- blocks that are made --------------------------------------------------------- */

struct block {
	struct list_head list;
	struct file *owner;
	struct page *first;
	u32 id, before;		/* the type it had */
	bool whole;
};

static LIST_HEAD(blocks);
static DEFINE_MUTEX(blocks_lock);
static u32 last_block;

static int kernel_type(u32 type)
{
	switch (type) {
	case PINHOLD_TYPE_UNMOVABLE:
		return MIGRATE_UNMOVABLE;
	case PINHOLD_TYPE_MOVABLE:
		return MIGRATE_MOVABLE;
	case PINHOLD_TYPE_RECLAIMABLE:
		return MIGRATE_RECLAIMABLE;
	case PINHOLD_TYPE_HIGHATOMIC:
		return MIGRATE_HIGHATOMIC;
#ifdef CONFIG_CMA
	case PINHOLD_TYPE_CMA:
		return MIGRATE_CMA;
#endif
#ifdef CONFIG_MEMORY_ISOLATION
	case PINHOLD_TYPE_ISOLATE:
		return MIGRATE_ISOLATE;
#endif
	default:
		return -EOPNOTSUPP;
	}
}

/* Of a block whose pages are all ours: nothing on a free list is counted by the type. */
#ifdef MIGRATETYPE_MASK
static int mark_type(struct page *page, u32 type)
{
	typeof(set_pageblock_migratetype) *mark = find_function("set_pageblock_migratetype");
	int wanted = kernel_type(type);

	if (!mark)
		return -ENOSYS;
	if (wanted >= 0)
		mark(page, wanted);
	return min(wanted, 0);
}
#elif defined(CONFIG_MEMORY_ISOLATION)
/* Isolation is a bit of its own there, over the type. */
static int mark_type(struct page *page, u32 type)
{
	typeof(init_pageblock_migratetype) *mark = find_function("init_pageblock_migratetype");
	bool isolate = type == PINHOLD_TYPE_ISOLATE || type == PINHOLD_TYPE_ISOLATE_CMA;
	int wanted = kernel_type(type == PINHOLD_TYPE_ISOLATE ? PINHOLD_TYPE_MOVABLE :
				 type == PINHOLD_TYPE_ISOLATE_CMA ? PINHOLD_TYPE_CMA : type);

	if (!mark)
		return -ENOSYS;
	if (wanted >= 0)
		mark(page, wanted, isolate);
	return min(wanted, 0);
}
#else
static int mark_type(struct page *page, u32 type)
{
	return -EOPNOTSUPP;
}
#endif

static u32 type_of(struct page *page)
{
	u32 type;

	for (type = 0; type < PINHOLD_TYPE_ISOLATE; type++)
		if (kernel_type(type) == (int)pageblock_migratetype(page))
			return type;
	return PINHOLD_TYPE_MOVABLE;
}

static void block_free(struct block *block)
{
	unsigned long i;

	mark_type(block->first, block->before);
	if (block->whole)
		__free_pages(block->first, pageblock_order);
	for (i = 0; !block->whole && i < pageblock_nr_pages; i++)
		__free_page(block->first + i);
	kfree(block);
}

static struct page *take_block(const struct pinhold_block *ask)
{
	static const gfp_t flags[PINHOLD_ZONE_MAX] = { GFP_DMA, GFP_DMA32, GFP_KERNEL, GFP_HIGHUSER_MOVABLE };
	static const char *const names[PINHOLD_ZONE_MAX] = { "DMA", "DMA32", "Normal", "Movable" };
	gfp_t gfp = flags[ask->zone] | __GFP_THISNODE | __GFP_NOWARN | __GFP_NORETRY | __GFP_ZERO;
	struct page *page = alloc_pages_node(ask->node, gfp | (ask->whole ? __GFP_COMP : 0), pageblock_order);

	if (!page)
		return ERR_PTR(-ENOMEM);
	if (!strcmp(page_zone(page)->name, names[ask->zone]) && page_to_nid(page) == ask->node)
		return page;
	__free_pages(page, pageblock_order);
	return ERR_PTR(-ENXIO);
}

static long make_block(struct file *file, void __user *arg)
{
	struct pinhold_block ask;
	struct block *block;
	long r;

	if (copy_from_user(&ask, arg, sizeof(ask)))
		return -EFAULT;
	if (ask.zone >= PINHOLD_ZONE_MAX || ask.type >= PINHOLD_TYPE_MAX || ask.node >= MAX_NUMNODES)
		return -EINVAL;
	if (!functions_found())
		return -ENOSYS;
	if (!node_online(ask.node))
		return -ENXIO;
	block = kzalloc(sizeof(*block), GFP_KERNEL);
	if (!block)
		return -ENOMEM;
	block->first = take_block(&ask);
	if (IS_ERR(block->first)) {
		r = PTR_ERR(block->first);
		kfree(block);
		return r;
	}
	block->whole = ask.whole;
	block->owner = file;
	block->before = type_of(block->first);
	if (!block->whole)
		split_page(block->first, pageblock_order);
	r = mark_type(block->first, ask.type);
	if (r) {
		block_free(block);
		return r;
	}
	mutex_lock(&blocks_lock);
	ask.id = block->id = ++last_block;
	list_add(&block->list, &blocks);
	mutex_unlock(&blocks_lock);
	ask.pages = pageblock_nr_pages;
	ask.pfn = page_to_pfn(block->first);
	return copy_to_user(arg, &ask, sizeof(ask)) ? -EFAULT : 0;
}

/* Mappings keep the file, and with it the block. */
static void blocks_release(const struct file *file)
{
	struct block *block, *next;

	mutex_lock(&blocks_lock);
	list_for_each_entry_safe(block, next, &blocks, list) {
		if (block->owner != file)
			continue;
		list_del(&block->list);
		block_free(block);
	}
	mutex_unlock(&blocks_lock);
}

static int map_block(struct file *file, struct vm_area_struct *vma)
{
	unsigned long i, pages = vma_pages(vma);
	struct block *block;
	int r = -ENOENT;

	mutex_lock(&blocks_lock);
	list_for_each_entry(block, &blocks, list) {
		if (block->owner != file || block->id != vma->vm_pgoff)
			continue;
		r = pages > pageblock_nr_pages ? -EINVAL : 0;
		for (i = 0; !r && i < pages; i++)
			r = vm_insert_page(vma, vma->vm_start + i * PAGE_SIZE, block->first + i);
		break;
	}
	mutex_unlock(&blocks_lock);
	return r;
}

#endif
