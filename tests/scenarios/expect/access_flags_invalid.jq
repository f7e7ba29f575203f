# SPDX-License-Identifier: BSD-2-Clause
# Access flags that do not go together, or that the kernel does not know: refused before the driver is asked.
include "lib";

$truth[0] as $t
| verdict_on([
	failed($t),
	cause("access_flags_invalid"),
	proven,
	# Which function of the driver changes a region is not hooked.
	stage(if $t.entry | test("REREG") then ["unknown"] else ["uverbs", "provider"] end),
	check("says_flags"; says_like("WRITE|ATOMIC|0x")),
	ruled_out("longterm_migrate_blocked_by_ref"),
	no_pages
])
