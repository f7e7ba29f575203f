/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The walk of `pinwhy pages` through the mappings of a process, and through the pages of each: line by line and batch
 * by batch, so that memory does not grow with the process.
 */
#ifndef PINWHY_CLI_PAGES_SCAN_H
#define PINWHY_CLI_PAGES_SCAN_H

#include <signal.h>
#include <stdio.h>

#include "cli/pages_view.h"
#include "loader_pages.h"

#define INTERRUPTED "not known: interrupted"

extern volatile sig_atomic_t scan_interrupted;	/* set by a signal: the walk ends at the next batch */

struct scan {
	struct pages_view view;
	struct pages_total total;
	const char *btf;	/* --btf, NULL = none */
	struct page_reader *reader;
	struct wire_look *looks;
	uint64_t *batched;	/* place for two lists of per-CPU batches; NULL until one is needed */
	int proc_fd, pagemap_fd;
	FILE *maps, *vmas;
	struct wire_vma next_vma;	/* read ahead; start 0 = none */
	uint64_t start, end;	/* asked for; end 0 = everything */
	bool one_mapping;	/* the one that `start` lies in */
	uint64_t cursor;	/* up to here the range has been covered */
	uint64_t free_outside_bytes;
	struct pages_sum sum;	/* of the mapping at hand */
	struct pages_group group;
	bool progress;
	int64_t shown_ns;
};

/* -ESRCH: the memory of the process is gone. */
int scan_all(struct scan *s);
/* No mapping up to `end`: the rest of what was asked for. */
void scan_hole(struct scan *s, uint64_t end);
/* The worst verdict so far stays. */
void scan_take_verdict(struct scan *s, enum pages_verdict verdict, const char *text);

#endif
