# SPDX-License-Identifier: BSD-2-Clause
# Pages of a file on a file system with dax may not be pinned for long.
include "lib";

$truth[0] as $t
| verdict_on([
	failed($t),
	cause("fsdax_longterm"),
	proven,
	stage(["pin"]),
	check("says_dax"; says_like("dax|DAX")),
	no_pages
])
