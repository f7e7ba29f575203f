/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef PINWHY_ENRICH_HUGETLB_H
#define PINWHY_ENRICH_HUGETLB_H

#include <stdint.h>

#define HUGETLB_SIZE_LEN 32
/* How the hugetlb controller names a page size: "2MB", "1GB", "64KB". */
void hugetlb_size(char ret_text[HUGETLB_SIZE_LEN], uint64_t page_bytes);

#endif
