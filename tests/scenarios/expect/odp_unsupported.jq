# SPDX-License-Identifier: BSD-2-Clause
# The device has no on-demand paging, or not of the whole address space.
include "lib";

$truth[0] as $t
| verdict_on([
	failed($t),
	cause("odp_unsupported"),
	proven,
	stage(["uverbs", "provider", "umem"]),
	check("says_odp"; says_like("on-demand|ON_DEMAND")),
	no_pages
])
