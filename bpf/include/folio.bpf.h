/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * From a folio pointer to its placement and to what its references mean. Only on
 * the failure path: probe reads and CO-RE chains are fine here.
 */
#ifndef PINWHY_FOLIO_BPF_H
#define PINWHY_FOLIO_BPF_H

#include "flavors.bpf.h"
#include "section.bpf.h"

#define CMA_AREAS_MAX 20	/* MAX_CMA_AREAS: CONFIG_CMA_AREAS is 20 on Debian 7.3 */
#define CMA_RANGES_MAX 8	/* CMA_MAX_RANGES, mm/cma.h */
/*
 * Tails that are looked at one by one: a huge page of the largest, 512 MiB on arm64 with pages of 64 KiB. The
 * order bounds the walk, and this what order may be believed.
 */
#define THP_PAGES_MAX 8192

/* include/linux/mm.h page_to_pfn() for SPARSEMEM_VMEMMAP. 0 = unknown. */
static __always_inline __u64 folio_pfn_of(const struct folio *f)
{
	__u32 zero = 0;
	struct wire_calibration *cal = bpf_map_lookup_elem(&calibration, &zero);

	if (!cal || !cal->vmemmap || (__u64)f < cal->vmemmap)
		return 0;
	return ((__u64)f - cal->vmemmap) / bpf_core_type_size(struct page);
}

/* NULL: its section has no struct pages. *ret_map is section_mem_map with its flags. */
static __always_inline struct mem_section_usage *section_usage_of(__u64 pfn, __u64 *ret_map)
{
	struct mem_section *section = section_of_pfn(pfn);

	if (!section)
		return NULL;
	*ret_map = BPF_CORE_READ(section, section_mem_map);
	return *ret_map & SECTION_HAS_MEM_MAP ? BPF_CORE_READ(section, usage) : NULL;
}

/* Reads the pageblock's word as get_pfnblock_flags_mask() does (mm/page_alloc.c). False: not mapped. */
static __always_inline bool pageblock_bits_of(__u64 pfn, __u64 *ret_bits)
{
	__u64 map, word = 0, bit;
	struct mem_section_usage *usage = section_usage_of(pfn, &map);

	if (!usage)
		return false;
	bit = ((pfn & ((1ULL << cfg.section_shift) - 1)) >> cfg.pageblock_order) * cfg.pageblock_bits;
	bpf_probe_read_kernel(&word, sizeof(word),
			      (void *)usage + bpf_core_field_offset(struct mem_section_usage, pageblock_flags) +
				      bit / 64 * 8);
	*ret_bits = (word >> (bit % 64)) & ((1ULL << cfg.pageblock_bits) - 1);
	return true;
}

static __always_inline void folio_placement(struct wire_folio *out, const struct folio *f, __u64 flags)
{
	__u64 bits;

	out->pfn = folio_pfn_of(f);
	if (!out->pfn || !sections_known() || !pageblock_bits_of(out->pfn, &bits))
		return;
	out->node = cfg.nodes_shift ? flags >> (64 - cfg.nodes_shift) : 0;
	out->zone = (flags >> (64 - cfg.nodes_shift - cfg.zones_shift)) & ((1U << cfg.zones_shift) - 1);
	out->migratetype = bits & 7;
	if (bpf_core_enum_value_exists(enum migratetype, MIGRATE_CMA) &&
	    out->migratetype == bpf_core_enum_value(enum migratetype, MIGRATE_CMA))
		out->flags |= WIRE_FOLIO_CMA;
	if (bpf_core_enum_value_exists(enum pageblock_bits, PB_migrate_isolate) &&
	    bits & (1ULL << bpf_core_enum_value(enum pageblock_bits, PB_migrate_isolate)))
		out->migratetype = bpf_core_enum_value(enum migratetype, MIGRATE_ISOLATE);
	if (out->migratetype == bpf_core_enum_value(enum migratetype, MIGRATE_ISOLATE))
		out->flags |= WIRE_FOLIO_ISOLATE;
	if (out->zone == bpf_core_enum_value(enum zone_type, ZONE_MOVABLE))
		out->flags |= WIRE_FOLIO_MOVABLE_ZONE;
	out->have |= WIRE_HAVE_PLACEMENT;
}

struct area_search {
	__u64 pfn;
	__u32 areas;
	__s32 found;
};

/* One range of one area; in older kernels an area is one range. */
static long area_one(__u32 i, void *ctx)
{
	struct area_search *a = ctx;
	__u32 area = i / CMA_RANGES_MAX, k = i % CMA_RANGES_MAX;
	struct cma___ranges *r = (void *)cfg.addr_cma_areas + area * bpf_core_type_size(struct cma);
	struct cma___flat *o = (void *)r;
	__u64 base, count;

	if (area >= a->areas)
		return 1;
	if (bpf_core_field_exists(r->nranges)) {
		struct cma_memrange *m = (void *)r + bpf_core_field_offset(struct cma___ranges, ranges) +
					 k * bpf_core_type_size(struct cma_memrange);

		if ((int)k >= BPF_CORE_READ(r, nranges))
			return 0;
		base = BPF_CORE_READ(m, base_pfn);
		count = BPF_CORE_READ(m, count);
	} else {
		base = BPF_CORE_READ(o, base_pfn);
		count = k ? 0 : BPF_CORE_READ(o, count);
	}
	if (a->pfn - base >= count)
		return 0;
	a->found = area;
	return 1;
}

