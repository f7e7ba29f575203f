# SPDX-License-Identifier: BSD-2-Clause
# Memory of memfd_secret.
include "lib";

$truth[0] as $t
| verdict_on([
	failed($t),
	cause("secretmem"),
	proven,
	stage(["pin"]),
	check("says_secret"; says_like("secret")),
	ruled_out("address_not_mapped"),
	no_pages
])
