# SPDX-License-Identifier: BSD-2-Clause
# A page that userfaultfd has to bring: the call hangs until it does, or is refused where a pin cannot wait.
# Where it hangs, likely is enough: a stack is a glance, not a proof that nobody will ever serve the page.
include "lib";

$truth[0] as $t
| verdict_on([
	cause("userfault_stall"),
	check("has_confidence"; .verdict.confidence | filled),
	(if $t.ended == "stuck" then
		check("kind"; .kind == "registration_stuck"), check("no_errno"; .registration.errno == null),
		check("confidence"; .verdict.confidence | IN("proven", "likely"))
	else failed($t), proven end),
	check("pid"; .process.pid == $t.pid),
	check("address"; .registration.address == $t.address),
	stage(["pin"]),
	check("says_userfaultfd"; says_like("userfaultfd|handle_userfault"))
])
