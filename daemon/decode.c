// SPDX-License-Identifier: BSD-2-Clause
#include "decode.h"

#include <ctype.h>
#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "text.h"

static const uint32_t kind_sizes[WIRE_KIND_MAX] = {
#define EVENT(id, name, type) [id] = sizeof(struct type),
#include "events.def"
#undef EVENT
};

/*
 * What the bounds of arrays depend on is refused when wrong: such a record was not
 * written by our programs, and nothing in it can be believed. An enumerator that is only
 * shown is mapped to "unknown" instead, since ids are appended within one wire version
 * and a capture may come from a newer build.
 */
static void clean_strings(struct wire_reg_end *e)
{
	uint32_t i;

	text_clean(e->comm, sizeof(e->comm));
	text_clean(e->device, sizeof(e->device));
	text_clean(e->driver, sizeof(e->driver));
	text_clean_list(e->cgroup, sizeof(e->cgroup));
	text_clean(e->args.exporter, sizeof(e->args.exporter));
	text_clean(e->fault_vma.fs, sizeof(e->fault_vma.fs));
	for (i = 0; i < WIRE_VMAS_MAX; i++)
		text_clean(e->vmas[i].fs, sizeof(e->vmas[i].fs));
	for (i = 0; i < WIRE_STACK_MAX; i++)
		text_clean(e->frames[i].library, sizeof(e->frames[i].library));
}

/* No kernel address gets further, whoever wrote it there. */
static void clean_symbol(char *symbol, size_t size)
{
	if (isdigit((unsigned char)symbol[0]))
		memcpy(symbol, "?", 2);
	text_clean(symbol, size);
}

static int check_peer(struct wire_peer *p)
{
	if (p->err > 0 || p->err < -4095)
		return -EBADMSG;
	if (p->fn >= WIRE_FN_MAX)
		p->fn = WIRE_FN_NONE;
	if (p->answer >= WIRE_PEER_ANSWER_MAX)
		p->answer = WIRE_PEER_ANSWER_UNSEEN;
	clean_symbol(p->caller, sizeof(p->caller));
	return 0;
}

/*
 * Frame pointers lead to words that are no return addresses. For one in no mapping the kernel takes the
 * next mapping above it, with an offset below zero (kernel/bpf/stackmap.c, find_vma, 6.1 and 7.3).
 */
#define USER_ADDRESS_END (1ULL << 56)

static void drop_frames_of_nothing(struct wire_reg_end *e)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < e->nframes; i++)
		if (e->frames[i].offset < USER_ADDRESS_END)
			e->frames[kept++] = e->frames[i];
	e->nframes = kept;
}

static int check_fields(struct wire_reg_end *e)
{
	uint32_t i;

	if (e->hdr.span_id == 0)
		return -EBADMSG;
	if (e->nchain > WIRE_CHAIN_MAX || e->nvmas > WIRE_VMAS_MAX || e->nframes > WIRE_STACK_MAX ||
	    e->stage >= WIRE_STAGE_MAX)
		return -EBADMSG;
	if (e->result > 0 || e->result < -4095)
		return -EBADMSG;
	if (e->fw.err > 0 || e->fw.err < -4095 || check_peer(&e->peer))
		return -EBADMSG;
	if (e->have & WIRE_HAVE_EXPORT && (!e->export.status || !e->export.failed || e->export.time_ns > e->hdr.time_ns))
		return -EBADMSG;
	if (e->api >= WIRE_API_MAX)
		e->api = WIRE_API_NONE;
	if (e->fault_vma_state > WIRE_FAULT_VMA_HOLE_LATER)
		e->fault_vma_state = WIRE_FAULT_VMA_UNKNOWN;
	for (i = 0; i < e->nchain; i++) {
		if (e->chain[i].fn >= WIRE_FN_MAX)
			e->chain[i].fn = WIRE_FN_NONE;
		if (e->chain[i].result < -4095)
			return -EBADMSG;
	}
	e->ipc_lock = !!e->ipc_lock;
	e->was_reported = !!e->was_reported;
	e->init_user_ns = !!e->init_user_ns;
	drop_frames_of_nothing(e);
	clean_strings(e);
	return 0;
}

static int check_end(struct wire_reg_end *e)
{
	/* Success is told only about what was reported as stuck. */
	if (e->result == 0 && !e->was_reported)
		return -EBADMSG;
	return check_fields(e);
}

