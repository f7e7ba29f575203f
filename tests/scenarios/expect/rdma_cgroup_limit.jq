# SPDX-License-Identifier: BSD-2-Clause
# The control group may have no further object: refused before the driver is asked.
include "lib";

$truth[0] as $t
| verdict_on([
	failed($t),
	cause("rdma_cgroup_limit"),
	proven,
	stage(["rdma_cgroup"]),
	check("says_group"; says($t.cgroup)),
	check("says_limit"; says("\($t.cgroup_limit)")),
	ruled_out("rlimit_memlock_exceeded"),
	no_pages
])
