# SPDX-License-Identifier: BSD-2-Clause
# The firmware has no memory key left: opcode, status and syndrome are the answer's own.
include "lib";

$truth[0] as $t
| verdict_on([
	failed($t),
	cause("mkey_exhausted_fw"),
	proven,
	check("detail"; .verdict.detail == if $t.status == "0x8" then "mkey_limit" else "mkey_resources" end),
	answered($t),
	ruled_out("fw_command_rejected"),
	ruled_out("rlimit_memlock_exceeded"),
	no_pages
])
