// SPDX-License-Identifier: BSD-2-Clause
/* Limits on how much memory a process or a user may pin. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "causes/call.h"
#include "causes/charge.h"
#include "names.h"
#include "text.h"

#define MEMLOCK_CAUSES(X) \
	X(rlimit_memlock_exceeded) X(rlimit_memlock_zero_no_cap) X(ipc_lock_cap_not_effective) \
	X(memlock_privileged_pins_counted) X(memlock_consumed_by_other_subsystem) \
	X(locked_vm_per_user_shared) X(accounting_late_or_leaked)
#define DECLARE(name) \
	void cause_##name(const struct incident *in, const struct identity *id, struct finding *ret);
MEMLOCK_CAUSES(DECLARE)

/* "256 pages asked + 0 pinned, limit 2048 pages, CAP_IPC_LOCK effective; ", or "" when not known. */
static const char *numbers(const struct wire_reg_end *e, const struct memlock_sum *s, char *buf, size_t size)
{
	char limit[32] = "none";

	buf[0] = '\0';
	if (!s->known)
		return buf;
	if (!s->unlimited)
		snprintf(limit, sizeof(limit), "%" PRIu64 " pages", s->limit_pages);
	snprintf(buf, size, "%" PRIu64 " pages asked + %" PRIu64 " pinned, limit %s%s; ", s->asked_pages,
		 s->before_pages, limit, e->ipc_lock ? ", CAP_IPC_LOCK effective" : "");
	return buf;
}

/* Something that comes after the check was reached. */
static bool past_the_check(const struct incident *in, const struct identity *id, struct finding *f)
{
	const struct wire_reg_end *e = &in->end;
	struct memlock_sum s = incident_memlock(in, id);
	char seen[128];

	if (e->gup_calls > 0)
		finding_because(f, "%sthe pin was reached: the limit is checked before it",
				numbers(e, &s, seen, sizeof(seen)));
	else if (incident_chain(in, WIRE_FN_GUP_LONGTERM) || incident_chain(in, WIRE_FN_MIGRATE))
		finding_because(f, "the pin was reached (it failed by itself): the limit is checked before it");
	else if (e->stage > WIRE_STAGE_UMEM)
		finding_because(f, "the registration got as far as stage %u, the pin: the limit is checked before it",
				(unsigned int)e->stage);
	else if (e->pin_fast_pages > 0)
		finding_because(f, "%" PRIu64 " pages had been pinned: the limit is checked before that",
				(uint64_t)e->pin_fast_pages);
	else
		return false;
	return true;
}

static bool umem_failed_first(const struct incident *in, int err)
{
	return incident_errno(in, WIRE_FN_UMEM) == err && in->end.chain[0].fn == WIRE_FN_UMEM;
}

/* The numbers of the process's own check that exclude it. */
static bool within_limit(const struct incident *in, const struct identity *id, struct finding *f)
{
	const struct wire_reg_end *e = &in->end;
	struct memlock_sum s = incident_memlock(in, id);
	char soft[TEXT_BYTES_LEN], sum[TEXT_BYTES_LEN];

	if (!s.known)
		return false;
	if (s.unlimited)
		finding_because(f, "the memlock limit is unlimited (%s pinned)",
				text_bytes(sum, s.before_pages * id->page_size));
	else if (e->ipc_lock && !(s.over_before && s.over_after && umem_failed_first(in, ENOMEM)))
		finding_because(f, "CAP_IPC_LOCK is effective: the limit of %s does not apply",
				text_bytes(soft, e->memlock_soft_bytes));
	else if (!s.over_before && !s.over_after)
		finding_because(f, "%" PRIu64 " pages asked + %" PRIu64 " pinned = %" PRIu64
				", within the limit of %" PRIu64 " pages (%s)",
				s.asked_pages, s.before_pages, s.asked_pages + s.before_pages,
				s.limit_pages, text_bytes(soft, e->memlock_soft_bytes));
	else
		return false;
	return true;
}

/* io_uring and AF_XDP: the function that charges the user is watched, and it did not fail so. */
static bool charge_accepted(const struct incident *in, const struct identity *id, struct finding *f)
{
	bool ring = in->end.api == WIRE_API_IO_URING;
	enum wire_fn fn = ring ? WIRE_FN_URING_ACCOUNT : WIRE_FN_XDP_UMEM;
	int refused = ring ? ENOMEM : ENOBUFS, err = incident_errno(in, fn);

	if (err == refused || !id->fn_watched[fn] || incident_uring_refused(in, id))
		return false;
	finding_because(f, "%s %s: over the limit it gives %s", name_fn(id, fn),
			err ? name_errno(err) : "did not fail", name_errno(refused));
	return true;
}

