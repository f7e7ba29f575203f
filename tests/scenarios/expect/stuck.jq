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
	check("verdict_unknown_or_likely"; .verdict.confidence != "proven"),
	check("summary"; .verdict.summary | filled),
	check("progress"; [.verdict.evidence[]] | any(test("pin"))),
	check("how_verified"; tostring | test("stack|hooks still fire"))
])
