// SPDX-License-Identifier: BSD-2-Clause
#include "steps.h"

#include <inttypes.h>
#include <string.h>

#include "incident.h"
#include "jread.h"
#include "names.h"

/* --- who ------------------------------------------------------------------------- */

static struct steps_span *place_of(struct steps *s, uint64_t id)
{
	return &s->spans[text_hash(0, &id, sizeof(id)) & (STEPS_SPANS - 1)];
}

static void note_step(struct steps *s, const struct wire_step *e)
{
	s->current = (struct steps_span){ .id = e->hdr.span_id, .address = e->address, .tgid = e->tgid, .tid = e->tid };
	memcpy(s->current.comm, e->comm, sizeof(s->current.comm));
	s->first_pins += e->step == WIRE_STEP_FIRST_PIN;
	if (e->step == WIRE_STEP_END)
		(*(e->result ? &s->failed : &s->ok))++;
	if (e->hdr.span_id)
		*place_of(s, e->hdr.span_id) = s->current;
}

bool steps_note(struct steps *s, const struct event *ev)
{
	const struct steps_span *known;

	if (ev->kind == WIRE_STEP) {
		note_step(s, &ev->step);
		return true;
	}
	if (ev->kind != WIRE_FOLIO && ev->kind != WIRE_HOLDER)
		return false;
	if (ev->kind == WIRE_HOLDER && !ev->holder.pfn)
		return false; /* given back while it was read: of no page */
	known = place_of(s, ev->hdr.span_id);
	/* Too many at once, or its first steps were lost: what is known of the page is told all the same. */
	s->current = known->id == ev->hdr.span_id ? *known : (struct steps_span){ .id = ev->hdr.span_id };
	return true;
}

static void add_time(struct text *t, const struct steps *s, uint64_t time_ns, int width)
{
	uint64_t ns = time_ns > s->base_ns ? time_ns - s->base_ns : 0;

	text_add(t, "%*" PRIu64 ".%06u", width, ns / 1000000000, (unsigned int)(ns % 1000000000 / 1000));
}

void steps_prefix(const struct steps *s, uint64_t time_ns, struct text *t)
{
	add_time(t, s, time_ns, 5);
	text_add(t, "  ");
	if (!s->current.tgid) {
		text_add(t, "?  ");
		return;
	}
	text_escape(t, s->current.comm);
	if (s->current.tid == s->current.tgid)
		text_add(t, "[%u]  ", s->current.tgid);
	else
		text_add(t, "[%u/%u]  ", s->current.tgid, s->current.tid);
}

/* --- parts of a line --------------------------------------------------------------- */

static void add_flag(void *ctx, const char *name)
{
	struct text *t = ctx;
	bool first = t->len && t->buf[t->len - 1] == ' ';

	text_add(t, "%s%s", first ? "" : "|", name);
}

static void add_gup_flags(struct text *t, const struct steps *s, uint32_t flags)
{
	text_add(t, ", ");
	if (flags)
		name_gup_flags(s->identity, flags, add_flag, t);
	else
		text_add(t, "no flags");
}

static void add_pages(struct text *t, uint64_t pages, uint64_t at)
{
	text_add(t, "%" PRIu64 " page%s at 0x%" PRIx64, pages, pages == 1 ? "" : "s", at);
}

/* A count, or an errno. */
static void add_result(struct text *t, int64_t result)
{
	if (result < 0)
		text_add(t, "-%s (%s)", name_errno((int)-result), name_errno_words((int)-result));
	else
		text_add(t, "%" PRId64, result);
}

static void add_duration(struct text *t, uint64_t ns)
{
	if (ns >= 1000000000)
		text_add(t, "%.1f s", (double)ns / 1e9);
	else if (ns >= 1000000)
		text_add(t, "%.1f ms", (double)ns / 1e6);
	else
		text_add(t, "%.1f us", (double)ns / 1e3);
}

