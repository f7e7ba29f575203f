# SPDX-License-Identifier: BSD-2-Clause
# A command that was refused before its pin, on a kernel whose ib_uverbs has no BTF: what it asked for cannot be read, the report
# says so, and nobody guesses why.
include "lib";

$truth[0] as $t
| verdict_on([
	check("kind"; .kind == "registration_failed"),
	check("pid"; .process.pid == $t.pid),
	check("comm"; .process.comm == $t.comm),
	check("errno"; .registration.errno == $t.errno and .registration.errno_name == $t.errno_name),
	check("address_not_made_up"; .registration.address == null or .registration.address == $t.address),
	check("missing"; any(.missing_evidence[]; .what == "registration.address")),
	check("remedies"; .verdict.remedies | length > 0 and all(filled)),
	check("no_kernel_pointer"; if $t.length > 1e15 then true else tostring | test("0xffff[0-9a-f]{12}") | not end),
	cause("unknown"),
	check("confidence"; .verdict.confidence == "unknown"),
	check("chain"; .chain | length >= 1 and all(.errno_name == $t.errno_name)),
	ruled_out("longterm_migrate_blocked_by_ref"),
	no_pages
])
