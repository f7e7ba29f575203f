# SPDX-License-Identifier: BSD-2-Clause
# One buffer of more than 1 GiB.
include "lib";

$truth[0] as $t
| verdict_on([
	failed($t),
	cause("io_uring_over_1g"),
	proven,
	check("says_size"; says_like("1 GiB|1073741824")),
	ruled_out("address_not_mapped"),
	no_pages
])
