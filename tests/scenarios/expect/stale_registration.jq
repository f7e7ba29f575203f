# SPDX-License-Identifier: BSD-2-Clause
# No call failed: the memory below a live region is no longer what the process has there.
include "lib";

$truth[0] as $t
| verdict_on([
	cause("stale_registration"),
	check("confidence"; .verdict.confidence | IN("proven", "likely")),
	check("pid"; .process.pid == $t.pid),
	check("says_address"; says($t.address))
])
