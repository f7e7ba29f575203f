# SPDX-License-Identifier: BSD-2-Clause
# An ordinary user would have pinned more than RLIMIT_MEMLOCK allows: the numbers have to add up.
include "lib";

$truth[0] as $t
| verdict_on([
	failed($t),
	cause("rlimit_memlock_exceeded"),
	# Where the charge is inlined (7.3) it is not seen, and only the numbers speak.
	check("confidence"; .verdict.confidence == (if .chain[0].function == "io_sqe_buffer_register" then "likely" else "proven" end)),
	check("detail"; .verdict.detail == (if $t.length > $t.memlock_soft then "one_request_over_limit" else "sum_over_limit" end)),
	stage(if $t.entry == "vfio" then ["vfio"] else ["limits"] end),
	check("uid"; .process.uid == $t.uid),
	check("requested"; .memlock.requested_bytes == covers_pages($t) * 4096),
	check("limit"; .memlock.limit_soft == $t.memlock_soft),
	check("no_capability"; .memlock.cap_ipc_lock_effective == false),
	(if is_verbs($t) then check("pinned_before"; .memlock.pinned_bytes == $t.pinned_before),
		check("over_the_limit"; .memlock.pinned_bytes + .memlock.requested_bytes > .memlock.limit_soft) else empty end),
	no_pages
])
