/* SPDX-License-Identifier: BSD-2-Clause */
/* Reading small files of /proc and /sys. All return 0 or -errno. */
#ifndef PINWHY_ENRICH_READ_H
#define PINWHY_ENRICH_READ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Opens `root`/`path` as a stream the caller closes. */
int read_open(const char *root, const char *path, FILE **ret_f);
/* Opens `name` below the open directory `dir_fd`. */
int read_open_at(int dir_fd, const char *name, FILE **ret_f);
/* The first line without its line break. -ENAMETOOLONG when it does not fit, -ENODATA when empty. */
int read_first_line(FILE *f, char *ret_text, size_t size);
/* A whole decimal number at the start of `text`, blanks before it allowed. -EBADMSG otherwise. */
int read_number(const char *text, uint64_t *ret_value);
/* The number on the first line of `root`/`path`. */
int read_file_number(const char *root, const char *path, uint64_t *ret_value);
/* "NAME: 12 kB" -> bytes. -ENOENT when `line` is about another name, -EBADMSG when it is malformed. */
int read_kb_line(const char *line, const char *name, uint64_t *ret_bytes);

#endif
