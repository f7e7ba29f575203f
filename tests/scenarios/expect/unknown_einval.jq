# SPDX-License-Identifier: BSD-2-Clause
# Refused for its arguments, which no cause covers yet: unknown, and what was seen is in the report.
include "lib";

$truth[0] as $t
| verdict_on([
	registration($t; "EINVAL"; 22),
	cause("unknown"),
	check("confidence"; .verdict.confidence == "unknown"),
	check("chain"; .chain | length >= 1 and all(.errno_name == "EINVAL")),
	check("no_pages"; (.pages // []) == [])
])
