# SPDX-License-Identifier: BSD-2-Clause
# A page of 1 GiB in a CMA area would have to move and has nowhere to go. Nobody holds it: no first pin.
include "lib";

$truth[0] as $t
| verdict_on([
	failed($t),
	cause("hugetlb_in_cma_no_target"),
	proven,
	stage(["placement"]),
	check("no_first_pin"; .first_pin == null),
	check("says_huge"; says_like("huge|1 GiB")),
	check("says_area"; says_like("CMA")),
	ruled_out("rlimit_memlock_exceeded")
])
