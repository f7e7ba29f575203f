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