/* The region's pages that the call covered lie in both. */
static int check_stale(struct wire_stale *s)
{
	const struct wire_reg_end *e = &s->end;
	struct wire_damage *d = &s->damage;

	if (e->result != 0 || e->was_reported || d->start >= d->end || !e->start_ns || e->start_ns > e->hdr.time_ns)
		return -EBADMSG;
	if (d->start < d->call_start || d->end > d->call_end)
		return -EBADMSG;
	if (e->address > UINT64_MAX - e->length || d->start >= e->address + e->length || d->end <= e->address)
		return -EBADMSG;
	if (d->by >= WIRE_DAMAGE_MAX)
		d->by = WIRE_DAMAGE_NONE;
	d->sure = !!d->sure;
	return check_fields(&s->end);
}

static bool absurd(__s64 count)
{
	return count < -(1LL << 40) || count > 1LL << 40;
}

/* A folio, or the one page that another record tells of. */
static int check_page(struct wire_folio *f)
{
	/* An order is a shift count. Sums of the counts are made; no folio has more of anything. */
	if (f->order > 40 || absurd(f->refcount) || absurd(f->mapcount) || absurd(f->pincount) || absurd(f->expected))
		return -EBADMSG;
	text_clean(f->area, sizeof(f->area));
	return 0;
}

static int check_folio(struct wire_folio *f)
{
	return f->hdr.span_id ? check_page(f) : -EBADMSG;
}

static int check_pin(struct wire_holder *h)
{
	struct wire_pin *p = &h->pin;
	uint32_t i;

	if (p->id == 0 || h->nstack > WIRE_KSTACK_MAX || h->page >= p->pages || p->pages > 1ULL << 52)
		return -EBADMSG;
	if (p->via >= WIRE_PIN_VIA_MAX)
		p->via = WIRE_PIN_VIA_NONE;
	/* What it says of the pin is known of those alone that we know. */
	if (p->doubt >= WIRE_DOUBT_MAX || (p->via == WIRE_PIN_VIA_NONE && !p->doubt))
		p->doubt = WIRE_DOUBT_MISSED;
	if (p->via == WIRE_PIN_VIA_MODULE || p->via == WIRE_PIN_VIA_GET_FAST)
		p->doubt = WIRE_DOUBT_UNWATCHED;
	text_clean(p->comm, sizeof(p->comm));
	for (i = 0; i < WIRE_KSTACK_MAX; i++)
		clean_symbol(h->stack[i], sizeof(h->stack[i]));
	return 0;
}

static int check_holder(struct wire_holder *h)
{
	return h->hdr.span_id ? check_pin(h) : -EBADMSG;
}

/* It strands some of its pages, no more than were looked at, and nothing failed. */
static int check_hazard(struct wire_hazard *h)
{
	const struct wire_stranded *s = &h->stranded;

	if (h->end.result != 0 || h->end.was_reported || !s->pages || s->looked > h->holder.pin.pages)
		return -EBADMSG;
	if (s->pages > s->looked || s->cma > s->pages || s->movable_zone > s->pages || s->isolated > s->pages)
		return -EBADMSG;
	if (check_page(&h->page) || check_pin(&h->holder))
		return -EBADMSG;
	return check_fields(&h->end);
}

/* An allocation met ranges that it could not have, a pin lies in some of them, and none could be had when it failed. */
static int check_blocked(struct wire_cma_blocked *b)
{
	struct wire_contig *c = &b->contig;
	struct wire_folio *f = &b->page;

	if (b->end.result != 0 || b->end.was_reported || !c->pages || !c->pinned || c->busy < c->pinned)
		return -EBADMSG;
	if (c->unsearched > c->busy - c->pinned || c->result > 0 || c->result < -4095 || (c->result && !c->failed))
		return -EBADMSG;
	if (check_page(f) || check_pin(&b->holder))
		return -EBADMSG;
	c->failed = !!c->failed;
	c->held = !!c->held;
	return check_fields(&b->end);
}

