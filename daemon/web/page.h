/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The status page, in pieces, and the page of one report. Plain HTML: no script, nothing from elsewhere, readable as text;
 * every word of a report goes through escape_html().
 */
#ifndef PINWHY_WEB_PAGE_H
#define PINWHY_WEB_PAGE_H

#include <stdio.h>

#include "http.h"

/* Served at PAGE_STYLE_PATH. */
#define PAGE_STYLE_PATH "/style.css"
extern const char page_style[];

void page_write_head(FILE *out, const struct http_status *status, uint64_t reports_held);
void page_write_report(FILE *out, const struct stored *report);
void page_write_none(FILE *out, const char *sentence);
void page_write_hazards(FILE *out);
void page_write_tail(FILE *out, const struct http_status *status);

/* The whole page of one report. */
void page_write_one(FILE *out, const struct stored *report);

#endif
