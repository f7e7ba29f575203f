# SPDX-License-Identifier: BSD-2-Clause
# The pin brought in more pages than the memory control group may have, and the process was killed.
include "lib";

$truth[0] as $t
| verdict_on([
	failed($t),
	cause("memcg_oom_during_pin"),
	proven,
	stage(["pin"]),
	check("says_group"; says($t.cgroup)),
	check("group"; .process.cgroup == null or .process.cgroup == $t.cgroup),
	ruled_out("longterm_migrate_blocked_by_ref"),
	no_pages
])
