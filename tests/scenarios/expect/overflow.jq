# SPDX-License-Identifier: BSD-2-Clause
# Failures of a registration that found no slot to be followed in: each is reported all the same, and
# says that it was not followed; nothing may be claimed or ruled out that could not be seen.
include "lib";

$truth[0] as $t
| verdict_on([
	check("one_report_each"; .reports | length == $t.failed),
	(.reports[] |
		check("kind"; .kind == "registration_failed"),
		check("pid"; .process.pid == $t.pid),
		check("errno_name"; .registration.errno_name == "EFAULT"),
		check("not_proven"; .verdict.confidence != "proven"),
		check("cause"; .verdict.cause == "unknown" or .verdict.cause == "address_not_mapped"),
		check("true_cause_not_ruled_out"; all(.ruled_out[]; .cause != "address_not_mapped")),
		check("no_address_or_the_right_one"; .registration.address | . == null or . == $t.address),
		check("not_followed"; any(.missing_evidence[]; .what == "registration.duration_ns" and (.why | filled))),
		check("loss"; .loss.spans_overflow >= 1 and .loss.ends_without_span >= 1))
])
