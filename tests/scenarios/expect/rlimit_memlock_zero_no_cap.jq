# SPDX-License-Identifier: BSD-2-Clause
# A limit of 0 forbids every pin to whoever lacks the capability, with an errno of its own.
include "lib";

$truth[0] as $t
| verdict_on([
	failed($t),
	cause("rlimit_memlock_zero_no_cap"),
	proven,
	stage(["limits"]),
	check("uid"; .process.uid == $t.uid),
	check("limit"; .memlock.limit_soft == 0),
	check("no_capability"; .memlock.cap_ipc_lock_effective == false),
	no_pages
])
