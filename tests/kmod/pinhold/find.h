/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Part of pinhold.c: the kernel's own functions that it does not export, and what they say of a page. */
#ifndef PINHOLD_FIND_H
#define PINHOLD_FIND_H

/*
 * The kernel does not export the functions below. Their declared types come from its headers,
 * so that a changed signature fails the build and not the guest.
 */
#ifdef MIGRATETYPE_MASK
#define MIGRATETYPE_FUNCTION "get_pfnblock_flags_mask"
static typeof(get_pfnblock_flags_mask) *migratetype_function;
#else
#define MIGRATETYPE_FUNCTION "get_pfnblock_migratetype"
static typeof(get_pfnblock_migratetype) *migratetype_function;
#endif

static u32 pageblock_migratetype(struct page *page)
{
#ifdef MIGRATETYPE_MASK
	return migratetype_function(page, page_to_pfn(page), MIGRATETYPE_MASK);
#else
	return migratetype_function(page, page_to_pfn(page));
#endif
}

/* From 6.9 on the count is an inline function of the headers; before folios (5.16) it is that of a head page. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(5, 16, 0)
#define MAPCOUNT_FUNCTION "total_mapcount"
static typeof(total_mapcount) *mapcount_function;
#elif LINUX_VERSION_CODE < KERNEL_VERSION(6, 9, 0)
#define MAPCOUNT_FUNCTION "folio_mapcount"
static typeof(folio_mapcount) *mapcount_function;
#endif

static bool functions_found(void)
{
#ifdef MAPCOUNT_FUNCTION
	if (!mapcount_function)
		return false;
#endif
	return migratetype_function;
}

/*
 * Address of a kernel function that is not exported, or NULL. A kprobe finds it; its address lies
 * behind the function's landing pad where there is one, so the offset, which kallsyms knows, is
 * taken off again.
 */
static void *find_function(const char *name)
{
	struct kprobe probe = { .symbol_name = name };
	char symbol[KSYM_SYMBOL_LEN];
	unsigned long offset;
	const char *plus;
	void *address;

	if (register_kprobe(&probe))
		return NULL;
	address = probe.addr;
	unregister_kprobe(&probe);

	sprint_symbol(symbol, (unsigned long)address);
	plus = strchr(symbol, '+');
	if (!plus || strncmp(symbol, name, plus - symbol) || name[plus - symbol] != '\0' ||
	    sscanf(plus, "+0x%lx/", &offset) != 1)
		return NULL;
	return (char *)address - offset;
}

static void find_functions(void)
{
#ifdef CONFIG_X86_KERNEL_IBT
	/* The kernel erases landing pads nobody jumps to; a call through a pointer would then fault. */
	if (boot_cpu_has(X86_FEATURE_IBT)) {
		pr_warn("this CPU enforces IBT: PINHOLD_RESOLVE is not available\n");
		return;
	}
#endif
	migratetype_function = find_function(MIGRATETYPE_FUNCTION);
	if (!migratetype_function)
		pr_warn("%s not found: PINHOLD_RESOLVE is not available\n", MIGRATETYPE_FUNCTION);
#ifdef MAPCOUNT_FUNCTION
	mapcount_function = find_function(MAPCOUNT_FUNCTION);
	if (!mapcount_function)
		pr_warn("%s not found: PINHOLD_RESOLVE is not available\n", MAPCOUNT_FUNCTION);
#endif
}

static const char *migratetype_name(u32 type)
{
	switch (type) {
	case MIGRATE_UNMOVABLE:
		return "MIGRATE_UNMOVABLE";
	case MIGRATE_MOVABLE:
		return "MIGRATE_MOVABLE";
	case MIGRATE_RECLAIMABLE:
		return "MIGRATE_RECLAIMABLE";
	case MIGRATE_HIGHATOMIC:
		return "MIGRATE_HIGHATOMIC";
#ifdef CONFIG_CMA
	case MIGRATE_CMA:
		return "MIGRATE_CMA";
#endif
#ifdef CONFIG_MEMORY_ISOLATION
	case MIGRATE_ISOLATE:
		return "MIGRATE_ISOLATE";
#endif
	default:
		return "?";
	}
}

