// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Pages of a process that has not failed: where they lie and what holds them, read with the same functions
 * that describe a failure. Nothing here is attached to a hook: `pinwhy pages` runs two programs by BPF_PROG_TEST_RUN,
 * one for each batch of page frame numbers and one where references of the kernel's own batches may be among those
 * that were counted, and reads the third like a file.
 */
#include "folio.bpf.h"
#include "vma.bpf.h"
#include "wire_look.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/* Frame numbers in, folios out. User space maps it. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, WIRE_LOOKS);
	__type(key, __u32);
	__type(value, struct wire_look);
} looks SEC(".maps");

struct look_walk {
	__u64 vmemmap;
	__u64 head;	/* of the entry before */
	__u32 same;	/* where that folio is described */
};

/* pfn_to_online_page() of mm/memory_hotplug.c and pfn_valid() of include/linux/mmzone.h. */
static __always_inline __u32 look_behind(__u64 pfn, const struct page *page)
{
	__u64 map, word = 0, bit;
	struct mem_section_usage *usage = section_usage_of(pfn, &map);

	if (!usage)
		return WIRE_LOOK_NOTHING;
	bit = (pfn & ((1ULL << cfg.section_shift) - 1)) >> (SUBSECTION_SHIFT - cfg.page_shift);
	bpf_probe_read_kernel(&word, sizeof(word),
			      (void *)usage + bpf_core_field_offset(struct mem_section_usage, subsection_map) + bit / 64 * 8);
	if (!(map & SECTION_IS_EARLY) && !(word & (1ULL << (bit % 64))))
		return WIRE_LOOK_NOTHING;
	/* Device memory shares a section with ordinary memory where the two meet. */
	if (bpf_core_enum_value_exists(enum zone_type, ZONE_DEVICE) &&
	    ((folio_page_flags((void *)page) >> (64 - cfg.nodes_shift - cfg.zones_shift)) & ((1U << cfg.zones_shift) - 1)) ==
		    bpf_core_enum_value(enum zone_type, ZONE_DEVICE))
		return WIRE_LOOK_DEVICE;
	return map & SECTION_IS_ONLINE ? WIRE_LOOK_MEMORY : WIRE_LOOK_NOTHING;
}

/* PageAnonExclusive(): of hugetlb the head tells, and of a huge page mapped as a whole as well. */
static __always_inline __u32 look_exclusive(const struct page *page, const struct folio *f, const struct wire_folio *out)
{
	__u64 flags;

	if (!bpf_core_enum_value_exists(enum pageflags, PG_anon_exclusive) || !(out->flags & WIRE_FOLIO_ANON) ||
	    (out->flags & WIRE_FOLIO_KSM))
		return 0;
	flags = folio_page_flags(out->flags & WIRE_FOLIO_HUGETLB ? f : (void *)page);
	if (out->order && !(out->flags & WIRE_FOLIO_HUGETLB) && folio_entire_mapcount(f))
		flags |= folio_page_flags(f);
	return WIRE_LOOK_EXCLUSIVE_KNOWN | (FOLIO_FLAG(flags, PG_anon_exclusive) ? WIRE_LOOK_EXCLUSIVE : 0);
}

static __always_inline void look_at_folio(struct wire_folio *out, const struct folio *f, __u64 flags)
{
	out->order = folio_order_of(f, flags);
	folio_placement(out, f, flags);
	folio_counts(out, f, flags);
	/* Nobody has isolated it: see folio_counts(). */
	out->expected--;
	folio_area(out);
}

static long look_one(__u32 i, void *ctx)
{
	struct look_walk *w = ctx;
	struct wire_look *l = bpf_map_lookup_elem(&looks, &i), *seen;
	struct page *page;
	struct folio *f;
	__u64 flags;

	if (!l || !l->pfn)
		return 1;
	page = (void *)(w->vmemmap + l->pfn * bpf_core_type_size(struct page));
	l->same = i;
	l->found = look_behind(l->pfn, page);
	if (l->found != WIRE_LOOK_MEMORY) {
		w->head = 0;
		return 0;
	}
	f = folio_of_page(page);
	flags = folio_page_flags(f);
	if ((__u64)f == w->head) {
		l->same = w->same;
	} else {
		look_at_folio(&l->folio, f, flags);
		w->head = (__u64)f;
		w->same = i;
	}
	seen = bpf_map_lookup_elem(&looks, &w->same);
	if (!seen)
		return 1;
	l->flags = (FOLIO_FLAG(flags, PG_lru) ? WIRE_LOOK_LRU : 0) | (FOLIO_FLAG(flags, PG_reserved) ? WIRE_LOOK_RESERVED : 0) |
		   look_exclusive(page, f, &seen->folio);
	if (folio_of_page(page) != f || seen->folio.refcount <= 0 || BPF_CORE_READ(f, _refcount.counter) <= 0)
		l->found = WIRE_LOOK_CHANGED;
	return 0;
}

