# SPDX-License-Identifier: BSD-2-Clause
# The driver does not offer an access flag, or a change, that the kernel itself allows.
include "lib";

$truth[0] as $t
| verdict_on([
	failed($t),
	cause("provider_access_unsupported"),
	proven,
	stage(["provider"]),
	check("says_driver"; says_like("rxe")),
	no_pages
])
