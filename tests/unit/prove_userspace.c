// SPDX-License-Identifier: BSD-2-Clause
/* The plainest incident that proves each cause of causes/userspace.def. */
#include "support.h"

#include <errno.h>
#include <string.h>

#define VM_HUGETLB 0x400000
#define HUGE (2ULL << 20)

/* madvise(MADV_DONTFORK) on the range; the process has 1000 mappings of 65530. */
static void dontfork(struct incident *ret, int err)
{
	build_failure(ret, err);
	ret->end.api = WIRE_API_FORK_MADVISE;
	ret->end.have = WIRE_HAVE_ARGS | WIRE_HAVE_MEMLOCK | WIRE_HAVE_VMAS | WIRE_HAVE_VMAS_ALL;
	ret->end.args.flags = 10;
	ret->end.map_count = 1000;
	add_chain(ret, WIRE_FN_MADVISE, -err);
	ret->facts.max_map_count = 65530;
	ret->facts.err[FACT_max_map_count] = 0;
}

void prove_max_map_count_madvise(struct incident *ret)
{
	dontfork(ret, EAGAIN);
	ret->end.map_count = 65530;
}

void prove_fork_hugepage_madvise_einval(struct incident *ret)
{
	dontfork(ret, EINVAL);
	ret->end.address = 16 * HUGE + PAGE;
	ret->end.length = HUGE - PAGE;
	ret->end.vmas[0] = (struct wire_vma){ .start = 16 * HUGE, .end = 20 * HUGE, .flags = VM_HUGETLB | 0x3,
					      .block_shift = 21 };
}

/* The last page of a region of 256, unmapped 3 s after it was made. */
void prove_stale_registration(struct incident *ret)
{
	build_failure(ret, 0);
	ret->end.hdr.kind = WIRE_STALE;
	ret->end.hdr.size = sizeof(struct wire_stale);
	ret->end.have = WIRE_HAVE_UMEM | WIRE_HAVE_DEVICE | WIRE_HAVE_MEMLOCK | WIRE_HAVE_CGROUP;
	ret->end.nchain = 0;
	ret->end.stage = WIRE_STAGE_PINNED;
	ret->stale = true;
	ret->damage = (struct wire_damage){
		.by = WIRE_DAMAGE_MUNMAP, .sure = 1, .owner_tgid = ret->end.tgid,
		.start = RANGE + 255 * PAGE, .end = RANGE + 256 * PAGE,
		.call_start = RANGE + 255 * PAGE, .call_end = RANGE + 300 * PAGE,
		.enter_ns = ret->end.start_ns + 3 * NS_PER_S,
	};
	ret->end.hdr.time_ns = ret->damage.enter_ns + 1000;
}