static void add_name(struct text *t, const char *what, const struct enum_names *names, uint32_t value)
{
	const char *name = name_enum(names, value);

	text_add(t, ", %s ", what);
	if (*name)
		text_escape(t, name);
	else
		text_add(t, "%u", value);
}

/* `flags` tell of an isolated pageblock that it is one of CMA beneath. */
static void add_place(struct text *t, const struct steps *s, const struct wire_place *p, const char *area)
{
	text_add(t, "pfn 0x%" PRIx64 " (node %u", (uint64_t)p->pfn, p->node);
	add_name(t, "zone", &s->identity->zones, p->zone);
	add_name(t, "pageblock", &s->identity->migratetypes, p->migratetype);
	if ((p->flags & (WIRE_FOLIO_CMA | WIRE_FOLIO_ISOLATE)) == (WIRE_FOLIO_CMA | WIRE_FOLIO_ISOLATE))
		text_add(t, " of CMA");
	if (*area) {
		text_add(t, " of area \"");
		text_escape(t, area);
		text_add(t, "\"");
	}
	text_add(t, ")");
}

static void add_page(struct text *t, const struct steps *s, uint32_t have, uint64_t at, uint32_t order)
{
	uint64_t size = s->identity->page_size, first = s->current.address & ~(size - 1);

	if (order)
		text_add(t, "%" PRIu64 " pages in one, the first of them ", (uint64_t)1 << order);
	text_add(t, "page");
	if (have & WIRE_HAVE_ADDRESS && at >= first)
		text_add(t, " %" PRIu64 " at 0x%" PRIx64, (at - first) / size, at);
	text_add(t, ": ");
}

/* --- lines by step ------------------------------------------------------------------ */

static void tell_begin(struct text *t, const struct steps *s, const struct wire_step *e)
{
	(void)s;
	text_add(t, "%s", name_api(e->api));
}

static void tell_range(struct text *t, const struct steps *s, const struct wire_step *e)
{
	char size[TEXT_BYTES_LEN];

	(void)s;
	text_add(t, "  %s at 0x%" PRIx64, text_bytes(size, e->length), (uint64_t)e->address);
	if (e->device[0]) {
		text_add(t, " on ");
		text_escape(t, e->device);
	}
	if (!e->access)
		return;
	text_add(t, ", ");
	name_access(e->access, add_flag, t);
}

/* Which bit FOLL_LONGTERM is may not be known: then neither is true. */
static bool is_longterm(const struct steps *s, uint32_t gup_flags)
{
	return gup_flags & s->identity->foll_longterm;
}

static bool is_not_longterm(const struct steps *s, uint32_t gup_flags)
{
	return s->identity->foll_longterm && !is_longterm(s, gup_flags);
}

static void tell_pin(struct text *t, const struct steps *s, const struct wire_step *e)
{
	const char *where = e->hdr.span_id ? "" : " outside a registration", *pin = "pin";

	if (is_longterm(s, e->gup_flags))
		pin = e->hdr.span_id ? "long-term pin requested" : "long-term pin";
	else if (is_not_longterm(s, e->gup_flags)) {
		pin = e->hdr.span_id ? "pin without FOLL_LONGTERM" : "first pin, without FOLL_LONGTERM";
		where = "";
	}
	text_add(t, "%s%s%s: ", e->hdr.span_id ? "  " : "", pin, where);
	text_add(t, "pin_user_pages_fast, ");
	add_pages(t, e->pages, e->at);
	add_gup_flags(t, s, e->gup_flags);
}

static void tell_pin_end(struct text *t, const struct steps *s, const struct wire_step *e)
{
	(void)s;
	text_add(t, "  pin_user_pages_fast = ");
	add_result(t, e->result);
}

static void tell_longterm(struct text *t, const struct steps *s, const struct wire_step *e)
{
	text_add(t, "  long-term pin, slow path: __gup_longterm_locked, ");
	add_pages(t, e->pages, e->at);
	add_gup_flags(t, s, e->gup_flags);
}

