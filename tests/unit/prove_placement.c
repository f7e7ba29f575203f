// SPDX-License-Identifier: BSD-2-Clause
/* The plainest incident that proves each cause of causes/placement.def. */
#include "support.h"

#include <errno.h>
#include <string.h>

void prove_longterm_migrate_blocked_by_ref(struct incident *ret)
{
	build_failure(ret, ENOMEM);
	add_chain(ret, WIRE_FN_MIGRATE, 1);
	fail_pin(ret, ENOMEM);
	ret->end.stage = WIRE_STAGE_PLACEMENT;
	ret->end.have |= WIRE_HAVE_MIGRATE;
	ret->end.passes = 1;
	ret->end.migrate_mode = 2;
	ret->end.migrate_reason = 7;
	fail_upwards(ret, ENOMEM);
	add_folio(ret, 37, 1);
}

void prove_longterm_migrate_blocked_by_batch_ref(struct incident *ret)
{
	prove_longterm_migrate_blocked_by_ref(ret);
	ret->folios[0].flags |= WIRE_FOLIO_MLOCKED;
}

void prove_longterm_pin_race_two_pinners(struct incident *ret)
{
	prove_longterm_migrate_blocked_by_ref(ret);
	ret->folios[0].refcount = 2 + 1024;
	add_folio(ret, 38, 0);
}

void prove_longterm_migrate_no_target(struct incident *ret)
{
	prove_longterm_migrate_blocked_by_ref(ret);
	ret->folios[0].refcount = 2;
	ret->folios[0].flags = WIRE_FOLIO_ANON | WIRE_FOLIO_MOVABLE_ZONE;
	ret->end.no_target = 1;
	ret->end.chain[0].result = -ENOMEM;
}

void prove_hugetlb_in_cma_no_target(struct incident *ret)
{
	struct wire_folio *f = &ret->folios[0];

	prove_longterm_migrate_no_target(ret);
	f->flags = WIRE_FOLIO_HUGETLB | WIRE_FOLIO_LARGE | WIRE_FOLIO_CMA;
	f->order = 18;
	f->pincount = 0;
}

void prove_longterm_isolate_livelock(struct incident *ret)
{
	build_failure(ret, 0);
	ret->stuck = true;
	ret->end.start_ns = 70 * NS_PER_S;
	ret->end.stage = WIRE_STAGE_PIN;
	ret->end.have |= WIRE_HAVE_GUP;
	ret->end.collects = 250000;
	strcpy(ret->sighting.verified, SIGHTING_WAITS);
	strcpy(ret->sighting.waits_in, "__flush_work");
}

void prove_device_coherent_unmigratable(struct incident *ret)
{
	build_failure(ret, EBUSY);
	fail_pin(ret, EBUSY);
	fail_upwards(ret, EBUSY);
}

/* Eight of the 256 pages that NVIDIA's driver has just pinned lie in CMA. */
void prove_first_pin_strands_pages(struct incident *ret)
{
	struct wire_folio page;

	build_failure(ret, ENOMEM);
	add_chain(ret, WIRE_FN_MIGRATE, 1);
	page = *add_folio(ret, 37, 0);
	build_failure(ret, 0);
	ret->end.hdr.kind = WIRE_HAZARD;
	ret->end.hdr.size = sizeof(struct wire_hazard);
	ret->end.have = WIRE_HAVE_UMEM | WIRE_HAVE_CGROUP;
	ret->end.nchain = 0;
	ret->end.start_ns = ret->end.hdr.time_ns;
	ret->end.api = WIRE_API_NONE;
	ret->end.folios_seen = 8;
	ret->hazard = true;
	ret->stranded = (struct wire_stranded){ .pages = 8, .cma = 8, .looked = 256 };
	page.have = WIRE_HAVE_PLACEMENT | WIRE_HAVE_ADDRESS | WIRE_HAVE_AREA;
	ret->folios[ret->nfolios++] = page;
	ret->holders.npins = 1;
	ret->holders.pins[0] = (struct wire_holder){
		.page = 37, .nstack = 1,
		.pin = { .id = 7, .since_ns = ret->end.hdr.time_ns, .task_start_ns = ret->end.task_start_ns, .address = RANGE, .pages = 256,
			 .tgid = ret->end.tgid, .tid = ret->end.tid, .gup_flags = 1, .calls = 1, .via = WIRE_PIN_VIA_NVIDIA, .comm = "trainer" },
		.stack = { "os_lock_user_pages [nvidia]" },
	};
}

/* One of them was in the way of a contiguous allocation, 41 s later. */
void prove_cma_alloc_blocked_by_pin(struct incident *ret)
{
	struct wire_folio *page;

	prove_first_pin_strands_pages(ret);
	ret->end.hdr.kind = WIRE_CMA_BLOCKED;
	ret->end.hdr.size = sizeof(struct wire_cma_blocked);
	ret->end.have &= ~WIRE_HAVE_UMEM;
	ret->end.address = ret->end.length = 0;
	ret->end.folios_seen = 1;
	strcpy(ret->end.comm, "modprobe");
	ret->holders.pins[0].pin.since_ns -= 41 * NS_PER_S;
	memset(&ret->stranded, 0, sizeof(ret->stranded));
	ret->contig = (struct wire_contig){
		.pages = 32768, .start_ns = ret->end.hdr.time_ns - 1000000, .range_pfn = 0x70000, .busy = 3, .pinned = 3, .failed = 1, .result = -EBUSY, .held = 1,
	};
	page = &ret->folios[0];
	page->have |= WIRE_HAVE_COUNTS;
	page->mapcount = page->expected = 1;
	page->refcount = 1 + 1024;
	page->pincount = -1;
}