#if LINUX_VERSION_CODE < KERNEL_VERSION(5, 16, 0)
static void describe_folio(struct page *page, struct pinhold_resolve *res)
{
	struct page *head = compound_head(page);
	bool large = PageHead(head);

	res->refcount = page_ref_count(head) - 1;
	res->mapcount = mapcount_function(head);
	res->order = compound_order(head);
	res->pincount = large && hpage_pincount_available(head) ? compound_pincount(head) : PINHOLD_PINCOUNT_UNAVAILABLE;
	res->flags = (PageAnon(head) ? PINHOLD_PAGE_ANON : 0) |
		     (large ? PINHOLD_PAGE_LARGE : 0) |
		     (PageHuge(head) ? PINHOLD_PAGE_HUGETLB : 0) |
		     (page_maybe_dma_pinned(head) ? PINHOLD_PAGE_MAYBE_PINNED : 0) |
		     (PageKsm(head) ? PINHOLD_PAGE_KSM : 0) |
		     (PageSwapBacked(head) ? PINHOLD_PAGE_SWAPBACKED : 0) |
		     (head->mapping && !PageAnon(head) ? PINHOLD_PAGE_MAPPING : 0);
	res->expected = PINHOLD_EXPECTED_UNAVAILABLE;
}
#else
static int mapcount(struct folio *folio)
{
#ifdef MAPCOUNT_FUNCTION
	return mapcount_function(folio);
#else
	return folio_mapcount(folio);
#endif
}

/* What it calls for small folios is not exported where the count is no inline function. */
static s64 expected_references(struct folio *folio)
{
#ifdef MAPCOUNT_FUNCTION
	return PINHOLD_EXPECTED_UNAVAILABLE;
#else
	return folio_expected_ref_count(folio);
#endif
}

static void describe_folio(struct page *page, struct pinhold_resolve *res)
{
	struct folio *folio = page_folio(page);
	bool large = folio_test_large(folio);

	res->refcount = folio_ref_count(folio) - 1;
	res->mapcount = mapcount(folio);
	res->order = folio_order(folio);
	res->pincount = large ? atomic_read(&folio->_pincount) : PINHOLD_PINCOUNT_UNAVAILABLE;
	res->flags = (folio_test_anon(folio) ? PINHOLD_PAGE_ANON : 0) |
		     (large ? PINHOLD_PAGE_LARGE : 0) |
		     (folio_test_hugetlb(folio) ? PINHOLD_PAGE_HUGETLB : 0) |
		     (folio_maybe_dma_pinned(folio) ? PINHOLD_PAGE_MAYBE_PINNED : 0) |
		     (folio_test_ksm(folio) ? PINHOLD_PAGE_KSM : 0) |
		     (folio_test_swapbacked(folio) ? PINHOLD_PAGE_SWAPBACKED : 0) |
		     (folio->mapping && !folio_test_anon(folio) ? PINHOLD_PAGE_MAPPING : 0);
	res->expected = expected_references(folio);
}
#endif

static void describe(struct page *page, struct pinhold_resolve *res)
{
	res->pfn = page_to_pfn(page);
	res->node = page_to_nid(page);
	res->zone = zone_idx(page_zone(page));
	res->migratetype = pageblock_migratetype(page);
	describe_folio(page, res);
	res->head_pfn = page_to_pfn(compound_head(page));
	strscpy(res->migratetype_name, migratetype_name(res->migratetype), sizeof(res->migratetype_name));
	res->is_cma = is_migrate_cma(res->migratetype) ? 1 : 0;
	res->is_movable_zone = res->zone == ZONE_MOVABLE;
	strscpy(res->zone_name, page_zone(page)->name, sizeof(res->zone_name));
}

#endif
