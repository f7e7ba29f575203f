# SPDX-License-Identifier: BSD-2-Clause
# The process holds CAP_IPC_LOCK, but in a user namespace of its own, where it does not lift the limit.
include "lib";

$truth[0] as $t
| verdict_on([
	failed($t),
	cause("ipc_lock_cap_not_effective"),
	proven,
	stage(["limits"]),
	check("requested"; .memlock.requested_bytes == covers_pages($t) * 4096),
	check("limit"; .memlock.limit_soft == $t.memlock_soft),
	check("no_capability"; .memlock.cap_ipc_lock_effective == false),
	check("namespace"; .memlock.initial_user_namespace == false),
	check("says_namespace"; says_like("user namespace")),
	no_pages
])
