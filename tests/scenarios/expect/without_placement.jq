# SPDX-License-Identifier: BSD-2-Clause
# The same failure as in blocked.jq, on a node that hides where pages lie: the report must not claim
# a place it could not see, must say what is missing, and must not call anything proven.
include "lib";

$truth[0] as $t
| verdict_on([
	registration($t; "ENOMEM"; 12),
	check("not_proven"; .verdict.confidence != "proven"),
	check("missing_told"; .missing_evidence | length > 0 and any(.what | test("pages|placement|zone"))),
	check("no_zone_claimed"; all((.pages // [])[]; .zone == null and .migratetype == null and .pfn == null or .placement_source == "unknown")),
	check("not_unmapped"; .verdict.cause != "address_not_mapped"),
	check("not_memlock"; .verdict.cause != "rlimit_memlock_exceeded")
])