/* VFIO: the numbers of its own check. */
static bool locked_within_limit(const struct incident *in, const struct charge *c, struct finding *f)
{
	const struct wire_reg_end *e = &in->end;
	char soft[TEXT_BYTES_LEN];

	if (!(e->have & WIRE_HAVE_MEMLOCK) || c->over_before)
		return false;
	finding_because(f, "%" PRIu64 " pages asked + %" PRIu64 " locked, within the limit of %s", c->asked_pages,
			(uint64_t)e->locked_vm_pages, text_bytes(soft, e->memlock_soft_bytes));
	return true;
}

/* The number that excludes every limit of this family. */
static bool excluded(const struct incident *in, const struct identity *id, const struct charge *c, struct finding *f)
{
	bool out = false;

	if (c->to == CHARGE_TO_USER)
		out = charge_accepted(in, id, f);
	else if (c->to == CHARGE_TO_LOCKED)
		out = locked_within_limit(in, c, f);
	else
		out = past_the_check(in, id, f) || within_limit(in, id, f);
	if (out)
		f->kind = FINDING_RULED_OUT;
	return out;
}

/*
 * Was the charge refused, and do its numbers speak for `kind`? Over the limit with the capability,
 * either a security module denied it, which capable() asks too, or memory for the umem could not be
 * had; nothing seen here tells which. A limit of zero is refused earlier, with EPERM.
 */
static bool is_kind(const struct incident *in, const struct identity *id, enum charge_kind kind,
		    struct charge *c, struct finding *ret)
{
	*c = charge_of(in, id);
	if (excluded(in, id, c, ret) || c->kind == CHARGE_UNKNOWN)
		return false;
	if (c->to == CHARGE_TO_PROCESS && (in->end.ipc_lock || in->end.memlock_soft_bytes == 0 || !umem_failed_first(in, ENOMEM)))
		return false;
	if (c->kind != kind)
		charge_because(c, ret);
	return c->kind == kind;
}

static void tell_process(const struct incident *in, const struct identity *id, const struct charge *c,
			 struct finding *f)
{
	uint64_t page = id->page_size;

	finding_evidence(f, "asked: %" PRIu64 " pages of %" PRIu64 " bytes = %" PRIu64 " bytes (the range with its first and last page in full)",
			 c->asked_pages, page, c->asked_pages * page);
	finding_evidence(f, "pinned by this process already: %" PRIu64 " pages = %" PRIu64
			 " bytes at the check, %" PRIu64 " pages after the failure",
			 c->held_pages, c->held_pages * page, c->held_after_pages);
	finding_evidence(f, "limit: RLIMIT_MEMLOCK %" PRIu64 " bytes soft = %" PRIu64 " pages; %" PRIu64 " + %" PRIu64
			 " = %" PRIu64 " pages%s", (uint64_t)in->end.memlock_soft_bytes, c->limit_pages, c->asked_pages,
			 c->held_pages, c->asked_pages + c->held_pages,
			 c->over_before ? " is more" : " is not more");
	if (c->kind != CHARGE_CAPABILITY)
		finding_evidence(f, "CAP_IPC_LOCK is not effective in the initial user namespace%s",
				 in->end.init_user_ns ? "" : " (the process lives in another user namespace, whose capabilities do not count here)");
	finding_evidence(f, "%s = -ENOMEM, and no pin was tried", name_fn(id, WIRE_FN_UMEM));
}

static void tell_user(const struct incident *in, const struct identity *id, const struct charge *c,
		      struct finding *f)
{
	bool ring = in->end.api == WIRE_API_IO_URING;

	finding_evidence(f, "asked: %" PRIu64 " pages of %u bytes", c->asked_pages, id->page_size);
	if (ring && c->earlier_pages)
		finding_evidence(f, "buffer %u of %u of the call; the buffers before it hold %" PRIu64 " pages of the charge",
				 in->end.args.index + 1, in->end.args.count, c->earlier_pages);
	finding_evidence(f, "charged to user %u already, by all its processes: %" PRIu64 " pages; %" PRIu64 " + %" PRIu64
			 " = %" PRIu64 " pages%s", in->end.uid, c->held_pages, c->asked_pages, c->held_pages,
			 c->asked_pages + c->held_pages, c->over_before ? " is more than the limit" : " is not more than the limit");
	finding_evidence(f, "limit: RLIMIT_MEMLOCK %" PRIu64 " bytes soft = %" PRIu64 " pages",
			 (uint64_t)in->end.memlock_soft_bytes, c->limit_pages);
	if (ring && incident_chain(in, WIRE_FN_URING_ACCOUNT))
		finding_evidence(f, "%s = -ENOMEM, which it gives for nothing else", name_fn(id, WIRE_FN_URING_ACCOUNT));
	else if (ring)
		finding_missing(f, "memlock.charge", "on this kernel the charge is inlined into %s, which gives -ENOMEM for want of memory as well",
				name_fn(id, WIRE_FN_URING_BUFFER));
	else
		finding_evidence(f, "%s = -ENOBUFS, which it gives for nothing else; CAP_IPC_LOCK is not effective",
				 name_fn(id, WIRE_FN_XDP_UMEM));
}

