/* SPDX-License-Identifier: BSD-2-Clause */
/* Words of processes, paths and jobs in HTML: nothing of them is ever markup. */
#ifndef PINWHY_WEB_ESCAPE_H
#define PINWHY_WEB_ESCAPE_H

#include <stddef.h>
#include <stdio.h>

/*
 * For text between tags and for values of attributes in double quotes. Control characters but newline and tab, and what
 * turns the direction of text, are written as U+FFFD; what is not UTF-8 too.
 */
void escape_html(FILE *out, const char *s, size_t len);

#endif
