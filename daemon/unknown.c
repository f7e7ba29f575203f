// SPDX-License-Identifier: BSD-2-Clause
/* The finding of "unknown": what was seen, what to look at, and what would have decided it. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "diagnose.h"
#include "names.h"
#include "text.h"

static void tell_chain(const struct incident *in, const struct identity *id, struct finding *f)
{
	char line[FINDING_TEXT];
	struct text t;
	uint32_t i;

	text_init(&t, line, sizeof(line));
	for (i = 0; i < in->end.nchain; i++) {
		const struct wire_chain *c = &in->end.chain[i];

		text_add(&t, "%s%s", i ? ", then " : "", name_fn(id, c->fn));
		if (c->result < 0)
			text_add(&t, " = -%s (%d)", name_errno((int)-c->result), (int)c->result);
		else if (c->result > 0)
			text_add(&t, " left %" PRId64, (int64_t)c->result);
	}
	if (in->end.nchain)
		finding_evidence(f, "failed, first to last: %s", line);
}

static void tell_pin(const struct incident *in, const struct identity *id, struct finding *f)
{
	const struct wire_reg_end *e = &in->end;

	if (e->gup_calls && (e->have & WIRE_HAVE_GUP))
		finding_evidence(f, "pin: %u slow-path call%s, flags 0x%x, the last from 0x%" PRIx64 " for %" PRIu64 " pages returned %" PRId64,
				 e->gup_calls, e->gup_calls == 1 ? "" : "s", e->gup_flags,
				 (uint64_t)e->gup_start, (uint64_t)e->gup_pages, (int64_t)e->gup_result);
	else if (id->fn_watched[WIRE_FN_GUP_LONGTERM])
		finding_evidence(f, "pin: the slow path was not entered");
	if (e->passes || e->folios_seen || e->no_target)
		finding_evidence(f, "placement: %u migration attempts, %u folios stayed, %u target pages refused",
				 e->passes, e->folios_seen, e->no_target);
}

static void tell_folios(const struct incident *in, struct finding *f)
{
	int64_t least = INT64_MAX, most = INT64_MIN;
	uint32_t i, known = 0;

	for (i = 0; i < in->nfolios; i++) {
		struct folio_refs r = folio_refs(&in->folios[i]);

		if (!r.known)
			continue;
		known++;
		least = r.extra < least ? r.extra : least;
		most = r.extra > most ? r.extra : most;
	}
	if (known)
		finding_evidence(f, "%u folios that stayed were read: between %" PRId64 " and %" PRId64 " references more than expected",
				 known, least, most);
	else if (in->nfolios)
		finding_evidence(f, "%u folios that stayed were described, their counts could not be read", in->nfolios);
}

#define HELD_MAP "another thread of the process holds its memory map: /proc/PID/task/*/wchan tells what each waits in"

/* What a thread waits for, by a part of the name of the function it waits in, below the scheduler's and the locks'. */
static void tell_wait(const struct incident *in, struct finding *f)
{
	static const struct {
		const char *fn, *look;
	} waits[] = {
		{ "folio_wait", "it waits most likely for a page that is being read or written: look at the disk or server behind the file, or at the FUSE daemon (dmesg: blocked for more than 120 seconds)" },
		{ "get_user_pages", HELD_MAP },
		{ "gup_", HELD_MAP },
		{ "vaddr_get_pfn", HELD_MAP },
		{ "io_pin_pages", HELD_MAP },
		{ "xdp_umem", HELD_MAP },
		{ "madvise", HELD_MAP },
		{ "request_wait_answer", "a FUSE daemon does not answer: look at it, or abort its connection (/sys/fs/fuse/connections/*/abort)" },
		{ "rpc_wait", "an NFS server does not answer" },
	};
	const char *fn = in->sighting.waits_in;
	size_t i;

	if (!in->stuck || !fn[0])
		return;
	finding_evidence(f, "the thread waits in %s (%s)", fn, in->sighting.verified);
	for (i = 0; i < sizeof(waits) / sizeof(waits[0]); i++)
		if (strstr(fn, waits[i].fn))
			finding_remedy(f, "%s", waits[i].look);
}

static void tell_remedies(const struct incident *in, const char *stage, struct finding *f)
{
	static const struct {
		const char *stage;
		const char *look;
	} hints[] = {
		{ "uverbs", "compare access flags, length, and the page offsets of address and iova with what the device supports; check rdma.max of the cgroup" },
		{ "limits", "compare VmPin in /proc/PID/status with the memlock limit in /proc/PID/limits" },
		{ "umem", "check the arguments, memory pressure (sg tables are allocated there) and the IOMMU's messages in the kernel log" },
		{ "pin", "compare the address with /proc/PID/maps: permissions, device mappings, files, and the memory limit of the cgroup" },
		{ "placement", "compare the memory that is free outside CMA and ZONE_MOVABLE with the size of the range, in /proc/zoneinfo" },
		{ "provider", "look for messages of the device's driver in the kernel log, and count its objects with `rdma resource show mr`" },
	};
	size_t i;

	/* An object of the command that is not there: the protection domain is the only one most commands name. */
	if (in->end.result == -ENOENT)
		finding_remedy(f, "the protection domain given is not, or no longer, one of this context: look for one that was deallocated, or of another device or process");
	for (i = 0; i < sizeof(hints) / sizeof(hints[0]) && in->end.result != -ENOENT && !in->stuck; i++)
		if (strcmp(hints[i].stage, stage) == 0)
			finding_remedy(f, "%s", hints[i].look);
	finding_remedy(f, "`pinwhy doctor` tells which hooks this kernel lacks");
}

