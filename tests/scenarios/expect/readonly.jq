# SPDX-License-Identifier: BSD-2-Clause
# Write access to a read-only mapping: the address is mapped, so nothing may claim that it is not.
include "lib";

$truth[0] as $t
| verdict_on([
	registration($t; "EFAULT"; 14),
	check("not_unmapped"; .verdict.cause != "address_not_mapped"),
	check("not_placement"; .verdict.cause != "longterm_migrate_blocked_by_ref"),
	check("cause"; .verdict.cause == "unknown" or .verdict.cause == "vma_permission_mismatch"),
	excluded("address_not_mapped")
])
