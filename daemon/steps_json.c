// SPDX-License-Identifier: BSD-2-Clause
/* Records of pinwhy trace as JSON: fields that do not apply are absent, addresses and pfns are strings. */
#include <errno.h>

#include "incident.h"
#include "jbuild.h"
#include "names.h"
#include "steps.h"

/* Fields of struct wire_step that a step fills, beyond those of all. */
enum field {
	AT = 1 << 0, PAGES = 1 << 1, FLAGS = 1 << 2, RESULT = 1 << 3, PLACES = 1 << 4, UNTOLD = 1 << 5, ROUNDS = 1 << 6,
	FUNCTION = 1 << 7, RANGE = 1 << 8, DURATION = 1 << 9,
};

static const char *const words[WIRE_STEP_MAX] = {
#define STEP(id, name, word) [id] = #word,
#include "steps.def"
#undef STEP
};

static const unsigned int fields_of[WIRE_STEP_MAX] = {
	[WIRE_STEP_RANGE] = RANGE,
	[WIRE_STEP_PIN] = AT | PAGES | FLAGS,
	[WIRE_STEP_PIN_END] = RESULT,
	[WIRE_STEP_LONGTERM] = AT | PAGES | FLAGS,
	[WIRE_STEP_LONGTERM_END] = RESULT | ROUNDS,
	[WIRE_STEP_MOVED] = PLACES,
	[WIRE_STEP_MIGRATE_END] = UNTOLD,
	[WIRE_STEP_RETRY] = AT | PAGES,
	[WIRE_STEP_RETURN] = FUNCTION | RESULT,
	[WIRE_STEP_END] = RANGE | RESULT | DURATION,
	[WIRE_STEP_FIRST_PIN] = AT | PAGES | FLAGS,
	[WIRE_STEP_RELEASE] = AT | PAGES | FLAGS,
};

struct maker {
	struct jbuild b;
	const struct steps *s;
	struct json_object *o;
};

struct flag_list {
	struct jbuild *b;
	struct json_object *array;
};

static void append_flag(void *ctx, const char *name)
{
	struct flag_list *l = ctx;

	jb_append_string(l->b, l->array, name);
}

static void put_gup_flags(struct maker *m, uint32_t flags)
{
	struct flag_list list = { &m->b, jb_array(&m->b) };

	name_gup_flags(m->s->identity, flags, append_flag, &list);
	jb_put(&m->b, m->o, "gup_flags", list.array);
	if (m->s->identity->foll_longterm)
		jb_bool(&m->b, m->o, "foll_longterm", flags & m->s->identity->foll_longterm);
}

static void put_result(struct maker *m, int64_t result)
{
	jb_int(&m->b, m->o, "result", result);
	if (result < 0)
		jb_string(&m->b, m->o, "errno_name", name_errno((int)-result));
}

static void put_range(struct maker *m, const struct wire_step *e)
{
	struct flag_list list = { &m->b, NULL };

	if (e->length) {
		jb_hex(&m->b, m->o, "address", e->address);
		jb_uint(&m->b, m->o, "length", e->length);
	}
	if (e->device[0])
		jb_string(&m->b, m->o, "device", e->device);
	if (!e->access)
		return;
	list.array = jb_array(&m->b);
	name_access(e->access, append_flag, &list);
	jb_put(&m->b, m->o, "access", list.array);
}

static void put_place(struct maker *m, const char *key, const struct wire_place *p)
{
	struct json_object *place = jb_object(&m->b);

	jb_hex(&m->b, place, "pfn", p->pfn);
	jb_uint(&m->b, place, "node", p->node);
	jb_string(&m->b, place, "zone", name_enum(&m->s->identity->zones, p->zone));
	jb_string(&m->b, place, "migratetype", name_enum(&m->s->identity->migratetypes, p->migratetype));
	jb_bool(&m->b, place, "cma", p->flags & WIRE_FOLIO_CMA);
	jb_bool(&m->b, place, "isolate", p->flags & WIRE_FOLIO_ISOLATE);
	jb_bool(&m->b, place, "movable_zone", p->flags & WIRE_FOLIO_MOVABLE_ZONE);
	jb_put(&m->b, m->o, key, place);
}

static void put_page(struct maker *m, uint32_t have, uint64_t at, uint32_t order, const char *area)
{
	uint64_t size = m->s->identity->page_size, first = m->s->current.address & ~(size - 1);

	jb_uint(&m->b, m->o, "order", order);
	if (have & WIRE_HAVE_ADDRESS && at >= first) {
		jb_uint(&m->b, m->o, "index", (at - first) / size);
		jb_hex(&m->b, m->o, "address", at);
	}
	if (*area)
		jb_string(&m->b, m->o, "area", area);
}

