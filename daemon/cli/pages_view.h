/* SPDX-License-Identifier: BSD-2-Clause */
/* What `pinwhy pages` prints, by pages_print.c. */
#ifndef PINWHY_CLI_PAGES_VIEW_H
#define PINWHY_CLI_PAGES_VIEW_H

#include "pages.h"

#define OBJECTIONS_MAX 8

struct pages_view {
	const struct identity *id;
	struct pages_rules rules;
	uint64_t pid;
	char comm[WIRE_COMM_LEN];
	bool json, detail;
};

/* RLIMIT_MEMLOCK as ib_umem_get() asks for it. */
struct pages_memlock {
	bool known, exempt;	/* CAP_IPC_LOCK */
	uint64_t limit_bytes, pinned_bytes, asked_bytes;
};

/* What all that was looked at comes to. */
struct pages_total {
	struct pages_sum sum;
	enum pages_verdict verdict;
	char text[PAGES_TEXT];
	uint64_t mappings;
	struct {
		const char *because;
		uint64_t mappings;
	} passed_over[OBJECTIONS_MAX];
	uint32_t npassed_over;
	struct pages_memlock memlock;	/* of a range that was asked for */
};

void view_mapping(const struct pages_view *v, const struct pages_mapping *m, uint64_t start, uint64_t end);
void view_page(const struct pages_view *v, const struct pages_page *page);
void view_group(const struct pages_view *v, const struct pages_group *g);
/* `sum` is NULL of a mapping that was not looked into, and of a hole, of which `m` is NULL too. */
void view_verdict(const struct pages_view *v, const struct pages_mapping *m, uint64_t start, uint64_t end,
		  const struct pages_sum *sum, enum pages_verdict verdict, const char *text);
void view_total(const struct pages_view *v, const struct pages_total *t);

#endif
