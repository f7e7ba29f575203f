# SPDX-License-Identifier: BSD-2-Clause
# The mapping does not allow what was asked for: the address is mapped, so nothing may claim that it is not.
include "lib";

$truth[0] as $t
| verdict_on([
	failed($t),
	cause("vma_permission_mismatch"),
	proven,
	stage(["pin"]),
	check("says_rights"; says_like("read-only|not writable|no access|PROT_NONE|r--|---")),
	excluded("address_not_mapped"),
	no_pages
])
