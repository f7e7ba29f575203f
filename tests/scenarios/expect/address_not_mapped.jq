# SPDX-License-Identifier: BSD-2-Clause
# Part of the range is not mapped: the report has to name the first address that is not.
include "lib";

$truth[0] as $t
| verdict_on([
	failed($t),
	cause("address_not_mapped"),
	proven,
	check("detail"; .verdict.detail == (if $t.hole_index == 0 then "hole_at_start" else "hole_inside" end)),
	stage(["pin"]),
	check("first_bad_address"; says($t.hole_address)),
	check("first_bad_index"; says("page \($t.hole_index) of")),
	check("longterm"; .pin.foll_longterm),
	ruled_out("longterm_migrate_blocked_by_ref"),
	ruled_out("rlimit_memlock_exceeded")
])