static void tell_longterm_end(struct text *t, const struct steps *s, const struct wire_step *e)
{
	(void)s;
	text_add(t, "  __gup_longterm_locked = ");
	add_result(t, e->result);
	if (e->rounds > 1)
		text_add(t, ", in %u rounds", e->rounds);
}

static void tell_migrate(struct text *t, const struct steps *s, const struct wire_step *e)
{
	(void)s;
	(void)e;
	text_add(t, "  pages lie where a long-term pin must not leave them: migrate_pages");
}

static void tell_moved(struct text *t, const struct steps *s, const struct wire_step *e)
{
	text_add(t, "    ");
	add_page(t, s, e->have, e->at, e->order);
	if (!(e->have & WIRE_HAVE_PLACEMENT)) {
		text_add(t, "moved; from where to where could not be read");
		return;
	}
	add_place(t, s, &e->from, e->area);
	text_add(t, " -> ");
	add_place(t, s, &e->to, "");
}

static void tell_migrate_end(struct text *t, const struct steps *s, const struct wire_step *e)
{
	(void)s;
	text_add(t, "  migrate_pages: %" PRIu64 " moved, %" PRId64 " left", (uint64_t)e->pages, (int64_t)e->result);
	if (e->untold)
		text_add(t, " (%" PRIu64 " more moves are not told one by one)", (uint64_t)e->untold);
}

static void tell_retry(struct text *t, const struct steps *s, const struct wire_step *e)
{
	(void)s;
	text_add(t, "  retry: ");
	add_pages(t, e->pages, e->at);
}

static void tell_return(struct text *t, const struct steps *s, const struct wire_step *e)
{
	text_add(t, "  %s = ", name_fn(s->identity, e->fn));
	if (e->result)
		add_result(t, e->result);
	else
		text_add(t, "ok");
}

static void tell_end(struct text *t, const struct steps *s, const struct wire_step *e)
{
	(void)s;
	text_add(t, "%s = ", name_api(e->api));
	if (e->result)
		add_result(t, e->result);
	else
		text_add(t, "ok");
	text_add(t, " after ");
	add_duration(t, e->hdr.time_ns - e->start_ns);
}

/* What it was taken through is a module's own function, or the kernel's that a module called. */
static void add_via(struct text *t, uint32_t via, const char *module)
{
	text_add(t, "%s", pin_vias[via].function);
	if (*module) {
		text_add(t, *pin_vias[via].module ? " of " : " by module ");
		text_escape(t, module);
	}
	text_add(t, ", ");
}

static void tell_first_pin(struct text *t, const struct steps *s, const struct wire_step *e)
{
	text_add(t, "first pin%s: ", e->step == WIRE_STEP_RELEASE ? " given back" : "");
	add_via(t, WIRE_PIN_VIA_NVIDIA, pin_vias[WIRE_PIN_VIA_NVIDIA].module);
	add_pages(t, e->pages, e->at);
	if (e->have & WIRE_HAVE_GUP)
		add_gup_flags(t, s, e->gup_flags);
	if (e->have & WIRE_HAVE_GUP && is_not_longterm(s, e->gup_flags))
		text_add(t, ", without FOLL_LONGTERM");
}

static void (*const tellers[WIRE_STEP_MAX])(struct text *t, const struct steps *s, const struct wire_step *e) = {
	[WIRE_STEP_BEGIN] = tell_begin, [WIRE_STEP_RANGE] = tell_range,
	[WIRE_STEP_PIN] = tell_pin, [WIRE_STEP_PIN_END] = tell_pin_end,
	[WIRE_STEP_LONGTERM] = tell_longterm, [WIRE_STEP_LONGTERM_END] = tell_longterm_end,
	[WIRE_STEP_MIGRATE] = tell_migrate, [WIRE_STEP_MOVED] = tell_moved, [WIRE_STEP_MIGRATE_END] = tell_migrate_end,
	[WIRE_STEP_RETRY] = tell_retry, [WIRE_STEP_RETURN] = tell_return, [WIRE_STEP_END] = tell_end,
	[WIRE_STEP_FIRST_PIN] = tell_first_pin, [WIRE_STEP_RELEASE] = tell_first_pin,
};

