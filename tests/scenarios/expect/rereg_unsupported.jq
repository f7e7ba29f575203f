# SPDX-License-Identifier: BSD-2-Clause
# The driver does not change a memory region in the way that was asked for.
include "lib";

$truth[0] as $t
| verdict_on([
	failed($t),
	cause("rereg_unsupported"),
	check("confidence"; .verdict.confidence == "proven" or .verdict.confidence == "likely"),
	check("flags"; .arguments.flags | test("^0x")),
	no_pages
])
