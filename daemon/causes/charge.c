// SPDX-License-Identifier: BSD-2-Clause
/* The arithmetic of a refused memlock charge. */
#include <errno.h>
#include <inttypes.h>

#include "causes/charge.h"

static uint64_t add(uint64_t a, uint64_t b)
{
	uint64_t sum;

	return __builtin_add_overflow(a, b, &sum) ? UINT64_MAX : sum;
}

static uint64_t less(uint64_t a, uint64_t b)
{
	return a > b ? a - b : 0;
}

/*
 * What a process holds is listed after the failure; it explains the charge of then only if the charge has
 * not changed by the time the lists were complete.
 */
static bool steady(const struct incident *in, const struct identity *id)
{
	const struct facts *f = &in->facts;
	uint64_t bytes = in->end.pinned_after_pages * id->page_size;

	return FACT_KNOWN(f, vm_pin_bytes) && f->vm_pin_bytes == bytes && FACT_KNOWN(f, vm_pin_later_bytes) &&
	       f->vm_pin_later_bytes == bytes;
}

static void read_facts(const struct incident *in, const struct identity *id, struct charge *c)
{
	const struct facts *f = &in->facts;
	bool now = steady(in, id);

	c->mr_known = now && FACT_KNOWN(f, mr_process_pages);
	c->mr_pages = c->mr_known ? f->mr_process_pages : 0;
	c->uring_known = now && FACT_KNOWN(f, io_uring_pages);
	c->uring_pages = c->uring_known ? f->io_uring_pages : 0;
	c->slack_pages = FACT_KNOWN(f, mr_process_count) ? f->mr_process_count : 0;
}

/* Do the live registrations account for `held`, page for page? */
static bool explained(const struct charge *c, uint64_t held)
{
	uint64_t mine;

	if (__builtin_add_overflow(c->mr_pages, c->uring_pages, &mine))
		return false;
	return c->mr_known && c->uring_known && less(held, mine) <= c->slack_pages &&
	       less(mine, held) <= c->slack_pages;
}

/* Queue buffers of the device are charged as well and are no memory regions: some rest is normal. */
static bool clearly_unowned(const struct charge *c, uint64_t held)
{
	uint64_t rest = less(held, add(c->mr_pages, c->uring_pages));

	return rest > c->slack_pages && rest - c->slack_pages > held / 4;
}

/* Which kind a process that holds `held` pages makes of it. The request alone fits, the sum does not. */
static enum charge_kind kind_of_sum(const struct charge *c, uint64_t held, bool *sure)
{
	uint64_t room = c->limit_pages - c->asked_pages, others = less(held, c->uring_pages);
	uint64_t mine = add(c->mr_pages, c->uring_pages);

	*sure = false;
	if (!c->uring_known)
		return held > c->limit_pages ? CHARGE_PRIVILEGED : CHARGE_SUM;
	if (c->uring_pages > 0 && others <= room) {
		*sure = explained(c, held);
		return CHARGE_IO_URING;
	}
	if (others > c->limit_pages) {
		*sure = explained(c, held);
		return CHARGE_PRIVILEGED;
	}
	if (!c->mr_known)
		return CHARGE_SUM;
	if (mine <= room && clearly_unowned(c, held))
		return CHARGE_UNOWNED;
	*sure = mine <= add(held, c->slack_pages) && c->mr_pages > room;
	return CHARGE_SUM;
}

static enum charge_kind kind_of_process(const struct charge *c, uint64_t held, bool *sure)
{
	*sure = true;
	return c->asked_pages > c->limit_pages ? CHARGE_ALONE : kind_of_sum(c, held, sure);
}

/* CAP_IPC_LOCK where capable() does not look: in another user namespace, or permitted and not effective. */
static bool capability_aside(const struct wire_reg_end *e)
{
	return !e->ipc_lock && (e->ipc_lock_effective || e->ipc_lock_permitted);
}

static void charge_process(const struct incident *in, const struct identity *id, struct charge *c)
{
	struct memlock_sum s = incident_memlock(in, id);
	enum charge_kind before, after;
	bool sure_before, sure_after;

	c->asked_pages = s.asked_pages;
	c->limit_pages = s.limit_pages;
	c->held_pages = s.before_pages;
	c->held_after_pages = s.after_pages;
	c->over_before = s.known && s.over_before;
	c->over_after = s.known && s.over_after;
	if (!c->over_before && !c->over_after)
		return;
	before = kind_of_process(c, c->held_pages, &sure_before);
	after = kind_of_process(c, c->held_after_pages, &sure_after);
	c->kind = c->over_before ? before : after;
	c->sure = c->over_before && c->over_after && before == after && sure_before && sure_after;
	if (capability_aside(&in->end)) {
		c->kind = CHARGE_CAPABILITY;
		c->sure = c->over_before && c->over_after;
	}
}

/*
 * io_uring decides by the ring's creator whether the user is charged at all, so the capability of
 * this call does not matter. Its own share is at most what the process has pinned.
 */
