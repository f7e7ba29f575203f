// SPDX-License-Identifier: BSD-2-Clause
/* The pool of huge pages that a hugetlb mapping draws from. */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>

#include "enrich/enrich.h"
#include "enrich/hugetlb.h"
#include "enrich/read.h"

/* mem_fmt() of mm/hugetlb_cgroup.c */
void hugetlb_size(char ret_text[HUGETLB_SIZE_LEN], uint64_t page_bytes)
{
	if (page_bytes >= 1ULL << 30)
		snprintf(ret_text, HUGETLB_SIZE_LEN, "%" PRIu64 "GB", page_bytes >> 30);
	else if (page_bytes >= 1ULL << 20)
		snprintf(ret_text, HUGETLB_SIZE_LEN, "%" PRIu64 "MB", page_bytes >> 20);
	else
		snprintf(ret_text, HUGETLB_SIZE_LEN, "%" PRIu64 "KB", page_bytes >> 10);
}

static int read_count(const struct enrich *e, uint64_t page_bytes, const char *name, uint64_t *ret_pages)
{
	char path[PATH_MAX];

	if (!page_bytes)
		return FACT_NOT_ASKED;
	snprintf(path, sizeof(path), "/sys/kernel/mm/hugepages/hugepages-%" PRIu64 "kB/%s",
		 page_bytes / 1024, name);
	return read_file_number(e->root, path, ret_pages);
}

void enrich_hugetlb_pool(const struct enrich *e, const struct facts_request *req, struct facts *f)
{
	uint64_t bytes = req->hugetlb_bytes;

	ENRICH_FAIL(f, hugetlb_total_pages, read_count(e, bytes, "nr_hugepages", &f->hugetlb_total_pages));
	ENRICH_FAIL(f, hugetlb_free_pages, read_count(e, bytes, "free_hugepages", &f->hugetlb_free_pages));
	ENRICH_FAIL(f, hugetlb_reserved_pages,
		    read_count(e, bytes, "resv_hugepages", &f->hugetlb_reserved_pages));
}
