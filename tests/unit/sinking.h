/* SPDX-License-Identifier: BSD-2-Clause */
/* Reports with numbers, and what tests of sinks do with them. */
#ifndef PINWHY_TESTS_SINKING_H
#define PINWHY_TESTS_SINKING_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

/* {"n":N,"pad":"xxx..."} of `len` bytes, without a line break. To be freed. */
static inline char *numbered_report(unsigned int n, size_t len)
{
	char *line = malloc(len + 32);
	int head;

	assert_non_null(line);
	head = sprintf(line, "{\"n\":%u,\"pad\":\"", n);
	memset(line + head, 'x', len);
	strcpy(line + len - 2, "\"}");
	return line;
}

/* Every line of `text`, which is freed, is whole; their numbers are first, first + 1, ... Returns how many. */
static inline unsigned int check_lines(char *text, unsigned int first)
{
	unsigned int count = 0;
	char *save = NULL;

	assert_non_null(text);
	assert_true(!*text || text[strlen(text) - 1] == '\n');
	for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		unsigned int n;

		assert_int_equal(sscanf(line, "{\"n\":%u,", &n), 1);
		assert_int_equal(n, first + count);
		assert_string_equal(line + strlen(line) - 2, "\"}");
		assert_int_equal(strcspn(line + 1, "{"), strlen(line + 1));
		count++;
	}
	free(text);
	return count;
}

/* A file size limit behaves as a disk that fills up in the middle of a write. */
static inline void limit_file_size(rlim_t bytes)
{
	struct rlimit r;

	getrlimit(RLIMIT_FSIZE, &r);
	r.rlim_cur = bytes;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &r), 0);
}

#endif
