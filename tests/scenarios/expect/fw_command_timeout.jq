# SPDX-License-Identifier: BSD-2-Clause
# The firmware did not answer: there is no status to tell.
include "lib";

$truth[0] as $t
| verdict_on([
	failed($t),
	cause("fw_command_timeout"),
	proven,
	stage(["provider"]),
	check("no_status"; .provider.fw_status == "0x0"),
	check("command_errno"; .provider.errno == $t.errno),
	no_pages
])