/* --- pages that stay, and who holds them --------------------------------------------- */

static void tell_references(struct text *t, const struct wire_folio *f)
{
	struct folio_refs refs = folio_refs(f);

	text_add(t, " stays");
	if (!(f->have & WIRE_HAVE_COUNTS) || !refs.known)
		return;
	text_add(t, ": %" PRId64 " references where %" PRId64 " were expected", (int64_t)f->refcount, (int64_t)f->expected);
	if (refs.extra <= 0)
		text_add(t, ": who held it has let go since");
	else if (refs.pins > 0)
		text_add(t, " = %" PRId64 " too many, which count%s %" PRId64 " DMA pin%s", refs.extra,
			 refs.counted ? " as" : " like", refs.pins, refs.pins == 1 ? "" : "s");
	else
		text_add(t, " = %" PRId64 " too many", refs.extra);
}

static void tell_folio(struct text *t, const struct steps *s, const struct wire_folio *f)
{
	struct wire_place place = {
		.pfn = f->pfn, .zone = f->zone, .node = f->node, .migratetype = f->migratetype, .flags = f->flags,
	};

	text_add(t, "    ");
	add_page(t, s, f->have, f->address, f->order);
	if (f->have & WIRE_HAVE_PLACEMENT)
		add_place(t, s, &place, f->have & WIRE_HAVE_AREA ? f->area : "");
	tell_references(t, f);
}

/* What was seen of it is not always that it is still held. */
static const char *held_word(const struct wire_pin *pin)
{
	switch (pin->via) {
	case WIRE_PIN_VIA_MODULE: return "its address pinned, and held or not,";
	case WIRE_PIN_VIA_GET_FAST: return "referenced, and dropped or not,";
	default: return pin->doubt ? "pinned, and held or not," : "held";
	}
}

static void tell_holder(struct text *t, const struct steps *s, const struct wire_holder *h)
{
	const struct wire_pin *pin = &h->pin;
	char module[WIRE_MODULE_LEN];

	if (pin->via == WIRE_PIN_VIA_REGISTRATION) {
		text_add(t, "      being pinned by another registration, of thread %u: ", pin->tid);
	} else {
		text_add(t, "      %s by ", held_word(pin));
		text_escape(t, pin->comm);
		text_add(t, "[%u]: ", pin->tgid);
	}
	add_via(t, pin->via, holder_module(h, module));
	if (h->hdr.time_ns >= pin->since_ns) {
		add_duration(t, h->hdr.time_ns - pin->since_ns);
		text_add(t, " ago");
	}
	if (!pin->calls)
		return;
	add_gup_flags(t, s, pin->gup_flags);
	if (pin->via != WIRE_PIN_VIA_GET_FAST && pin_not_longterm(pin, s->identity))
		text_add(t, ", without FOLL_LONGTERM");
}

void steps_text(const struct steps *s, const struct event *ev, struct text *t)
{
	steps_prefix(s, ev->hdr.time_ns, t);
	if (ev->kind == WIRE_FOLIO)
		tell_folio(t, s, &ev->folio);
	else if (ev->kind == WIRE_HOLDER)
		tell_holder(t, s, &ev->holder);
	else if (tellers[ev->step.step])
		tellers[ev->step.step](t, s, &ev->step);
}

void steps_verdict(const struct steps *s, struct json_object *report, struct text *t)
{
	uint64_t at;

	if (strcmp(jr_string(report, "kind"), "hazard") == 0 && jr_uint(report, "monotonic_ns", &at)) {
		text_add(t, "  hazard at ");
		add_time(t, s, at, 0);
		text_add(t, ": ");
	} else {
		text_add(t, "  verdict: ");
	}
	text_escape(t, jr_string(report, "verdict.cause"));
	text_add(t, ", ");
	text_escape(t, jr_string(report, "verdict.confidence"));
	text_add(t, ": ");
	text_escape(t, jr_string(report, "verdict.summary"));
}
