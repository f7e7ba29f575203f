# SPDX-License-Identifier: BSD-2-Clause
# A registration that is still in flight: who, what, how far it came, and how long ago it began.
include "lib";

($truth[0]) as $t
| verdict_on([
	check("kind"; .kind == "registration_stuck"),
	check("pid"; .process.pid == $t.pid),
	check("tid"; .process.tid == $t.tid),
	check("address"; .registration.address == $t.address),
	check("length"; .registration.length == $t.length),
	check("age"; .registration.duration_ns >= 1000000000),
	check("stage"; .registration.stage == "pin"),
	check("no_errno"; .registration.errno == null),
	# Where it waits for a userfaultfd's handler /proc says so; nothing else can be proven of one in flight.
	check("verdict"; if $t.how == "uffd" then .verdict.cause == "userfault_stall" and .verdict.confidence == "proven" else .verdict.confidence != "proven" end),
	check("waits_in"; .registration.waits_in | if $t.how == "uffd" then . == "handle_userfault" else test("folio_wait") end),
	check("summary"; .verdict.summary | filled),
	check("progress"; [.verdict.evidence[]] | any(test("pin|handle_userfault"))),
	check("how_verified"; .registration.verified == "its system call")
])