static void charge_ring(const struct incident *in, struct charge *c)
{
	const struct wire_reg_end *e = &in->end;
	uint64_t rest, own;

	if ((e->have & WIRE_HAVE_ARGS) && e->args.index > 0)
		c->earlier_pages = less(c->held_pages, e->user_locked_pages);
	rest = c->uring_known ? c->uring_pages : e->pinned_after_pages;
	own = add(c->earlier_pages, rest);
	if (add(c->asked_pages, c->earlier_pages) > c->limit_pages) {
		c->kind = CHARGE_ALONE;
		c->sure = c->asked_pages > c->limit_pages ||
			  (c->uring_known && e->user_locked_pages == c->uring_pages);
	} else if (add(c->asked_pages, own) <= c->limit_pages) {
		c->kind = CHARGE_USER;
		c->sure = c->over_before;
	} else {
		c->kind = CHARGE_SUM;
		c->sure = c->uring_known && c->over_before && own == c->held_pages;
	}
}

static void charge_area(const struct incident *in, struct charge *c)
{
	if (in->end.ipc_lock)
		return;
	c->sure = c->over_before;
	if (capability_aside(&in->end))
		c->kind = CHARGE_CAPABILITY;
	else
		c->kind = c->asked_pages > c->limit_pages ? CHARGE_ALONE : CHARGE_USER;
}

static void charge_user(const struct incident *in, const struct identity *id, struct charge *c)
{
	const uint32_t need = WIRE_HAVE_ACCOUNT | WIRE_HAVE_MEMLOCK;
	const struct wire_reg_end *e = &in->end;

	if ((e->have & need) != need || e->memlock_soft_bytes == UINT64_MAX)
		return;
	c->asked_pages = e->account.asked_pages;
	c->held_pages = c->held_after_pages = e->account.user_locked_pages;
	c->limit_pages = e->memlock_soft_bytes / id->page_size;
	c->over_before = c->over_after = add(c->asked_pages, c->held_pages) > c->limit_pages;
	if (incident_uring_refused(in, id)) {
		charge_ring(in, c);
		c->sure &= !!incident_chain(in, WIRE_FN_URING_ACCOUNT);
	} else if (e->api == WIRE_API_XDP_UMEM && incident_errno(in, WIRE_FN_XDP_UMEM) == ENOBUFS)
		charge_area(in, c);
}

/* VM_* bits and VFIO_DMA_MAP_FLAG_WRITE: the same on every kernel. */
#define VM_PFNMAP 0x400
#define VM_IO 0x4000
#define VFIO_WRITE 2

/* Does every page of the range count? Device memory does not, nor does the zero page of a mapping for reading. */
static bool all_pages_count(const struct wire_reg_end *e)
{
	uint32_t i;

	for (i = 0; i < e->nvmas; i++)
		if (e->vmas[i].flags & (VM_PFNMAP | VM_IO))
			return false;
	return (e->have & WIRE_HAVE_VMAS_ALL) && (e->args.flags & VFIO_WRITE);
}

/*
 * VFIO charges as it pins, so the count read at the end is of before the call. A range that is larger than
 * the limit by itself cannot get through; otherwise its ENOMEM has other reasons too (the IOMMU's tables).
 */
static void charge_locked(const struct incident *in, const struct identity *id, struct charge *c)
{
	const struct wire_reg_end *e = &in->end;

	if (!(e->have & WIRE_HAVE_MEMLOCK) || !(e->have & WIRE_HAVE_ARGS) || e->memlock_soft_bytes == UINT64_MAX)
		return;
	c->asked_pages = e->length / id->page_size;
	c->held_pages = c->held_after_pages = e->locked_vm_pages;
	c->limit_pages = e->memlock_soft_bytes / id->page_size;
	c->over_before = c->over_after = add(c->asked_pages, c->held_pages) > c->limit_pages;
	if (c->over_before && !e->ipc_lock && incident_errno(in, WIRE_FN_VFIO_MAP) == ENOMEM)
		c->kind = c->asked_pages > c->limit_pages ? CHARGE_ALONE : CHARGE_SUM;
	c->sure = c->kind == CHARGE_ALONE && all_pages_count(e);
}

static enum charge_to charged_to(uint32_t api)
{
	if (api == WIRE_API_IO_URING || api == WIRE_API_XDP_UMEM)
		return CHARGE_TO_USER;
	return api == WIRE_API_VFIO_MAP ? CHARGE_TO_LOCKED : CHARGE_TO_PROCESS;
}

struct charge charge_of(const struct incident *in, const struct identity *id)
{
	struct charge c = { .to = charged_to(in->end.api) };

	read_facts(in, id, &c);
	if (c.to == CHARGE_TO_USER)
		charge_user(in, id, &c);
	else if (c.to == CHARGE_TO_LOCKED)
		charge_locked(in, id, &c);
	else
		charge_process(in, id, &c);
	return c;
}

void charge_because(const struct charge *c, struct finding *ret)
{
	static const char *const why[CHARGE_KINDS] = {
		[CHARGE_ALONE] = "the request alone is more than the limit",
		[CHARGE_SUM] = "the process's own registrations and the request are more than the limit",
		[CHARGE_PRIVILEGED] = "what is pinned already is more than the limit by itself, io_uring apart",
		[CHARGE_IO_URING] = "without the io_uring buffers it would fit",
		[CHARGE_UNOWNED] = "without the pages that no live registration explains it would fit",
		[CHARGE_CAPABILITY] = "the process has CAP_IPC_LOCK where the kernel does not look",
		[CHARGE_USER] = "others of the same user hold what is missing",
	};

	ret->kind = FINDING_RULED_OUT;
	finding_because(ret, "%s: %" PRIu64 " pages asked, %" PRIu64 " charged to the %s, limit %" PRIu64
			" pages", why[c->kind], c->asked_pages, c->held_pages, c->to == CHARGE_TO_USER ? "user" : "process",
			c->limit_pages);
}
