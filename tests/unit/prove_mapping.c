// SPDX-License-Identifier: BSD-2-Clause
/* The plainest incident that proves each cause of causes/mapping.def. */
#include "support.h"

#include <errno.h>
#include <string.h>

void prove_address_not_mapped(struct incident *ret)
{
	build_failure(ret, EFAULT);
	fail_pin(ret, EFAULT);
	fail_upwards(ret, EFAULT);
	ret->end.have |= WIRE_HAVE_FAULT_VMA;
	ret->end.fault_vma_state = WIRE_FAULT_VMA_HOLE;
	ret->end.vmas[0].end = RANGE + 37 * PAGE;
}
