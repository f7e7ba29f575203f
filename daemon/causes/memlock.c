// SPDX-License-Identifier: BSD-2-Clause
/* Limits on how much memory a process may pin. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "diagnose.h"
#include "names.h"
#include "text.h"

void cause_rlimit_memlock_exceeded(const struct incident *in, const struct identity *id,
				   struct finding *ret);

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

/* The number that excludes the limit. False: it is not excluded. */
static bool excluded(const struct incident *in, const struct identity *id,
		     const struct memlock_sum *s, struct finding *f)
{
	const struct wire_reg_end *e = &in->end;
	char soft[TEXT_BYTES_LEN], sum[TEXT_BYTES_LEN], seen[128];
	int umem = incident_errno(in, WIRE_FN_UMEM);
	int err = umem ? umem : (int)-e->result;

	if (err != ENOMEM)
		finding_because(f, "errno is %s: a request over the limit gives ENOMEM", name_errno(err));
	else if (e->gup_calls > 0)
		finding_because(f, "%sthe pin was reached: the limit is checked before it",
				numbers(e, s, seen, sizeof(seen)));
	else if (incident_chain(in, WIRE_FN_GUP_LONGTERM) || incident_chain(in, WIRE_FN_MIGRATE))
		finding_because(f, "the pin was reached (it failed by itself): the limit is checked before it");
	else if (e->stage > WIRE_STAGE_UMEM)
		finding_because(f, "the registration got as far as stage %u, the pin: the limit is checked before it",
				(unsigned int)e->stage);
	else if (e->pin_fast_pages > 0)
		finding_because(f, "%" PRIu64 " pages had been pinned: the limit is checked before that",
				(uint64_t)e->pin_fast_pages);
	else if (!s->known)
		return false;
	else if (s->unlimited)
		finding_because(f, "the memlock limit is unlimited (%s pinned)",
				text_bytes(sum, s->before_pages * id->page_size));
	else if (e->ipc_lock && !(s->over_before && s->over_after && umem == ENOMEM && e->chain[0].fn == WIRE_FN_UMEM))
		finding_because(f, "CAP_IPC_LOCK is effective: the limit of %s does not apply",
				text_bytes(soft, e->memlock_soft_bytes));
	else if (!s->over_before && !s->over_after)
		finding_because(f, "%" PRIu64 " pages asked + %" PRIu64 " pinned = %" PRIu64
				", within the limit of %" PRIu64 " pages (%s)",
				s->asked_pages, s->before_pages, s->asked_pages + s->before_pages,
				s->limit_pages, text_bytes(soft, e->memlock_soft_bytes));
	else
		return false;
	f->kind = FINDING_RULED_OUT;
	return true;
}

static void tell_sum(const struct incident *in, const struct identity *id, const struct memlock_sum *s,
		     struct finding *f)
{
	char a[TEXT_BYTES_LEN], b[TEXT_BYTES_LEN], c[TEXT_BYTES_LEN];
	uint64_t page = id->page_size;

	finding_summary(f, "registering %s would take this process to %s of pinned memory; its memlock limit is %s (soft)",
			text_bytes(a, s->asked_pages * page),
			text_bytes(b, (s->asked_pages + s->before_pages) * page),
			text_bytes(c, in->end.memlock_soft_bytes));
	finding_evidence(f, "asked: %" PRIu64 " pages of %" PRIu64 " bytes = %" PRIu64 " bytes (the range with its first and last page in full)",
			 s->asked_pages, page, s->asked_pages * page);
	finding_evidence(f, "pinned by this process already: %" PRIu64 " pages = %" PRIu64
			 " bytes at the check, %" PRIu64 " pages after the failure",
			 s->before_pages, s->before_pages * page, s->after_pages);
	finding_evidence(f, "limit: RLIMIT_MEMLOCK %" PRIu64 " bytes soft = %" PRIu64 " pages; %" PRIu64 " + %" PRIu64
			 " = %" PRIu64 " pages%s", (uint64_t)in->end.memlock_soft_bytes, s->limit_pages, s->asked_pages,
			 s->before_pages, s->asked_pages + s->before_pages,
			 s->over_before ? " is more" : " is not more");
	finding_evidence(f, "CAP_IPC_LOCK is not effective in the initial user namespace%s",
			 in->end.init_user_ns ? "" : " (the process lives in another user namespace, whose capabilities do not count here)");
	finding_evidence(f, "%s = -ENOMEM, and no pin was tried", name_fn(id, WIRE_FN_UMEM));
}

static void tell_remedies(const struct incident *in, const struct identity *id, const struct memlock_sum *s,
			  struct finding *f)
{
	char need[TEXT_BYTES_LEN];

	finding_remedy(f, "raise the limit where the process is started: LimitMEMLOCK=infinity in the systemd unit, `ulimit -l unlimited` in the shell or batch script, the memlock ulimit of the container runtime (this request needs at least %s)",
		       text_bytes(need, (s->asked_pages + s->before_pages) * id->page_size));
	finding_remedy(f, "limits.conf applies to logins only: a service, and every job it starts, keeps the service's limit");
	if (s->before_pages > s->limit_pages)
		finding_remedy(f, "what is pinned already is over the limit by itself: pins made while privileged keep counting after CAP_IPC_LOCK is dropped; register before dropping it, or keep it");
	if (in->end.memlock_hard_bytes > in->end.memlock_soft_bytes)
		finding_remedy(f, "the hard limit is higher than the soft one: the process may raise its own soft limit with setrlimit()");
}

void cause_rlimit_memlock_exceeded(const struct incident *in, const struct identity *id,
				   struct finding *ret)
{
	struct memlock_sum s = incident_memlock(in, id);
	bool watched = id->fn_watched[WIRE_FN_UMEM] && id->fn_watched[WIRE_FN_GUP_LONGTERM];

	if (excluded(in, id, &s, ret) || !s.known)
		return;
	/*
	 * Over the limit with the capability: either a security module denied it, which capable() asks
	 * too, or memory for the umem could not be had. Nothing seen here tells which.
	 */
	if (in->end.ipc_lock)
		return;
	/* A limit of zero is refused earlier, with EPERM: it was not zero when this check was made. */
	if (in->end.memlock_soft_bytes == 0)
		return;
	/* Without a failing umem function the ENOMEM is somebody else's. */
	if (incident_errno(in, WIRE_FN_UMEM) != ENOMEM || in->end.chain[0].fn != WIRE_FN_UMEM)
		return;
	ret->kind = s.over_before && s.over_after && watched && in->end.result == -ENOMEM ?
		FINDING_PROVEN : FINDING_LIKELY;
	ret->detail = s.asked_pages > s.limit_pages ? DETAIL_one_request_over_limit :
		      s.before_pages > s.limit_pages ? DETAIL_pinned_already_over_limit :
		      DETAIL_sum_over_limit;
	tell_sum(in, id, &s, ret);
	tell_remedies(in, id, &s, ret);
	if (s.over_before != s.over_after)
		finding_evidence(ret, "not proven: the count of pinned pages changed between the two readings (%" PRIu64
				 " and %" PRIu64 "), and only one of them exceeds the limit",
				 s.before_pages, s.after_pages);
	if (!watched)
		finding_missing(ret, "failure of the pin", "%s or %s is not hooked, so an ENOMEM of the pin itself would not have been seen",
				name_fn(id, WIRE_FN_UMEM), name_fn(id, WIRE_FN_GUP_LONGTERM));
	if (in->end.result != -ENOMEM)
		finding_evidence(ret, "not proven: the call ended with %s, not with the ENOMEM of the check",
				 name_errno((int)-in->end.result));
}