static void tell_locked(const struct incident *in, const struct identity *id, const struct charge *c,
			struct finding *f)
{
	finding_evidence(f, "asked: %" PRIu64 " pages of %u bytes; locked by this process already (VmLck, with mlock()): %" PRIu64,
			 c->asked_pages, id->page_size, c->held_pages);
	finding_evidence(f, "limit: RLIMIT_MEMLOCK %" PRIu64 " bytes soft = %" PRIu64 " pages; CAP_IPC_LOCK is not effective",
			 (uint64_t)in->end.memlock_soft_bytes, c->limit_pages);
	finding_evidence(f, "%s = -ENOMEM; VFIO counts pages against the limit as it pins them", name_fn(id, WIRE_FN_VFIO_MAP));
	if (!c->sure)
		finding_missing(f, "vfio.accounting", "the IOMMU's page tables give ENOMEM too, and VFIO's own check is not hooked");
}

static void tell_shares(const struct charge *c, struct finding *f)
{
	if (c->mr_known)
		finding_evidence(f, "memory regions of this process on the device: %" PRIu64 " pages (RDMA netlink, after the failure)",
				 c->mr_pages);
	if (c->uring_known)
		finding_evidence(f, "io_uring buffers of this process: %" PRIu64 " pages (/proc/PID/fdinfo, after the failure)",
				 c->uring_pages);
}

/* What keeps a fitting incident from being proof; each reason becomes a line. True: none. */
static bool no_doubt(const struct incident *in, const struct identity *id, const struct charge *c,
		     struct finding *f)
{
	bool process = c->to == CHARGE_TO_PROCESS;
	bool watched = !process || (id->fn_watched[WIRE_FN_UMEM] && id->fn_watched[WIRE_FN_GUP_LONGTERM]);
	bool same = call_same_errno(in, f);

	if (process && c->over_before != c->over_after)
		finding_evidence(f, "not proven: the count of pinned pages changed between the two readings (%" PRIu64
				 " and %" PRIu64 "), and only one of them exceeds the limit",
				 c->held_pages, c->held_after_pages);
	else if (!c->over_before)
		finding_evidence(f, "not proven: with the count that was read it would have fitted; another charge came in between");
	else if (!c->sure && c->to != CHARGE_TO_LOCKED)
		finding_missing(f, "memlock.by_subsystem", "which registrations hold the pages charged already is not known for certain (memory regions %s, io_uring buffers %s)",
				c->mr_known ? "known" : "not read", c->uring_known ? "known" : "not read");
	if (!watched)
		finding_missing(f, "failure of the pin", "%s or %s is not hooked, so an ENOMEM of the pin itself would not have been seen",
				name_fn(id, WIRE_FN_UMEM), name_fn(id, WIRE_FN_GUP_LONGTERM));
	return same && watched && c->sure;
}

static void tell(const struct incident *in, const struct identity *id, const struct charge *c,
		 enum detail detail, struct finding *ret)
{
	ret->detail = detail;
	if (c->to == CHARGE_TO_USER)
		tell_user(in, id, c, ret);
	else if (c->to == CHARGE_TO_LOCKED)
		tell_locked(in, id, c, ret);
	else
		tell_process(in, id, c, ret);
	if (c->to != CHARGE_TO_LOCKED)
		tell_shares(c, ret);
	charge_tell_limit(in, ret);
	ret->kind = no_doubt(in, id, c, ret) ? FINDING_PROVEN : FINDING_LIKELY;
}

static uint64_t need(const struct charge *c)
{
	uint64_t sum;

	return __builtin_add_overflow(c->asked_pages, c->held_pages, &sum) ? UINT64_MAX : sum;
}

void cause_rlimit_memlock_exceeded(const struct incident *in, const struct identity *id,
				   struct finding *ret)
{
	char a[TEXT_BYTES_LEN], b[TEXT_BYTES_LEN], soft[TEXT_BYTES_LEN];
	struct charge c = charge_of(in, id);
	bool alone = c.kind == CHARGE_ALONE;

