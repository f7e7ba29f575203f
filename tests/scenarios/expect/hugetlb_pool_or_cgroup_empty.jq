# SPDX-License-Identifier: BSD-2-Clause
# A fault in a hugetlb mapping found no page: not in the pool, or not for the control group.
include "lib";

$truth[0] as $t
| verdict_on([
	failed($t),
	cause("hugetlb_pool_or_cgroup_empty"),
	proven,
	stage(["pin"]),
	check("says_huge"; says_like("huge")),
	(if $t.cgroup then check("says_group"; says($t.cgroup)) else empty end),
	(if $t.huge_free then check("says_area"; says_like("CMA|[Mm]ovable|area")) else empty end),
	ruled_out("address_not_mapped"),
	no_pages
])
