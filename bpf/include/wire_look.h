/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Part of the contract of wire.h: what pinwhy pages asks of the kernel, and its answers. */
#ifndef PINWHY_WIRE_LOOK_H
#define PINWHY_WIRE_LOOK_H

#include "wire.h"

#define WIRE_LOOKS 512	/* pages described by one run of look_at_pages */

/* What there is behind a page frame number. */
enum wire_look_found {
	WIRE_LOOK_NOTHING = 0,	/* no page structure: a hole, memory that is offline, registers of a device */
	WIRE_LOOK_DEVICE = 1,	/* memory of a device (ZONE_DEVICE) */
	WIRE_LOOK_MEMORY = 2,	/* `folio` describes it */
	WIRE_LOOK_CHANGED = 3,	/* freed, split or joined while it was being read */
};

enum wire_look_flags {
	WIRE_LOOK_LRU = 1 << 0,		/* on a list of the LRU: nobody has isolated it, and it is in no per-CPU batch */
	WIRE_LOOK_RESERVED = 1 << 1,	/* PG_reserved: the zero page, pages of the kernel or of a driver */
	WIRE_LOOK_EXCLUSIVE = 1 << 2,	/* the page is this process's alone (PG_anon_exclusive) */
	WIRE_LOOK_EXCLUSIVE_KNOWN = 1 << 3,	/* this kernel tells that */
	/* Of user space, see lrubatch.h. */
	WIRE_LOOK_BATCHED_KNOWN = 1 << 4,	/* `batched` is what it says */
	WIRE_LOOK_BATCHED_NEW = 1 << 5,	/* in a batch that will put it on its list for the first time */
};

/* One page, by the frame number that user space asks about: see pages.bpf.c. */
struct wire_look {
	__u64 pfn;		/* in; 0 = the end */
	__u32 found;		/* enum wire_look_found */
	__u32 flags;		/* enum wire_look_flags */
	__u32 same;		/* the folio is described here: index of an earlier entry, or of this one */
	__u32 batched;		/* how often its folio is in per-CPU batches, each of which refers to it */
	struct wire_folio folio;	/* its header is not used; `expected` is that of a folio which nobody has isolated */
};

#define WIRE_LRU_BATCHES 16	/* kinds of them; six or seven in kernels so far */
#define WIRE_LRU_BATCH_MAX 32	/* pages of one; PAGEVEC_SIZE is 15 or 31 */
#define WIRE_BATCHED 65536	/* pages of all on all CPUs: 300 CPUs with seven full batches of 31 each */

/* Where one kind of batch is on each CPU (struct folio_batch or pagevec); from BTF and kallsyms, by user space. */
struct wire_lru_batch {
	__u64 address;		/* of the copy that is no CPU's: __per_cpu_offset[] is to be added; 0 = the end */
	__u32 entries_offset, entries_max;
	__u32 adds;		/* its pages are on no list yet */
	__u32 pad;
};

WIRE_ASSERT_SIZE(wire_look, 168);
WIRE_ASSERT_SIZE(wire_lru_batch, 24);

#endif