	if (!is_kind(in, id, alone ? CHARGE_ALONE : CHARGE_SUM, &c, ret))
		return;
	text_bytes(soft, in->end.memlock_soft_bytes);
	text_bytes(a, c.asked_pages * id->page_size);
	text_bytes(b, need(&c) * id->page_size);
	if (c.to == CHARGE_TO_USER)
		finding_summary(ret, "registering %s would take what user %u has locked to %s; the process's memlock limit is %s (soft)",
				a, in->end.uid, b, soft);
	else
		finding_summary(ret, "registering %s would take this process to %s (%" PRIu64 " pages) of %s memory; its memlock limit is %s (soft, %" PRIu64 " pages)",
				a, b, need(&c), c.to == CHARGE_TO_LOCKED ? "locked" : "pinned", soft, c.limit_pages);
	tell(in, id, &c, alone ? DETAIL_one_request_over_limit : DETAIL_sum_over_limit, ret);
	charge_raise_limit(in, id, need(&c), ret);
	if (!alone)
		finding_remedy(ret, "or register less: deregister what is no longer used, and look for registrations that are never released");
}

void cause_rlimit_memlock_zero_no_cap(const struct incident *in, const struct identity *id,
				      struct finding *ret)
{
	const struct wire_reg_end *e = &in->end;
	char soft[TEXT_BYTES_LEN];

	if (!(e->have & WIRE_HAVE_MEMLOCK) || !umem_failed_first(in, EPERM))
		return;
	if (e->memlock_soft_bytes != 0) {
		ret->kind = FINDING_RULED_OUT;
		finding_because(ret, "the memlock limit is %s, not zero", text_bytes(soft, e->memlock_soft_bytes));
		return;
	}
	/* With the capability it is a security module that says no; none was seen. */
	if (e->ipc_lock)
		return;
	ret->detail = DETAIL_limit_is_zero;
	finding_summary(ret, "the memlock limit of the process is 0 and it has no CAP_IPC_LOCK: it may pin nothing at all");
	finding_evidence(ret, "%s = -EPERM: it returns that only when the limit is 0 and CAP_IPC_LOCK is not effective",
			 name_fn(id, WIRE_FN_UMEM));
	finding_evidence(ret, "limit: RLIMIT_MEMLOCK 0 bytes soft, %" PRIu64 " bytes hard", (uint64_t)e->memlock_hard_bytes);
	finding_evidence(ret, "CAP_IPC_LOCK is not effective in the initial user namespace%s",
			 e->ipc_lock_effective ? ", only in the process's own, which does not count here" : "");
	charge_tell_limit(in, ret);
	ret->kind = call_same_errno(in, ret) ? FINDING_PROVEN : FINDING_LIKELY;
	charge_raise_limit(in, id, incident_pages(in, id), ret);
}

void cause_ipc_lock_cap_not_effective(const struct incident *in, const struct identity *id,
				      struct finding *ret)
{
	const struct wire_reg_end *e = &in->end;
	bool child = !e->init_user_ns;
	struct charge c;

	if (!is_kind(in, id, CHARGE_CAPABILITY, &c, ret))
		return;
	finding_summary(ret, "the request is over the memlock limit, and the CAP_IPC_LOCK that would lift it %s",
			child ? "counts in the container's user namespace only" : "is permitted to the process but not effective");
	finding_evidence(ret, "CAP_IPC_LOCK: %s in the process's own user namespace, not effective in the initial one, which is the one the kernel asks",
			 e->ipc_lock_effective ? "effective" : "permitted, not effective");
	tell(in, id, &c, child ? DETAIL_cap_in_child_namespace : DETAIL_cap_permitted_only, ret);
	if (child)
		finding_remedy(ret, "run the container without a user namespace of its own (Kubernetes: hostUsers: true) with CAP_IPC_LOCK added, or raise its memlock limit, which needs no capability");
	else
		finding_remedy(ret, "make it effective: the file capability with +ep (`setcap cap_ipc_lock+ep PROGRAM`), AmbientCapabilities=CAP_IPC_LOCK in the unit, or run as root in the container; --cap-add alone does not reach a user other than root");
	charge_raise_limit(in, id, need(&c), ret);
}

void cause_memlock_privileged_pins_counted(const struct incident *in, const struct identity *id,
					   struct finding *ret)
{
	char held[TEXT_BYTES_LEN], soft[TEXT_BYTES_LEN];
	struct charge c;

