// SPDX-License-Identifier: BSD-2-Clause
/*
 * Answers that are made while they are sent: lists of reports as JSON, and the page. One piece is one report at most; where it
 * takes long to make, each has its turn of the loop. What has left the store meanwhile is left out.
 */
#include <errno.h>
#include <json-c/json_object.h>
#include <json-c/json_tokener.h>
#include <stdlib.h>
#include <string.h>

#include "http_state.h"
#include "web/page.h"

#define JSON_PIECE ((size_t)32 << 10)	/* several reports together, of those that are only copied */
#define BLOCK 8192			/* that libmicrohttpd asks for at a time */
#define PAGE_REPORTS 20
#define PAGE_HAZARDS 10

struct stream;

struct part {
	/* Writes one piece; false = this part is done. */
	bool (*write)(struct stream *s, FILE *out);
	bool slow;	/* each piece has a turn of its own */
};

struct stream {
	struct http *http;
	struct client *client;
	const struct part *parts;
	struct query query;
	uint64_t number;	/* reports below this one are still to come; 0 = none */
	uint32_t left, sent;	/* reports */
	char *piece;		/* being sent */
	size_t len, at;
};

/* ---- pieces ---- */

/* 1 = there is a piece, 0 = there is no more, -1 = out of memory. */
static int next_piece(struct stream *s)
{
	FILE *out;
	bool more;

	free(s->piece);
	s->piece = NULL;
	s->len = s->at = 0;
	while (s->parts->write) {
		out = open_memstream(&s->piece, &s->len);
		if (!out)
			return -1;
		more = s->parts->write(s, out);
		if (fclose(out) != 0)
			return -1;
		if (!more) {
			s->parts++;
			s->number = UINT64_MAX;
		}
		if (s->len)
			return 1;
		free(s->piece);
		s->piece = NULL;
	}
	return 0;
}

/* In libmicrohttpd's hands: takes a turn for a slow piece, or waits for one. */
static bool has_turn(struct stream *s)
{
	struct http *h = s->http;

	if (!s->parts->slow)
		return true;
	if (h->pieces) {
		h->pieces--;
		return true;
	}
	s->client->stage = STAGE_STREAM;
	s->client->order = ++h->order;
	MHD_suspend_connection(s->client->connection);
	http_wake(h);
	return false;
}

static ssize_t read_stream(void *ctx, uint64_t at, char *buf, size_t max)
{
	struct stream *s = ctx;
	size_t n;

	(void)at;
	if (s->at == s->len) {
		int rc;

		if (!has_turn(s))
			return 0;
		rc = next_piece(s);
		if (rc <= 0)
			return rc ? MHD_CONTENT_READER_END_WITH_ERROR : MHD_CONTENT_READER_END_OF_STREAM;
	}
	n = s->len - s->at < max ? s->len - s->at : max;
	memcpy(buf, s->piece + s->at, n);
	s->at += n;
	return (ssize_t)n;
}

static void free_stream(void *ctx)
{
	struct stream *s = ctx;

	free(s->piece);
	free(s);
}

static struct MHD_Response *start(struct http *h, struct client *c, const struct part *parts, const struct query *q)
{
	struct stream *s = calloc(1, sizeof(*s));
	struct MHD_Response *r;

	if (!s)
		return NULL;
	*s = (struct stream){ .http = h, .client = c, .parts = parts, .query = *q, .number = UINT64_MAX, .left = q->limit };
	r = MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, BLOCK, read_stream, s, free_stream);
	if (!r)
		free_stream(s);
	return r;
}

/* ---- JSON ---- */

static bool json_head(struct stream *s, FILE *out)
{
	(void)s;
	fputs("{\"reports\":[", out);
	return false;
}

static bool next_fitting(struct stream *s, struct stored *ret_report)
{
	while (s->left && store_before(s->http->opts.store, s->number, ret_report)) {
		s->number = ret_report->number;
		if (!query_fits(&s->query, ret_report))
			continue;
		s->left--;
		return true;
	}
	return false;
}

static bool json_reports(struct stream *s, FILE *out)
{
	struct stored report;
	size_t bytes = 0;

	while (bytes < JSON_PIECE) {
		if (!next_fitting(s, &report))
			return false;
		fputs(s->sent++ ? ",\n" : "\n", out);
		fwrite(report.line, 1, report.len, out);
		bytes += report.len;
	}
	return true;
}

static bool json_tail(struct stream *s, FILE *out)
{
	fprintf(out, "%s],\"count\":%u}\n", s->sent ? "\n" : "", s->sent);
	return false;
}

struct MHD_Response *stream_reports(struct http *h, struct client *c, const struct query *q)
{
	static const struct part parts[] = { { json_head, false }, { json_reports, true }, { json_tail, false }, { NULL, false } };

	return start(h, c, parts, q);
}

/* ---- the page ---- */

static bool page_head(struct stream *s, FILE *out)
{
	struct http_status status = { 0 };
	struct store_stats stats;

	s->http->ops->status(s->http->ctx, &status);
	store_stats(s->http->opts.store, &stats);
	page_write_head(out, &status, stats.held);
	s->left = PAGE_REPORTS;
	return false;
}

static bool is_hazard(const struct stored *report)
{
	return strcmp(report->kind, "hazard") == 0;
}

/* One report that is a hazard, or is none. */
static bool write_next(struct stream *s, FILE *out, bool hazard)
{
	struct stored report;

	while (s->left && store_before(s->http->opts.store, s->number, &report)) {
		s->number = report.number;
		if (is_hazard(&report) != hazard)
			continue;
		s->left--;
		s->sent++;
		page_write_report(out, &report);
		return true;
	}
	if (!s->sent)
		page_write_none(out, hazard ? "No first pin that strands pages has been seen." : "No registration has failed.");
	return false;
}

static bool page_failures(struct stream *s, FILE *out)
{
	return write_next(s, out, false);
}

static bool page_between(struct stream *s, FILE *out)
{
	page_write_hazards(out);
	s->left = PAGE_HAZARDS;
	s->sent = 0;
	return false;
}

static bool page_hazards(struct stream *s, FILE *out)
{
	return write_next(s, out, true);
}

static bool page_tail(struct stream *s, FILE *out)
{
	struct http_status status = { 0 };

	s->http->ops->status(s->http->ctx, &status);
	page_write_tail(out, &status);
	return false;
}

struct MHD_Response *stream_page(struct http *h, struct client *c)
{
	static const struct part parts[] = {
		{ page_head, false }, { page_failures, true }, { page_between, false }, { page_hazards, true }, { page_tail, true },
		{ NULL, false },
	};
	struct query q;

	query_init(&q);
	return start(h, c, parts, &q);
}

struct MHD_Response *stream_report_page(struct http *h, const struct stored *report)
{
	struct MHD_Response *r;
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);

	(void)h;
	if (!out)
		return NULL;
	page_write_one(out, report);
	if (fclose(out) != 0) {
		free(text);
		return NULL;
	}
	r = MHD_create_response_from_buffer(len, text, MHD_RESPMEM_MUST_FREE);
	if (!r)
		free(text);
	return r;
}
