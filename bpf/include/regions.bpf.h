/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Live regions, and the two questions asked of them: has this process any, and may one lie in this range?
 * Both are answered by counters that are indexed by a hash and never full: where two share one, the answer
 * is "maybe" once too often and the regions themselves decide. Nothing has to be freed when a process ends.
 */
#ifndef PINWHY_REGIONS_BPF_H
#define PINWHY_REGIONS_BPF_H

#include "probe.bpf.h"

#define REGIONS_MAX 8192	/* 1 << 13 */
#define REGION_PROBES 32
#define MMS 4096	/* counters of regions per process; 1 << 12 */
#define BLOCKS 65536	/* counters of regions per block of addresses; 1 << 16 */
#define REGION_BLOCKS 17	/* a region of less than 16 blocks touches at most this many */
#define LEVELS 5

struct region {
	__u64 mm;	/* kernel pointer, which the umem keeps from being used again; never leaves the maps */
	__u64 umem;	/* likewise; 0 = free, claimed by compare-and-swap */
	__u64 start, end;	/* whole pages */
	__u64 address, length;	/* bytes, as registered */
	__u64 device;	/* kernel pointer to struct ib_device; likewise */
	__u64 born_ns;
	__u64 id;	/* 0 until the rest is written */
	__u32 tgid, access;
	__u32 api;	/* enum wire_api */
	__u32 reported;
};

/* In one of REGION_PROBES places from the hash of its umem on. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, REGIONS_MAX);
	__type(key, __u32);
	__type(value, struct region);
} regions SEC(".maps");

/* Which places are taken, so that looking through them costs what there is, not what there may be. */
__u64 regions_used[REGIONS_MAX / 64];
__u32 regions_of_mm[MMS];
__u32 regions_of_block[BLOCKS];
__u32 regions_of_level[LEVELS];

static __always_inline __u32 hash(__u64 value, __u32 bits)
{
	return value * 0x9e3779b97f4a7c15ULL >> (64 - bits); /* Fibonacci: the top bits are well mixed */
}

/* The place of `umem`; 0: the first free one, which now belongs to `home`. */
static __always_inline struct region *region_probe(__u64 home, __u64 umem, __u32 *ret_place)
{
	__u32 first = hash(home, 13);

	for (__u32 i = 0; i < REGION_PROBES; i++) {
		__u32 place = (first + i) & (REGIONS_MAX - 1);
		struct region *r = bpf_map_lookup_elem(&regions, &place);

		if (!r || r->umem != umem)
			continue;
		if (!umem && __sync_val_compare_and_swap(&r->umem, 0, home))
			continue;
		*ret_place = place;
		return r;
	}
	return NULL;
}

/* Blocks of 64 KiB, 2 MiB, 64 MiB, 2 GiB and everything: a region is counted in those it has a few of. */
static __always_inline __u32 level_shift(__u32 level)
{
	return level == LEVELS - 1 ? 63 : 16 + 5 * level;
}

static __always_inline __u32 *mm_counter(__u64 mm)
{
	return &regions_of_mm[hash(mm >> 6, 12) & (MMS - 1)];
}

static __always_inline __u32 *block_counter(__u64 mm, __u32 level, __u64 block)
{
	return &regions_of_block[hash((mm >> 6) ^ (block << 20) ^ ((__u64)level << 60), 16) & (BLOCKS - 1)];
}

static __always_inline __u32 region_level(const struct region *r)
{
	__u64 bytes = r->end - r->start;

#pragma unroll
	for (__u32 level = 0; level < LEVELS - 1; level++)
		if (bytes >> level_shift(level) < 15)
			return level;
	return LEVELS - 1;
}

static __always_inline void region_count(const struct region *r, __u32 by)
{
	__u32 level = region_level(r), shift = level_shift(level);
	__u64 first = r->start >> shift, last = (r->end - 1) >> shift;

	for (__u32 i = 0; i < REGION_BLOCKS && first + i <= last; i++)
		__sync_fetch_and_add(block_counter(r->mm, level, first + i), by);
	if (level < LEVELS)
		__sync_fetch_and_add(&regions_of_level[level], by);
	__sync_fetch_and_add(mm_counter(r->mm), by);
}

/* Has this process a live region? All that most calls of most processes pay for. */
static __always_inline bool mm_has_regions(__u64 mm)
{
	return *mm_counter(mm);
}

/* May a region of this process lie in the range? A range of many blocks is not asked for each of them. */
static __always_inline bool range_may_hit(__u64 mm, __u64 start, __u64 end)
{
	if (!mm_has_regions(mm) || end <= start)
		return false;
	for (__u32 level = 0; level < LEVELS; level++) {
		__u32 shift = level_shift(level);
		__u64 first = start >> shift, last = (end - 1) >> shift;

		if (!regions_of_level[level])
			continue;
		if (last - first >= REGION_BLOCKS)
			return true;
		for (__u32 i = 0; i < REGION_BLOCKS && first + i <= last; i++)
			if (*block_counter(mm, level, first + i))
				return true;
	}
	return false;
}

/* False: there is no place. */
static __always_inline bool region_add(const struct region *from)
{
	__u32 place = 0;
	struct region *r = region_probe(from->umem, 0, &place);

	if (!r)
		return false;
	r->mm = from->mm;
	r->start = from->start;
	r->end = from->end;
	r->address = from->address;
	r->length = from->length;
	r->device = from->device;
	r->born_ns = from->born_ns;
	r->tgid = from->tgid;
	r->access = from->access;
	r->api = from->api;
	r->reported = 0;
	barrier();
	r->id = from->id;
	__sync_fetch_and_or(&regions_used[place / 64 & (REGIONS_MAX / 64 - 1)], 1ULL << (place & 63));
	region_count(from, 1);
	return true;
}

static __always_inline void region_remove(__u64 umem)
{
	__u32 place = 0;
	struct region *r = region_probe(umem, umem, &place);
	struct region gone;

	if (!r)
		return;
	gone = *r;
	r->id = 0;
	__sync_fetch_and_and(&regions_used[place / 64 & (REGIONS_MAX / 64 - 1)], ~(1ULL << (place & 63)));
	r->umem = 0;
	region_count(&gone, -1);
}

#endif
