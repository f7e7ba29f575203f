# SPDX-License-Identifier: BSD-2-Clause
# The device has no further key: the report says how many regions are live.
include "lib";

$truth[0] as $t
| verdict_on([
	failed($t),
	cause("mr_object_limit"),
	proven,
	stage(["provider"]),
	check("says_how_many"; says("\($t.objects)")),
	no_pages
])
