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
