# SPDX-License-Identifier: BSD-2-Clause
# Another subsystem of the same process holds what is missing below the limit: the report says which.
include "lib";

$truth[0] as $t
| verdict_on([
	failed($t),
	cause("memlock_consumed_by_other_subsystem"),
	proven,
	stage(["limits"]),
	check("requested"; .memlock.requested_bytes == covers_pages($t) * 4096),
	check("limit"; .memlock.limit_soft == $t.memlock_soft),
	check("no_capability"; .memlock.cap_ipc_lock_effective == false),
	check("pinned_before"; .memlock.pinned_bytes == $t.held_bytes),
	check("over_the_limit"; .memlock.pinned_bytes + .memlock.requested_bytes > .memlock.limit_soft),
	check("fits_alone"; .memlock.requested_bytes <= .memlock.limit_soft),
	check("says_who_holds"; says($t.held_by)),
	no_pages
])
