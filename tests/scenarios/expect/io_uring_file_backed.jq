# SPDX-License-Identifier: BSD-2-Clause
# io_uring itself takes no memory of a file.
include "lib";

$truth[0] as $t
| verdict_on([
	failed($t),
	cause("io_uring_file_backed"),
	proven,
	check("says_file"; says_like("file")),
	ruled_out("address_not_mapped"),
	no_pages
])