/* Name of the CMA area that holds the pfn (mm/cma.c: cma_areas[]). */
static __always_inline void folio_area(struct wire_folio *out)
{
	struct area_search a = { .pfn = out->pfn, .found = -1 };
	struct cma___ranges *r;

	if (!cfg.addr_cma_areas || !cfg.addr_cma_area_count || !bpf_core_type_exists(struct cma)) {
		out->flags |= WIRE_FOLIO_AREA_UNTOLD;
		return;
	}
	bpf_probe_read_kernel(&a.areas, sizeof(a.areas), (void *)cfg.addr_cma_area_count);
	bpf_loop(CMA_AREAS_MAX * CMA_RANGES_MAX, area_one, &a, 0);
	if (a.found < 0)
		return;
	r = (void *)cfg.addr_cma_areas + a.found * bpf_core_type_size(struct cma);
	BPF_CORE_READ_STR_INTO(&out->area, r, name);
	out->have |= WIRE_HAVE_AREA;
}

struct tails_sum {
	const struct folio *folio;
	__u32 pages;
	__s64 mappings;
};

static long tail_one(__u32 i, void *ctx)
{
	struct tails_sum *t = ctx;
	struct page *p = (void *)t->folio + i * bpf_core_type_size(struct page);

	if (i >= t->pages)
		return 1;
	t->mappings += BPF_CORE_READ(p, _mapcount.counter) + 1;
	return 0;
}

/* PageDoubleMap() of include/linux/page-flags.h, v6.1, which is in the first tail; gone with the sum of tails. */
static __always_inline bool folio_mapped_twice(const struct folio *f)
{
	struct folio *tail = (void *)f + bpf_core_type_size(struct page);

	return bpf_core_enum_value_exists(enum pageflags___double, PG_double_map) &&
	       (folio_page_flags(tail) & (1ULL << bpf_core_enum_value(enum pageflags___double, PG_double_map)));
}

/*
 * All mappings of a folio. A large folio of 6.1 keeps no total: folio_mapcount() of
 * mm/util.c, v6.1, sums the tails; hugetlb counts on the head only.
 */
static __always_inline __s64 folio_mapcount_of(const struct folio *f, __u32 order, bool hugetlb, bool anon)
{
	struct folio___large *large = (void *)f;
	struct tails_sum tails = { .folio = f, .pages = 1U << (order & 31) };
	__s64 entire;

	if (!order)
		return BPF_CORE_READ(f, _mapcount.counter) + 1;
	if (bpf_core_field_exists(large->_large_mapcount))
		return BPF_CORE_READ(large, _large_mapcount.counter) + 1;
	entire = folio_entire_mapcount(f);
	if (hugetlb)
		return entire;
	bpf_loop(THP_PAGES_MAX, tail_one, &tails, 0);
	/* The entire mapping of a file THP is counted in every tail as well, */
	if (!anon)
		return tails.mappings + entire - entire * tails.pages;
	/* and one of an anonymous one that is mapped both ways. */
	return tails.mappings + entire - (folio_mapped_twice(f) ? tails.pages : 0);
}

/*
 * References that mappings, page cache and the isolation explain; the rest is somebody
 * else's. folio_expected_refs() and migrate_page_move_mapping() of mm/migrate.c, with the
 * isolation reference that is still held at putback.
 */
static __always_inline void folio_counts(struct wire_folio *out, const struct folio *f, __u64 flags)
{
	__u64 mapping = (__u64)BPF_CORE_READ(f, mapping);
	__s64 nr = 1LL << (out->order & 31);
	bool anon = (mapping & PAGE_MAPPING_FLAGS) == PAGE_MAPPING_ANON;
	bool ksm = (mapping & PAGE_MAPPING_FLAGS) == PAGE_MAPPING_FLAGS;
	bool hugetlb = folio_is_hugetlb(f, out->order);
	__s64 expected;

	if (anon || ksm)
		out->flags |= WIRE_FOLIO_ANON | (ksm ? WIRE_FOLIO_KSM : 0);
	else if ((mapping & PAGE_MAPPING_FLAGS) != 0)
		out->flags |= WIRE_FOLIO_UNMOVABLE_OPS;
	else if (mapping)
		out->flags |= FOLIO_FLAG(flags, PG_swapbacked) && !hugetlb ? WIRE_FOLIO_SHMEM : WIRE_FOLIO_FILE;
	out->flags |= (hugetlb ? WIRE_FOLIO_HUGETLB : 0) | (out->order ? WIRE_FOLIO_LARGE : 0) |
		      (FOLIO_FLAG(flags, PG_private) ? WIRE_FOLIO_PRIVATE : 0) |
		      (FOLIO_FLAG(flags, PG_writeback) ? WIRE_FOLIO_WRITEBACK : 0) |
		      (FOLIO_FLAG(flags, PG_locked) ? WIRE_FOLIO_LOCKED : 0) |
		      (FOLIO_FLAG(flags, PG_mlocked) ? WIRE_FOLIO_MLOCKED : 0);
	/* PG_swapcache shares its bit with another flag on folios that are not swap-backed. */
	if (FOLIO_FLAG(flags, PG_swapcache) && FOLIO_FLAG(flags, PG_swapbacked))
		out->flags |= WIRE_FOLIO_SWAPCACHE;

	out->mapcount = folio_mapcount_of(f, out->order, hugetlb, anon || ksm);
	out->refcount = BPF_CORE_READ(f, _refcount.counter);
	out->pincount = folio_pincount_of(f, out->order);
	expected = out->mapcount + 1;
	if (hugetlb)
		expected += mapping && !anon ? (cfg.hugetlb_index_huge ? 1 : nr) : 0;
	else if (out->flags & WIRE_FOLIO_SWAPCACHE)
		expected += nr;
	else if (!anon && !ksm && mapping)
		expected += nr + !!(out->flags & WIRE_FOLIO_PRIVATE);
	out->expected = expected;
	out->have |= WIRE_HAVE_COUNTS;
}

#endif