static int check_step(struct wire_step *s)
{
	/* An order is a shift count. A kind that a newer build may have sent cannot be told. */
	if (s->step == WIRE_STEP_NONE || s->step >= WIRE_STEP_MAX || s->order > 40)
		return -EBADMSG;
	if (s->hdr.span_id && s->start_ns > s->hdr.time_ns)
		return -EBADMSG;
	if (s->result < -4095 || s->result > 1LL << 52 || s->pages > 1ULL << 52 || s->untold > 1ULL << 52)
		return -EBADMSG;
	if (s->fn >= WIRE_FN_MAX)
		s->fn = WIRE_FN_NONE;
	if (s->api >= WIRE_API_MAX)
		s->api = WIRE_API_NONE;
	text_clean(s->comm, sizeof(s->comm));
	text_clean(s->device, sizeof(s->device));
	text_clean(s->area, sizeof(s->area));
	return 0;
}

int decode_event(const void *data, size_t size, struct event *ret_event)
{
	struct event ev;
	int r = -ENOTSUP;

	if (size < sizeof(ev.hdr))
		return -EBADMSG;
	memcpy(&ev.hdr, data, sizeof(ev.hdr));
	if (ev.hdr.version != WIRE_VERSION)
		return -EPROTO;
	if (ev.hdr.kind >= WIRE_KIND_MAX || kind_sizes[ev.hdr.kind] == 0)
		return -ENOTSUP;
	if (size != kind_sizes[ev.hdr.kind] || ev.hdr.size != size)
		return -EBADMSG;
	memcpy(&ev.hdr, data, size);
	ev.kind = ev.hdr.kind;
	switch (ev.kind) {
	case WIRE_REG_END:
		r = check_end(&ev.end);
		break;
	case WIRE_FOLIO:
		r = check_folio(&ev.folio);
		break;
	case WIRE_HOLDER:
		r = check_holder(&ev.holder);
		break;
	case WIRE_HAZARD:
		r = check_hazard(&ev.hazard);
		break;
	case WIRE_CMA_BLOCKED:
		r = check_blocked(&ev.blocked);
		break;
	case WIRE_STALE:
		r = check_stale(&ev.stale);
		break;
	case WIRE_STEP:
		r = check_step(&ev.step);
		break;
	case WIRE_MODULE:
		text_clean(ev.module.name, sizeof(ev.module.name));
		r = 0;
		break;
	}
	if (r)
		return r;
	*ret_event = ev;
	return 0;
}

int decode_span(const struct wire_span *s, __u64 now_ns, struct wire_reg_end *ret_end)
{
	struct wire_reg_end e = {
		.hdr = { .kind = WIRE_REG_END, .version = WIRE_VERSION, .size = sizeof(e),
			 .time_ns = now_ns, .span_id = s->id },
		.start_ns = s->start_ns,
		.address = s->address, .length = s->length,
		.pinned_before_pages = s->pinned_before_pages,
		.gup_start = s->gup_start, .gup_pages = s->gup_pages, .gup_result = s->gup_result,
		.pin_fast_pages = s->pin_fast_pages,
		.migrate_moved = s->migrate_moved, .migrate_failed = s->migrate_failed,
		.tgid = s->tgid, .tid = s->tid,
		.access = s->access, .device_index = s->device_index,
		.gup_flags = s->gup_flags, .pin_fast_flags = s->pin_fast_flags,
		.migrate_mode = s->migrate_mode, .migrate_reason = s->migrate_reason,
		.passes = s->passes, .no_target = s->no_target, .gup_calls = s->gup_calls,
		.folios_seen = s->folios_seen, .folios_sent = s->folios_sent,
		.folios_dropped = s->folios_dropped,
		.fault_vma_state = s->fault_vma_state,
		.nvmas = s->nvmas, .nchain = s->nchain, .api = s->api, .stage = s->stage,
		/* The task's credentials, limits and cgroup are read at the end only. */
		.have = s->have & ~(WIRE_HAVE_MEMLOCK | WIRE_HAVE_CGROUP | WIRE_HAVE_CAPS | WIRE_HAVE_SIGNAL |
				    WIRE_HAVE_OOM | WIRE_HAVE_POLICY),
		.was_reported = 1,
		.collects = s->collects, .cgroup_resource = s->cgroup_resource,
		.args = s->args, .account = s->account, .fw = s->fw,
		.fault_vma = s->fault_vma, .peer = s->peer,
	};
	int r;

	memcpy(e.vmas, s->vmas, sizeof(e.vmas));
	memcpy(e.chain, s->chain, sizeof(e.chain));
	r = check_end(&e);
	if (r)
		return r;
	*ret_end = e;
	return 0;
}
