// SPDX-License-Identifier: BSD-2-Clause
/*
 * Any bytes as ring records: decode, join, diagnose, report, explain, and what a trace says of them. The first byte of each
 * piece picks what it is; sizes and headers are made right most of the time, so that
 * what follows them is reached.
 */
#include <json-c/json_object.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "explain.h"
#include "pipeline.h"
#include "steps.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct pipeline *pipeline;
static struct steps steps;
static uint64_t asked;

static int ask(void *ctx, const struct facts_request *req)
{
	(void)ctx;
	asked = req->id;
	return req->id % 5 == 0 ? -11 : 0;
}

static void emit(void *ctx, const struct report *report)
{
	FILE *f = ctx;

	explain_print(f, report->json);
}

static size_t record_size(uint16_t kind)
{
	switch (kind) {
#define EVENT(id, name, type) case id: return sizeof(struct type);
#include "events.def"
#undef EVENT
	default:
		return 64;
	}
}

static void trace(const void *record, size_t size)
{
	struct json_object *json;
	struct event ev;
	struct text text;
	char line[4096];

	if (decode_event(record, size, &ev) || !steps_note(&steps, &ev))
		return;
	text_init(&text, line, sizeof(line));
	steps_text(&steps, &ev, &text);
	if (text.cut || strpbrk(line, "\033\n\r"))
		abort();
	if (steps_json(&steps, &ev, &json) == 0)
		json_object_put(json);
}

/* One record out of the bytes; what they lack is zero. Returns the bytes used. */
static size_t feed(const uint8_t *data, size_t size, struct clock_pair now)
{
	static _Alignas(8) unsigned char record[8192];
	uint16_t kind = data[0] % 9;
	size_t want = record_size(kind), have = size - 1 < want ? size - 1 : want;
	struct wire_hdr hdr;

	memset(record, 0, sizeof(record));
	memcpy(record, data + 1, have);
	memcpy(&hdr, record, sizeof(hdr));
	if (data[0] < 250) {
		hdr.kind = kind;
		hdr.version = WIRE_VERSION;
		hdr.size = (uint32_t)want;
		hdr.span_id = 1 + hdr.span_id % 4;
		memcpy(record, &hdr, sizeof(hdr));
	}
	trace(record, want);
	pipeline_event(pipeline, record, want, now);
	return have + 1;
}

static void feed_stuck(const uint8_t *data, size_t size, struct clock_pair now)
{
	struct wire_span span = { 0 };

	memcpy(&span, data, size < sizeof(span) ? size : sizeof(span));
	pipeline_stuck(pipeline, &span, &(struct sighting){ "fuzz", "handle_userfault" }, now);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct identity id = { .page_size = 4096, .foll_longterm = 0x100, .target_watched = true,
					    .putback_watched = true };
	static const struct pipeline_settings settings = { .facts_deadline_ns = 1000, .storm_window_ns = 5000,
							   .storm_burst = 2, .storm_signatures = 4,
							   .storm_cgroup_reports = 3, .storm_cgroups = 2 };
	const struct pipeline_ops ops = { .ask = ask, .emit = emit };
	struct clock_pair now = { 1000, 1796000000000000000 };
	struct pipeline_stats stats;
	FILE *null = fopen("/dev/null", "w");
	struct facts facts;

	memset(&steps, 0, sizeof(steps));
	steps.identity = &id;
	if (!null || pipeline_new(&pipeline, &id, &settings, &ops, null))
		abort();
	facts_unknown(&facts, -3);
	while (size > 0) {
		size_t used = feed(data, size, now);

		if (data[0] % 7 == 0)
			pipeline_facts(pipeline, asked, &facts, now);
		if (data[0] % 11 == 0)
			feed_stuck(data, size, now);
		now.mono_ns += 300;
		pipeline_tick(pipeline, now);
		data += used;
		size -= used;
	}
	pipeline_finish(pipeline, now);
	pipeline_stats(pipeline, &stats);
	if (pipeline_ledger(&stats) || stats.incidents_held)
		abort();
	pipeline_free(pipeline);
	fclose(null);
	return 0;
}
