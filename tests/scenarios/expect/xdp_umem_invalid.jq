# SPDX-License-Identifier: BSD-2-Clause
# Fields of an AF_XDP memory area that the kernel turns down.
include "lib";

$truth[0] as $t
| verdict_on([
	failed($t),
	cause("xdp_umem_invalid"),
	proven,
	check("says_field"; says_like("chunk|align|headroom")),
	no_pages
])
