// SPDX-License-Identifier: BSD-2-Clause
/* The plainest incident that proves each cause of causes/memlock.def. */
#include "support.h"

#include <errno.h>
#include <string.h>

void prove_rlimit_memlock_exceeded(struct incident *ret)
{
	build_failure(ret, ENOMEM);
	fail_upwards(ret, ENOMEM);
	ret->end.memlock_soft_bytes = ret->end.memlock_hard_bytes = 300 * PAGE;
	ret->end.pinned_before_pages = ret->end.pinned_after_pages = 100;
}