	if (!is_kind(in, id, CHARGE_PRIVILEGED, &c, ret))
		return;
	finding_summary(ret, "%s is pinned already, more than the memlock limit of %s: it was pinned while the limit did not hold this process, and keeps counting",
			text_bytes(held, c.held_pages * id->page_size), text_bytes(soft, in->end.memlock_soft_bytes));
	finding_evidence(ret, "%" PRIu64 " pages are pinned where the limit lets in %" PRIu64 ": made under CAP_IPC_LOCK, or under a higher limit; the two leave the same trace",
			 c.held_pages, c.limit_pages);
	tell(in, id, &c, DETAIL_pinned_already_over_limit, ret);
	finding_remedy(ret, "register everything before CAP_IPC_LOCK is dropped or the limit lowered, or keep the capability");
	charge_raise_limit(in, id, need(&c), ret);
}

void cause_memlock_consumed_by_other_subsystem(const struct incident *in, const struct identity *id,
					       struct finding *ret)
{
	char held[TEXT_BYTES_LEN];
	struct charge c;

	if (!is_kind(in, id, CHARGE_IO_URING, &c, ret))
		return;
	finding_summary(ret, "%s of this process's memlock budget is held by its io_uring buffers; without them the registration would fit",
			text_bytes(held, c.uring_pages * id->page_size));
	finding_evidence(ret, "without io_uring: %" PRIu64 " asked + %" PRIu64 " pinned otherwise, limit %" PRIu64 " pages",
			 c.asked_pages, c.held_pages - (c.uring_pages < c.held_pages ? c.uring_pages : c.held_pages),
			 c.limit_pages);
	tell(in, id, &c, DETAIL_held_by_io_uring, ret);
	finding_remedy(ret, "unregister io_uring buffers that are not needed (io_uring_unregister_buffers), or register fewer or smaller ones");
	charge_raise_limit(in, id, need(&c), ret);
}

void cause_locked_vm_per_user_shared(const struct incident *in, const struct identity *id,
				     struct finding *ret)
{
	char held[TEXT_BYTES_LEN], soft[TEXT_BYTES_LEN];
	struct charge c;

	if (call_is_other(in, API(IO_URING) | API(XDP_UMEM), "memory regions are charged to the process, not to its user", ret) ||
	    !is_kind(in, id, CHARGE_USER, &c, ret))
		return;
	finding_summary(ret, "%s is charged to user %u, whose processes share one budget; the process's memlock limit of %s leaves no room for the request",
			text_bytes(held, c.held_pages * id->page_size), in->end.uid,
			text_bytes(soft, in->end.memlock_soft_bytes));
	if (in->end.api == WIRE_API_IO_URING)
		finding_evidence(ret, "this process itself explains at most %" PRIu64 " pages of it (%s)",
				 c.earlier_pages + (c.uring_known ? c.uring_pages : (uint64_t)in->end.pinned_after_pages),
				 c.uring_known ? "its io_uring buffers" : "all that it has pinned");
	tell(in, id, &c, DETAIL_charged_to_user, ret);
	finding_missing(ret, "memlock.by_process", "which processes of the user hold the charge was not seen: the kernel keeps one sum per user");
	finding_remedy(ret, "look for other processes of the user with io_uring buffers, AF_XDP sockets or perf buffers (`grep -l UserBufs /proc/*/fdinfo/*`, `ss --xdp -p`), and stop them or give each service a user of its own");
	charge_raise_limit(in, id, need(&c), ret);
}

void cause_accounting_late_or_leaked(const struct incident *in, const struct identity *id,
				     struct finding *ret)
{
	uint64_t mine;
	struct charge c;

	if (!is_kind(in, id, CHARGE_UNOWNED, &c, ret))
		return;
	mine = c.mr_pages + c.uring_pages;
	finding_summary(ret, "%" PRIu64 " pages are charged to the process, and its live registrations explain only %" PRIu64
			": the rest was not given back, or not yet", c.held_pages, mine);
	finding_evidence(ret, "%" PRIu64 " pages without a live registration; without them the request would fit",
			 c.held_pages - mine);
	tell(in, id, &c, DETAIL_pages_without_owner, ret);
	finding_remedy(ret, "retry after a moment: when it passes, the release of earlier registrations was late");
	finding_remedy(ret, "compare VmPin in /proc/PID/status with `rdma resource show mr pid PID` of every device and with the queue buffers of its QPs and CQs, which are charged too; when VmPin only grows, the kernel or its driver leaks the charge: restart the process");
	charge_raise_limit(in, id, need(&c), ret);
}
