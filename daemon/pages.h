/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Would a long-term pin for writing succeed on this memory? What the kernel's files and its memory say of a
 * process's pages, judged page by page and summed. Pure: who reads all that is cli/pages.c.
 *
 * It is a look at a moment, not a lock: counts change while they are read.
 */
#ifndef PINWHY_PAGES_H
#define PINWHY_PAGES_H

#include <stdbool.h>
#include <stdint.h>

#include "identity.h"
#include "text.h"
#include "wire_look.h"

#define PAGES_NAME_LEN 256
#define PAGES_TEXT 640

/* One line of /proc/PID/maps. */
struct pages_mapping {
	uint64_t start, end;	/* bytes */
	bool writable, shared;
	char name[PAGES_NAME_LEN];	/* of the process: hostile; cut to fit, "" = none */
	bool vma_known;
	struct wire_vma vma;	/* the kernel's own of the same start and end */
};
/* False: not such a line; ret_mapping is then not changed. */
bool pages_parse_maps(const char *line, struct pages_mapping *ret_mapping);

/* One entry of /proc/PID/pagemap. */
struct pages_entry {
	bool present, swapped;
	bool special;	/* swap in form alone: poison, a page of a device or on its way elsewhere, a marker */
	bool write_protected;	/* by userfaultfd, which then answers a write to it */
	bool guard;	/* MADV_GUARD_INSTALL: touching it is a fault */
	uint64_t pfn;	/* 0 = hidden, or not present */
};
struct pages_entry pages_parse_entry(uint64_t word);

/* "0x7f00", "4096", "64K", "1G". False: no such number, or it does not fit. */
bool pages_parse_number(const char *text, bool suffix, uint64_t *ret_value);

/* What a long-term pin does with a page. */
enum pages_fate {
	PAGES_STAYS,	/* fine where it is */
	PAGES_COMES,	/* not there, or not the process's own: the pin brings a page, and puts it where it is fine */
	PAGES_MOVES,	/* must leave, and nothing is known to hold it */
	PAGES_UNKNOWN,
	PAGES_REFUSED,	/* the pin fails here */
	PAGES_NOT_JUDGED,	/* it would, and nobody asks for one */
	PAGES_FATES
};

enum pages_reason {
#define REASON(id, fate, text) PAGES_R_##id,
#include "pages.def"
#undef REASON
	PAGES_REASONS
};

struct pages_reason_row {
	const char *id;
	enum pages_fate fate;
	const char *text;
};
extern const struct pages_reason_row pages_reasons[PAGES_REASONS];
const char *pages_fate_name(enum pages_fate fate);

/* What this kernel does, as far as it is not in the pages themselves. */
struct pages_rules {
	uint32_t page_size;
	bool movable_refused;	/* a long-term pin must leave ZONE_MOVABLE */
	bool cma_refused;	/* and CMA, and pageblocks that are being isolated */
	bool huge_refused;	/* huge pages are not moved out of the way of a pin, but refused */
	bool batches_emptied;	/* a surplus of references makes a pin empty the per-CPU batches */
	bool guards_between;	/* nobody asked for a range: guard pages are what lies between what somebody may register */
	bool files_checked;	/* long-term pins of files whose writes are tracked are refused */
	uint64_t memory_bytes;	/* of the whole machine; 0 = not known */
};
struct pages_rules pages_rules_of(const struct identity *id);

/* One page as judged. */
struct pages_page {
	uint64_t address, index;	/* page number in what was asked for */
	uint64_t pfn;		/* 0 = not known, or not there */
	const struct wire_look *look;	/* NULL = it is not there */
	const struct wire_folio *folio;	/* NULL = not described */
	int64_t surplus;	/* references of the folio that nothing explains; negative: fewer than expected */
	int64_t pins, others;	/* of these */
	bool counted;		/* pins are not an estimate */
	bool counts_known;
	enum pages_reason reason;
};
/*
 * Judges one page. `looks` is the batch that `look` is of; look is NULL of a page that is not there.
 */
void pages_judge(const struct pages_rules *rules, const struct pages_mapping *m, struct pages_entry entry,
		 const struct wire_look *looks, const struct wire_look *look, struct pages_page *page);

/* Neighbours of equal placement and fate. */
struct pages_group {
	uint64_t start, pages;
	struct pages_page first;	/* look and folio point into the group */
	struct wire_look look;
	struct wire_folio folio;
	uint64_t folios;
	int64_t surplus, pins, others;	/* of all of its folios */
	uint64_t last_head;	/* pfn, of the folio counted last */
};
/* Adds `n` pages that are all like `page`. False: they are of another kind or do not follow. */
bool pages_group_add(struct pages_group *g, const struct pages_page *page, uint64_t n, uint32_t page_size);
void pages_group_start(struct pages_group *g, const struct pages_page *page, uint64_t n);

/* The worse, the later. */
enum pages_verdict { PAGES_WOULD, PAGES_WOULD_MOVE, PAGES_NOT_KNOWN, PAGES_WOULD_NOT };
const char *pages_verdict_name(enum pages_verdict v);

/* A mapping, or all that was asked for. */
struct pages_sum {
	uint64_t pages;
	uint64_t by_reason[PAGES_REASONS];
	/* The first page that is refused, and the first that is not known; without look and folio. */
	struct pages_page refused, unknown;
	struct wire_folio refused_folio;
};
void pages_sum_add(struct pages_sum *s, const struct pages_page *page, uint64_t n);
uint64_t pages_sum_of(const struct pages_sum *s, enum pages_fate fate);

/*
 * Why no long-term pin for writing gets into this mapping at all, NULL = it may. *ret_errno is what it fails with;
 * 0: that is not known for certain.
 */
const char *pages_objection(const struct pages_rules *rules, const struct pages_mapping *m, int *ret_errno);

/*
 * Verdict on pages, in a sentence. free_outside_bytes: memory that pages could move to, UINT64_MAX = not known.
 */
enum pages_verdict pages_judge_sum(const struct pages_rules *rules, const struct pages_sum *s, uint64_t free_outside_bytes,
				   char text[PAGES_TEXT]);

/* "CMA area \"x\"", "ZONE_MOVABLE": what of its place a long-term pin refuses; "" = nothing. */
const char *pages_place(const struct pages_rules *rules, const struct wire_folio *f, char buf[PAGES_TEXT]);
/* "anonymous", "shmem", ... */
const char *pages_mapping_word(const struct wire_folio *f);

#endif
