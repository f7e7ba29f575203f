# SPDX-License-Identifier: BSD-2-Clause
# Pages had to leave their area, and outside of it memory ran out. Likely is enough: that the lack of
# memory and the move belong together is concluded, not seen.
include "lib";

$truth[0] as $t
| verdict_on([
	failed($t),
	cause("longterm_migrate_no_target"),
	check("confidence"; .verdict.confidence | IN("proven", "likely")),
	stage(["placement", "pin"]),
	check("first_pin"; .first_pin == null or (.first_pin.grade == "no_migration_target" and .first_pin.pid == null))
])