/* Could this function have failed in a call of this kind? */
static bool could_tell(const struct incident *in, uint32_t fn)
{
	uint32_t api = in->end.api;

	switch (fn) {
	case WIRE_FN_GUP_LONGTERM:
	case WIRE_FN_MIGRATE:
	case WIRE_FN_MIGRATE_TARGET:
	case WIRE_FN_HUGETLB_ALLOC:
	case WIRE_FN_USERFAULT:
		return api != WIRE_API_FORK_MADVISE;
	case WIRE_FN_UMEM:
	case WIRE_FN_UMEM_ODP:
	case WIRE_FN_RDMACG:
	case WIRE_FN_DMA_MAP:
		return api <= WIRE_API_DEVX_UMEM;
	case WIRE_FN_UMEM_DMABUF:
	case WIRE_FN_DMABUF_GET:
	case WIRE_FN_DMABUF_ATTACH:
	case WIRE_FN_DMABUF_PIN:
	case WIRE_FN_DMABUF_MAP:
		return api == WIRE_API_REG_DMABUF_MR;
	case WIRE_FN_MKEY:
	case WIRE_FN_FW_COMMAND:
		return strcmp(in->end.driver, "mlx5_ib") == 0;
	case WIRE_FN_URING_BUFFER:
	case WIRE_FN_URING_ACCOUNT:
		return api == WIRE_API_IO_URING;
	default:
		return fn == name_api_entry(api);
	}
}

/* Of no use where no page has to move. */
static bool moves_pages(uint32_t fn)
{
	return fn == WIRE_FN_MIGRATE || fn == WIRE_FN_MIGRATE_TARGET || fn == WIRE_FN_COLLECT;
}

static void tell_unwatched(const struct incident *in, const struct identity *id, struct finding *f)
{
	char line[FINDING_TEXT];
	struct text t;
	uint32_t fn;

	text_init(&t, line, sizeof(line));
	for (fn = WIRE_FN_NONE + 1; fn < WIRE_FN_MAX; fn++)
		if (!id->fn_watched[fn] && could_tell(in, fn) && !(id->pins_stay && moves_pages(fn)))
			text_item(&t, name_fn(id, fn));
	if (t.len)
		finding_missing(f, "chain", "not hooked on this kernel: %s", line);
	if (!id->putback_watched && !id->pins_stay)
		finding_missing(f, "pages", "folios that will not move are not watched on this kernel");
}

/* What a hook at the begin of a function would have read, when only its end was seen. */
static void tell_unread(const struct incident *in, const struct identity *id, struct finding *f)
{
	const struct wire_reg_end *e = &in->end;

	if (incident_driver_unseen(in, id))
		finding_missing(f, "chain", "the driver's own function is not hooked: %s", e->driver);
	if (incident_chain(in, WIRE_FN_UMEM) && !(e->have & WIRE_HAVE_UMEM))
		finding_missing(f, "memlock.pinned_bytes", "the begin of %s was not seen: its range, and the pages pinned before it",
				name_fn(id, WIRE_FN_UMEM));
	if (incident_chain(in, WIRE_FN_URING_ACCOUNT) && !(e->have & WIRE_HAVE_ACCOUNT))
		finding_missing(f, "memlock.user_locked_before_bytes", "the begin of %s was not seen: the pages asked for, and those of the user before",
				name_fn(id, WIRE_FN_URING_ACCOUNT));
	if (e->have & WIRE_HAVE_SIGNAL && e->oom_victim && !(e->have & WIRE_HAVE_OOM))
		finding_missing(f, "choice of the OOM killer", "the process is its victim; for which limit was not seen");
}

static void tell_missing(const struct incident *in, const struct identity *id, struct finding *f)
{
	const struct wire_reg_end *e = &in->end;

	tell_unwatched(in, id, f);
	tell_unread(in, id, f);
	if (e->nchain == 0 && !in->stuck && e->result != 0)
		finding_missing(f, "chain", "no hooked function was seen failing");
	if (e->nchain == WIRE_CHAIN_MAX)
		finding_missing(f, "chain", "more than %u functions failed; the later ones were not kept", WIRE_CHAIN_MAX);
	if (incident_errno(in, WIRE_FN_GUP_LONGTERM) == EFAULT && e->fault_vma_state == WIRE_FAULT_VMA_UNKNOWN)
		finding_missing(f, "mapping at the failing address", "it could not be looked up when the pin failed (the process's memory map was locked)");
	if (e->folios_seen && in->nfolios == 0)
		finding_missing(f, "pages", "%u folios stayed and none was described", e->folios_seen);
}

void diagnose_unknown(const struct incident *in, const struct identity *id, struct finding *ret)
{
	const char *stage = incident_stage(in, id);

	if (in->stuck)
		finding_summary(ret, "the registration is still in flight, in stage %s", stage);
	else
		finding_summary(ret, "%s, in stage %s; no known cause fits what was seen",
				name_errno((int)-in->end.result), stage);
	tell_chain(in, id, ret);
	tell_pin(in, id, ret);
	tell_folios(in, ret);
	tell_wait(in, ret);
	tell_remedies(in, stage, ret);
	tell_missing(in, id, ret);
}
