# SPDX-License-Identifier: BSD-2-Clause
# io_uring and AF_XDP count per user: another process of the same user holds what is missing.
include "lib";

$truth[0] as $t
| verdict_on([
	failed($t),
	cause("locked_vm_per_user_shared"),
	# Where the charge is inlined (7.3) it is not seen, and only the numbers speak.
	check("confidence"; .verdict.confidence == (if .chain[0].function == "io_sqe_buffer_register" then "likely" else "proven" end)),
	stage(["limits"]),
	check("uid"; .process.uid == $t.uid),
	check("requested"; .memlock.requested_bytes == covers_pages($t) * 4096),
	check("limit"; .memlock.limit_soft == $t.memlock_soft),
	check("no_capability"; .memlock.cap_ipc_lock_effective == false),
	check("fits_alone"; .memlock.requested_bytes <= .memlock.limit_soft),
	check("says_user"; says("\($t.uid)")),
	no_pages
])
