# SPDX-License-Identifier: BSD-2-Clause
# A length of 0, or one with which the address wraps around.
include "lib";

$truth[0] as $t
| verdict_on([
	failed($t),
	cause("length_invalid"),
	proven,
	stage(["uverbs", "provider", "umem"]),
	check("says_length"; says_like("length|wrap|0 bytes")),
	no_pages
])
