# SPDX-License-Identifier: BSD-2-Clause
# A registration that had been reported as stuck has ended well: a report of its own points back.
include "lib";

($truth[0]) as $stuck
| verdict_on([
	check("kind"; .kind == "registration_completed"),
	check("points_back"; .related.first_report_id == $stuck.report_id),
	check("own_id"; .report_id != $stuck.report_id),
	check("pid"; .process.pid == $stuck.process.pid),
	check("address"; .registration.address == $stuck.registration.address),
	check("lasted_longer"; .registration.duration_ns >= $stuck.registration.duration_ns),
	check("no_errno"; (.registration.errno // 0) == 0)
])
