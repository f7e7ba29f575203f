// SPDX-License-Identifier: BSD-2-Clause
/* The plainest incident that proves each cause of causes/fault.def. */
#include "support.h"

#include <errno.h>
#include <string.h>

static struct wire_vma *fail_in_huge_pages(struct incident *in, int err)
{
	struct wire_vma *v = fail_in_mapping(in, err, 0x4000fb);

	map_file(v, "hugetlbfs", 512);
	v->start = RANGE - PAGE;
	v->end = v->start + 512 * PAGE;
	v->block_shift = 21;
	return v;
}

void prove_hugetlb_pool_or_cgroup_empty(struct incident *ret)
{
	struct wire_reg_end *e = &ret->end;

	fail_in_huge_pages(ret, EFAULT);
	e->nchain = 0;
	add_chain(ret, WIRE_FN_HUGETLB_ALLOC, -ENOSPC);
	add_chain(ret, WIRE_FN_GUP_LONGTERM, -EFAULT);
	fail_upwards(ret, EFAULT);
}

void prove_hugetlb_place_refused(struct incident *ret)
{
	fail_in_huge_pages(ret, ENOMEM);
}

void prove_userfault_stall(struct incident *ret)
{
	build_failure(ret, 0);
	ret->stuck = true;
	ret->end.start_ns = 70 * NS_PER_S;
	ret->end.stage = WIRE_STAGE_PIN;
	strcpy(ret->sighting.verified, SIGHTING_WAITS);
	strcpy(ret->sighting.waits_in, "handle_userfault");
}

/* A pin that a fatal signal stopped. */
static void fail_killed(struct incident *in)
{
	fail_in_mapping(in, EINTR, 0x73);
	in->end.have |= WIRE_HAVE_SIGNAL;
	in->end.killed = 1;
	in->end.group_exit_code = 9;
}

void choose_victim(struct incident *in, uint32_t constraint)
{
	struct wire_reg_end *e = &in->end;

	fail_killed(in);
	e->have |= WIRE_HAVE_OOM;
	e->oom_victim = 1;
	e->oom.time_ns = e->start_ns + 1000;
	e->oom.constraint = constraint;
	e->oom.by_tid = e->tid;
}

void prove_memcg_oom_during_pin(struct incident *ret)
{
	choose_victim(ret, 3);
}

void prove_numa_node_exhausted(struct incident *ret)
{
	choose_victim(ret, 2);
}

void prove_fatal_signal_during_pin(struct incident *ret)
{
	fail_killed(ret);
}
