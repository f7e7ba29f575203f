# SPDX-License-Identifier: BSD-2-Clause
# What was pinned under the capability alone exceeds the limit, and goes on counting without it.
include "lib";

$truth[0] as $t
| verdict_on([
	failed($t),
	cause("memlock_privileged_pins_counted"),
	proven,
	stage(["limits"]),
	check("requested"; .memlock.requested_bytes == covers_pages($t) * 4096),
	check("limit"; .memlock.limit_soft == $t.memlock_soft),
	check("no_capability"; .memlock.cap_ipc_lock_effective == false),
	check("pinned_before"; .memlock.pinned_bytes == $t.privileged_bytes),
	check("over_before_the_call"; .memlock.pinned_bytes > .memlock.limit_soft),
	no_pages
])