static void put_step(struct maker *m, const struct wire_step *e)
{
	unsigned int fields = fields_of[e->step];

	jb_string(&m->b, m->o, "step", words[e->step]);
	if (e->hdr.span_id)
		jb_string(&m->b, m->o, "api", name_api(e->api));
	if (fields & FUNCTION)
		jb_string(&m->b, m->o, "function", name_fn(m->s->identity, e->fn));
	if (fields & RANGE)
		put_range(m, e);
	if (fields & AT)
		jb_hex(&m->b, m->o, "address", e->at);
	if (fields & PAGES)
		jb_uint(&m->b, m->o, "pages", e->pages);
	if (fields & FLAGS && (e->have & WIRE_HAVE_GUP || e->step == WIRE_STEP_PIN || e->step == WIRE_STEP_LONGTERM))
		put_gup_flags(m, e->gup_flags);
	if (fields & PLACES)
		put_page(m, e->have, e->at, e->order, e->area);
	if (fields & PLACES && e->have & WIRE_HAVE_PLACEMENT) {
		put_place(m, "from", &e->from);
		put_place(m, "to", &e->to);
	}
	if (fields & UNTOLD) {
		jb_uint(&m->b, m->o, "moved", e->pages);
		jb_int(&m->b, m->o, "left", e->result);
		jb_uint(&m->b, m->o, "untold", e->untold);
	}
	if (fields & RESULT)
		put_result(m, e->result);
	if (fields & ROUNDS)
		jb_uint(&m->b, m->o, "rounds", e->rounds);
	if (fields & DURATION)
		jb_uint(&m->b, m->o, "duration_ns", e->hdr.time_ns - e->start_ns);
}

static void put_folio(struct maker *m, const struct wire_folio *f)
{
	struct wire_place place = {
		.pfn = f->pfn, .zone = f->zone, .node = f->node, .migratetype = f->migratetype, .flags = f->flags,
	};
	struct folio_refs refs = folio_refs(f);

	jb_string(&m->b, m->o, "step", "stays");
	put_page(m, f->have, f->address, f->order, f->have & WIRE_HAVE_AREA ? f->area : "");
	if (f->have & WIRE_HAVE_PLACEMENT)
		put_place(m, "from", &place);
	if (!(f->have & WIRE_HAVE_COUNTS))
		return;
	jb_int(&m->b, m->o, "refcount", f->refcount);
	jb_int(&m->b, m->o, "expected", f->expected);
	if (!refs.known)
		return;
	jb_int(&m->b, m->o, "pins", refs.pins);
	jb_bool(&m->b, m->o, "pins_estimated", !refs.counted);
	jb_int(&m->b, m->o, "other_references", refs.others);
}

static void put_holder(struct maker *m, const struct wire_holder *h)
{
	char module[WIRE_MODULE_LEN];

	jb_string(&m->b, m->o, "step", "holder");
	jb_hex(&m->b, m->o, "pfn", h->pfn);
	jb_uint(&m->b, m->o, "holder_pid", h->pin.tgid);
	jb_string(&m->b, m->o, "holder_comm", h->pin.comm);
	jb_string(&m->b, m->o, "via", pin_vias[h->pin.via].function);
	jb_string(&m->b, m->o, "module", holder_module(h, module));
	if (h->pin.doubt)
		jb_string(&m->b, m->o, "doubt", pin_doubts[h->pin.doubt].word);
	if (h->hdr.time_ns >= h->pin.since_ns)
		jb_uint(&m->b, m->o, "age_ns", h->hdr.time_ns - h->pin.since_ns);
	if (h->pin.calls)
		put_gup_flags(m, h->pin.gup_flags);
}

static void put_who(struct maker *m, const struct event *ev)
{
	const struct steps_span *who = &m->s->current;

	jb_string(&m->b, m->o, "kind", "trace_step");
	jb_uint(&m->b, m->o, "at_ns", ev->hdr.time_ns > m->s->base_ns ? ev->hdr.time_ns - m->s->base_ns : 0);
	if (ev->hdr.span_id)
		jb_hex(&m->b, m->o, "registration", ev->hdr.span_id);
	if (!who->tgid)
		return;
	jb_uint(&m->b, m->o, "pid", who->tgid);
	jb_uint(&m->b, m->o, "tid", who->tid);
	jb_string(&m->b, m->o, "comm", who->comm);
}

int steps_json(const struct steps *s, const struct event *ev, struct json_object **ret_json)
{
	struct maker m = { .s = s };

	m.o = jb_object(&m.b);
	put_who(&m, ev);
	if (ev->kind == WIRE_FOLIO)
		put_folio(&m, &ev->folio);
	else if (ev->kind == WIRE_HOLDER)
		put_holder(&m, &ev->holder);
	else
		put_step(&m, &ev->step);
	if (m.b.failed) {
		json_object_put(m.o);
		return -ENOMEM;
	}
	*ret_json = m.o;
	return 0;
}
