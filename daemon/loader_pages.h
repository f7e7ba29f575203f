/* SPDX-License-Identifier: BSD-2-Clause */
/* The BPF programs that are run and not hooked: they describe pages by frame number, list what per-CPU batches refer to,
 * and list a task's mappings. */
#ifndef PINWHY_LOADER_PAGES_H
#define PINWHY_LOADER_PAGES_H

#include <stdio.h>

#include "loader.h"
#include "loader_batches.h"

struct page_reader;

/* On failure *ret_why is a sentence for the operator, as of loader_open(). `l` is kept; `table` is of batches_find(). */
int page_reader_open(struct page_reader **ret_reader, struct loader *l, struct batch_table *table, const char **ret_why);
void page_reader_free(struct page_reader *r);

/* The batch: WIRE_LOOKS of them, to be filled in up to the first pfn of 0 and zero but for that. */
struct wire_look *page_reader_looks(struct page_reader *r);
/* Describes the batch. */
int page_reader_run(struct page_reader *r);
/* What is in per-CPU batches now, as lrubatch.h reads it; there must be place for WIRE_BATCHED. -errno: not known. */
int page_reader_batched(struct page_reader *r, uint64_t *entries, uint32_t *ret_n);
/* A stream of struct wire_vma, by address, of the task with this id. The caller closes it. */
int page_reader_mappings(struct page_reader *r, uint32_t tid, FILE **ret_f);

#endif