/* Describes each page of `looks`, up to the first frame number of 0. */
SEC("?raw_tp")
int look_at_pages(void *ctx)
{
	struct look_walk walk = {};
	__u32 zero = 0;
	struct wire_calibration *cal = bpf_map_lookup_elem(&calibration, &zero);

	if (!cal || !cal->vmemmap || !sections_known())
		return 0;
	walk.vmemmap = cal->vmemmap;
	bpf_loop(WIRE_LOOKS, look_one, &walk, 0);
	return 0;
}

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, WIRE_LRU_BATCHES);
	__type(key, __u32);
	__type(value, struct wire_lru_batch);
} lru_batches SEC(".maps");

/* What is in them: see BATCHED_PFN() of lrubatch.h. User space maps it. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, WIRE_BATCHED);
	__type(key, __u32);
	__type(value, __u64);
} batched SEC(".maps");

struct batch_walk {
	__u64 offsets;	/* of __per_cpu_offset[] */
	__u32 found;
	__u32 full;
};

#define MLOCK_TAGS 3ULL	/* LRU_FOLIO and NEW_FOLIO of mm/mlock.c, in the pointers of its batch; other batches have none */
#define MLOCK_NEW 2ULL

/* One batch of one CPU. It changes meanwhile: an entry may be missing, or be there still. */
static long list_batch(__u32 i, void *ctx)
{
	struct batch_walk *w = ctx;
	__u32 which = i % WIRE_LRU_BATCHES;
	struct wire_lru_batch *b = bpf_map_lookup_elem(&lru_batches, &which);
	__u64 at = 0, entry, *slot;
	unsigned char n = 0;

	if (!b || !b->address)
		return 0;
	bpf_probe_read_kernel(&at, sizeof(at), (void *)(w->offsets + i / WIRE_LRU_BATCHES * 8));
	at += b->address;
	bpf_probe_read_kernel(&n, sizeof(n), (void *)at);
	for (__u32 k = 0; k < WIRE_LRU_BATCH_MAX && k < n && k < b->entries_max; k++) {
		entry = 0;
		bpf_probe_read_kernel(&entry, sizeof(entry), (void *)(at + b->entries_offset + k * 8));
		slot = bpf_map_lookup_elem(&batched, &w->found);
		if (!slot) {
			w->full = 1;
			return 1;
		}
		*slot = folio_pfn_of((void *)(entry & ~MLOCK_TAGS)) << 1 | (b->adds || (entry & MLOCK_NEW));
		w->found++;
	}
	return 0;
}

/* Fills `batched`. Its arguments are the address of __per_cpu_offset[] and the number of CPUs; returns how many, -1: too many. */
SEC("?raw_tp")
int list_batches(__u64 *ctx)
{
	struct batch_walk walk = { .offsets = ctx[0] };

	bpf_loop(ctx[1] * WIRE_LRU_BATCHES, list_batch, &walk, 0);
	return walk.full ? -1 : (int)walk.found;
}

/* Every mapping of one task, as struct wire_vma; of kernel pointers only whether there is one. */
SEC("?iter/task_vma")
int list_mappings(struct bpf_iter__task_vma *ctx)
{
	struct vm_area_struct *vma = ctx->vma;
	struct wire_vma out;

	if (!vma)
		return 0;
	__builtin_memset(&out, 0, sizeof(out));
	vma_copy(NULL, vma, &out);
	out.file = !!out.file;
	out.anon_root = !!out.anon_root;
	bpf_seq_write(ctx->meta->seq, &out, sizeof(out));
	return 0;
}
