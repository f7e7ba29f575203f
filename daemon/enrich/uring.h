/* SPDX-License-Identifier: BSD-2-Clause */
/* What the fdinfo of an io_uring instance says about the buffers that are registered in it. */
#ifndef PINWHY_ENRICH_URING_H
#define PINWHY_ENRICH_URING_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define URING_LINK "anon_inode:[io_uring]"
#define URING_MET_MAX 8

struct uring {
	uint64_t page_bytes, from, to;	/* in: those that meet [from, to) are kept */
	uint64_t pages;			/* that all of them span */
	struct {
		uint64_t start, bytes;
	} met[URING_MET_MAX];
	uint32_t nmet;
	bool more;			/* others met it as well */
};

/* The instance behind the descriptor `fd_name` of an open /proc/PID. 0 or -errno. */
int uring_read(int proc_fd, const char *fd_name, struct uring *u);

#endif
