// SPDX-License-Identifier: BSD-2-Clause
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "pipeline.h"
#include "rehearse.h"

#define ADDRESS 0x7f0000000000ULL

static int ask_nobody(void *ctx, const struct facts_request *req)
{
	(void)ctx;
	(void)req;
	return 0;
}

/* The sinks copy the line: so is it here. */
static void tell_nobody(void *ctx, const struct report *report)
{
	char *copy = malloc(report->line_len + 1);

	(void)ctx;
	if (copy)
		memcpy(copy, report->line, report->line_len);
	free(copy);
}

static struct wire_hdr header(enum wire_kind kind, size_t size)
{
	return (struct wire_hdr){ .kind = (uint16_t)kind, .version = WIRE_VERSION,
				  .size = (uint32_t)size, .time_ns = 1, .span_id = 1 };
}

static void feed_folios(struct pipeline *p, uint32_t page_size, struct clock_pair now)
{
	struct wire_folio f;

	for (uint32_t i = 0; i < WIRE_FOLIOS_MAX; i++) {
		memset(&f, 0, sizeof(f));
		f.hdr = header(WIRE_FOLIO, sizeof(f));
		f.pfn = i + 1;
		f.index_pages = i;
		f.address = ADDRESS + (uint64_t)i * page_size;
		f.refcount = 1026;
		f.mapcount = 1;
		f.pincount = -1;
		f.expected = 2;
		f.flags = WIRE_FOLIO_ANON | WIRE_FOLIO_CMA;
		f.have = WIRE_HAVE_PLACEMENT | WIRE_HAVE_ADDRESS | WIRE_HAVE_COUNTS;
		f.ordinal = i;
		f.gup_call = 1;
		pipeline_event(p, &f, sizeof(f), now);
	}
}

static void feed_holders(struct pipeline *p, struct clock_pair now)
{
	struct wire_holder h;

	for (uint32_t i = 0; i < WIRE_FOLIOS_MAX; i++) {
		memset(&h, 0, sizeof(h));
		h.hdr = header(WIRE_HOLDER, sizeof(h));
		h.pfn = i + 1;
		h.gup_call = 1;
		h.pin = (struct wire_pin){ .id = 1 + i % WIRE_HOLDERS_MAX, .pages = 1, .comm = "rehearsal" };
		h.nstack = WIRE_KSTACK_MAX;
		pipeline_event(p, &h, sizeof(h), now);
	}
}

static void feed_end(struct pipeline *p, uint32_t page_size, struct clock_pair now)
{
	struct wire_reg_end e;

	memset(&e, 0, sizeof(e));
	e.hdr = header(WIRE_REG_END, sizeof(e));
	e.start_ns = 1;
	e.task_start_ns = 1;
	e.address = ADDRESS;
	e.length = (uint64_t)WIRE_FOLIOS_MAX * page_size;
	e.gup_start = ADDRESS;
	e.gup_pages = WIRE_FOLIOS_MAX;
	e.gup_result = e.result = -ENOMEM;
	e.migrate_failed = WIRE_FOLIOS_MAX;
	e.tgid = e.tid = 1;
	e.have = WIRE_HAVE_COMMAND | WIRE_HAVE_UMEM | WIRE_HAVE_DEVICE | WIRE_HAVE_PINNED_VM |
		 WIRE_HAVE_GUP | WIRE_HAVE_MIGRATE | WIRE_HAVE_MEMLOCK | WIRE_HAVE_CGROUP;
	e.passes = e.gup_calls = 1;
	e.folios_seen = e.folios_sent = WIRE_FOLIOS_MAX;
	e.api = WIRE_API_REG_MR;
	e.stage = WIRE_STAGE_PLACEMENT;
	e.nchain = 1;
	e.chain[0] = (struct wire_chain){ .result = -ENOMEM, .fn = WIRE_FN_GUP_LONGTERM };
	strcpy(e.comm, "rehearsal");
	strcpy(e.device, "none");
	pipeline_event(p, &e, sizeof(e), now);
}

int rehearse(const struct identity *identity, const struct pipeline_settings *settings)
{
	const struct pipeline_ops ops = { .ask = ask_nobody, .emit = tell_nobody };
	const struct clock_pair now = { .mono_ns = 2, .real_ns = 2 };
	struct pipeline *p;
	int err;

	err = pipeline_new(&p, identity, settings, &ops, NULL);
	if (err)
		return err;
	feed_folios(p, identity->page_size, now);
	feed_holders(p, now);
	feed_end(p, identity->page_size, now);
	pipeline_finish(p, now);
	pipeline_free(p);
	return 0;
}
