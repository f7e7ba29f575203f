// SPDX-License-Identifier: BSD-2-Clause
/* Arithmetic on what was seen, shared by causes and reports. */
#include <errno.h>
#include <string.h>

#include "incident.h"
#include "names.h"

#define GUP_PIN_BIAS 1024	/* GUP_PIN_COUNTING_BIAS: what one pin adds to a small folio's refcount */

bool incident_has_range(const struct incident *in)
{
	const struct wire_reg_end *e = &in->end;

	if (e->have & WIRE_HAVE_UMEM)
		return true;
	return (e->have & WIRE_HAVE_COMMAND) && (e->address || e->length);
}

bool incident_pin_unseen(const struct incident *in)
{
	return in->end.gup_calls > 0 && !(in->end.have & WIRE_HAVE_GUP_RESULT);
}

static uint64_t align_down(uint64_t address, const struct identity *id)
{
	return address & ~((uint64_t)id->page_size - 1);
}

uint64_t incident_pages(const struct incident *in, const struct identity *id)
{
	uint64_t end, first = align_down(in->end.address, id);

	if (!incident_has_range(in))
		return 0;
	if (__builtin_add_overflow(in->end.address, in->end.length, &end) ||
	    __builtin_add_overflow(end, id->page_size - 1, &end))
		return 0;
	return (align_down(end, id) - first) / id->page_size;
}

int64_t incident_index(const struct incident *in, const struct identity *id, uint64_t address)
{
	uint64_t first = align_down(in->end.address, id);
	uint64_t index;

	if (address < first)
		return -1;
	index = (address - first) / id->page_size;
	return index < incident_pages(in, id) ? (int64_t)index : -1;
}

const struct wire_chain *incident_chain(const struct incident *in, enum wire_fn fn)
{
	uint32_t i;

	for (i = in->end.nchain; i > 0; i--)
		if (in->end.chain[i - 1].fn == fn)
			return &in->end.chain[i - 1];
	return NULL;
}

int incident_errno(const struct incident *in, enum wire_fn fn)
{
	const struct wire_chain *c = incident_chain(in, fn);

	return c && c->result < 0 ? (int)-c->result : 0;
}

static bool add_exceeds(uint64_t a, uint64_t b, uint64_t limit)
{
	uint64_t sum;

	return __builtin_add_overflow(a, b, &sum) || sum > limit;
}

struct memlock_sum incident_memlock(const struct incident *in, const struct identity *id)
{
	const struct wire_reg_end *e = &in->end;
	const uint32_t need = WIRE_HAVE_UMEM | WIRE_HAVE_PINNED_VM | WIRE_HAVE_MEMLOCK;
	struct memlock_sum s = { 0 };

	if ((e->have & need) != need)
		return s;
	s.asked_pages = incident_pages(in, id);
	s.before_pages = e->pinned_before_pages;
	s.after_pages = e->pinned_after_pages;
	s.unlimited = e->memlock_soft_bytes == UINT64_MAX;
	s.limit_pages = e->memlock_soft_bytes / id->page_size;
	s.known = s.asked_pages > 0;
	s.over_before = !s.unlimited && add_exceeds(s.asked_pages, s.before_pages, s.limit_pages);
	s.over_after = !s.unlimited && add_exceeds(s.asked_pages, s.after_pages, s.limit_pages);
	return s;
}

/* Is the provider of this device hooked, so that its silence means that it did not fail? */
static bool driver_watched(const struct incident *in, const struct identity *id)
{
	uint32_t fn;

	for (fn = 0; fn < WIRE_FN_MAX; fn++)
		if (name_fn_is_driver(fn) && id->fn_watched[fn] && in->end.driver[0] &&
		    strcmp(id->fn_module[fn], in->end.driver) == 0)
			return true;
	return false;
}

static const char *stage_of_umem(const struct incident *in, const struct identity *id)
{
	struct memlock_sum s = incident_memlock(in, id);

	if (incident_errno(in, WIRE_FN_UMEM) == ENOMEM && s.known && s.over_before && s.over_after &&
	    !in->end.ipc_lock)
		return "limits";
	return "umem";
}

const char *incident_stage(const struct incident *in, const struct identity *id)
{
	static const char *const in_flight[WIRE_STAGE_MAX] = {
		[WIRE_STAGE_UVERBS] = "uverbs", [WIRE_STAGE_UMEM] = "umem",
		[WIRE_STAGE_PIN] = "pin", [WIRE_STAGE_PLACEMENT] = "placement",
		[WIRE_STAGE_PINNED] = "provider",
	};
	bool pin_failed = incident_chain(in, WIRE_FN_GUP_LONGTERM);

	if (in->stuck || in->end.result == 0)
		return in_flight[in->end.stage];
	/* A pin that failed and was repeated with success is no longer where it ended. */
	if (in->end.stage == WIRE_STAGE_PINNED)
		return "provider";
	if (pin_failed && (incident_chain(in, WIRE_FN_MIGRATE) ||
			   incident_chain(in, WIRE_FN_MIGRATE_TARGET) || in->end.folios_seen))
		return "placement";
	if (pin_failed)
		return "pin";
	if (incident_chain(in, WIRE_FN_UMEM))
		return stage_of_umem(in, id);
	if (incident_chain(in, WIRE_FN_DRIVER_RXE) || incident_chain(in, WIRE_FN_DRIVER_MLX5))
		return id->fn_watched[WIRE_FN_UMEM] ? "provider" : "unknown";
	if (incident_chain(in, WIRE_FN_UVERBS))
		return driver_watched(in, id) ? "uverbs" : "unknown";
	return "unknown";
}

struct folio_refs folio_refs(const struct wire_folio *f)
{
	struct folio_refs r = { 0 };

	if (!(f->have & WIRE_HAVE_COUNTS))
		return r;
	if (__builtin_sub_overflow(f->refcount, f->expected, &r.extra))
		return r;
	r.known = true;
	if (r.extra <= 0 && f->pincount <= 0)
		return r;
	if ((f->flags & WIRE_FOLIO_LARGE) && f->pincount >= 0) {
		/* A pin holds a reference too: fewer references than pins were not read at one moment. */
		r.known = f->pincount <= r.extra;
		r.pins = f->pincount;
		r.counted = true;
	} else {
		r.pins = r.extra / GUP_PIN_BIAS;
	}
	r.others = r.extra - (r.counted ? r.pins : r.pins * GUP_PIN_BIAS);
	return r;
}
