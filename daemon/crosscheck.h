/* SPDX-License-Identifier: BSD-2-Clause */
/* What open files say of who may hold a page: the lists of enrich/holders.c, taken apart. */
#ifndef PINWHY_CROSSCHECK_H
#define PINWHY_CROSSCHECK_H

#include <stdbool.h>
#include <stdint.h>

#include "facts.h"

#define CROSSCHECK_MAX 8
#define CROSSCHECK_NAME 32

struct crosscheck_buffer {	/* registered with io_uring */
	uint32_t fd;
	uint64_t start, bytes;
};

struct crosscheck_file {
	char name[CROSSCHECK_NAME];
	uint32_t count;
};

struct crosscheck_other {	/* process */
	uint32_t pid;
	char comm[WIRE_COMM_LEN];
	char name[CROSSCHECK_NAME];	/* of one such file */
};

struct crosscheck {
	struct crosscheck_buffer buffers[CROSSCHECK_MAX];
	struct crosscheck_file files[CROSSCHECK_MAX];
	struct crosscheck_other others[CROSSCHECK_MAX];
	uint32_t nbuffers, nfiles, nothers;
	char cut[CROSSCHECK_NAME], others_cut[CROSSCHECK_NAME];	/* what was left out, "" = nothing */
};

/* A list that is not known is empty, as is all that cannot be read. */
void crosscheck_read(const struct facts *f, struct crosscheck *ret);
/* Was anything of it asked for, and answered? */
bool crosscheck_known(const struct facts *f);
/* A buffer that has a byte of [start, end), NULL = none. */
const struct crosscheck_buffer *crosscheck_buffer_at(const struct crosscheck *c, uint64_t start, uint64_t end);
/* The first open file whose name begins so, NULL = none. */
const struct crosscheck_file *crosscheck_file(const struct crosscheck *c, const char *prefix);

#endif
