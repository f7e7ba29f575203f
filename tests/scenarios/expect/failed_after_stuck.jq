# SPDX-License-Identifier: BSD-2-Clause
# A registration that had been reported as stuck has failed: a report of its own points back.
include "lib";

($truth[0]) as $stuck
| verdict_on([
	check("kind"; .kind == "registration_failed"),
	check("points_back"; .related.first_report_id == $stuck.report_id),
	check("own_id"; .report_id != $stuck.report_id),
	check("pid"; .process.pid == $stuck.process.pid),
	check("address"; .registration.address == $stuck.registration.address),
	check("errno"; .registration.errno == 14 or .registration.errno == 4),
	check("lasted_longer"; .registration.duration_ns >= $stuck.registration.duration_ns)
])
