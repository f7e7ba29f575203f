# SPDX-License-Identifier: BSD-2-Clause
# The firmware refused a command for something else than memory keys.
include "lib";

$truth[0] as $t
| verdict_on([
	failed($t),
	cause("fw_command_rejected"),
	proven,
	answered($t),
	excluded("mkey_exhausted_fw"),
	no_pages
])
