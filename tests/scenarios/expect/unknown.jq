# SPDX-License-Identifier: BSD-2-Clause
# A failure that no cause covers: unknown, what was seen is in the report, and no neighbour takes its place.
include "lib";

$truth[0] as $t
| verdict_on([
	failed($t),
	cause("unknown"),
	check("confidence"; .verdict.confidence == "unknown"),
	check("chain"; .chain | length >= 1 and all(.errno_name == $t.errno_name)),
	no_pages
])
