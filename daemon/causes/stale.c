// SPDX-License-Identifier: BSD-2-Clause
/* Nothing failed, and a region no longer names the memory that its process has at that address. */
#include <inttypes.h>

#include "diagnose.h"
#include "names.h"
#include "text.h"

void cause_stale_registration(const struct incident *in, const struct identity *id, struct finding *ret);

static const struct {
	const char *took;
	enum detail detail;
} calls[WIRE_DAMAGE_MAX] = {
	[WIRE_DAMAGE_NONE] = { "a call took away", DETAIL_none },
	[WIRE_DAMAGE_MUNMAP] = { "munmap or brk unmapped", DETAIL_region_unmapped },
	[WIRE_DAMAGE_MADVISE] = { "madvise threw away", DETAIL_region_given_back },
	[WIRE_DAMAGE_MREMAP] = { "mremap took away", DETAIL_region_moved_away },
	[WIRE_DAMAGE_MMAP] = { "mmap with MAP_FIXED replaced", DETAIL_region_mapped_over },
};

static void remedies(struct finding *ret)
{
	finding_remedy(ret, "what this region has carried since may be wrong; until it is mended turn the registration cache "
			    "off: UCX_RCACHE_ENABLE=n, FI_MR_CACHE_MONITOR=disabled, NCCL_LOCAL_REGISTER=0");
	finding_remedy(ret, "let the cache hear of such calls: UCX_MEM_EVENTS=y and UCX_MEM_MMAP_HOOK_MODE=bistro (UCX), "
			    "FI_MR_CACHE_MONITOR=memhooks or userfaultfd (libfabric, NCCL over it); a static link or "
			    "another malloc can keep such hooks out");
	finding_remedy(ret, "without a cache: ibv_dereg_mr before munmap, free, realloc or MADV_DONTNEED of the buffer");
}

void cause_stale_registration(const struct incident *in, const struct identity *id, struct finding *ret)
{
	const struct wire_damage *d = &in->damage;
	uint64_t pages = (d->end - d->start) / id->page_size, all = incident_pages(in, id);
	uint64_t age_ms = d->enter_ns > in->end.start_ns ? (d->enter_ns - in->end.start_ns) / 1000000 : 0;

	if (!in->stale)
		return;
	ret->detail = calls[d->by].detail;
	ret->kind = d->sure && d->by != WIRE_DAMAGE_NONE ? FINDING_PROVEN : FINDING_LIKELY;
	finding_summary(ret, "%s %" PRIu64 " of %" PRIu64 " pages of a region that is still registered: the device goes on "
			     "with the pages that were there", calls[d->by].took, pages, all);
	finding_evidence(ret, "the call covered 0x%llx-0x%llx and succeeded (thread %u)%s%s", d->call_start,
			 d->call_end, in->end.tid, d->by == WIRE_DAMAGE_MADVISE ? ", advice " : "",
			 d->by == WIRE_DAMAGE_MADVISE ? name_advice(d->advice) : "");
	finding_evidence(ret, "of the region 0x%llx + %llu bytes it took 0x%llx-0x%llx",
			 in->end.address, in->end.length, d->start, d->end);
	finding_evidence(ret, "the region was made %" PRIu64 " ms before by process %u (%s) and had not been given back when the "
			      "call had ended", age_ms, d->owner_tgid, name_api(in->end.api));
	if (d->owner_tgid != in->end.tgid)
		finding_evidence(ret, "the call was made by another process, %u", in->end.tgid);
	if (!d->sure)
		finding_missing(ret, "damage.mapping", "whether the mapping is private was not seen: of a shared one these "
						       "pages stay in its file and come back");
	remedies(ret);
}
