# SPDX-License-Identifier: BSD-2-Clause
# Device memory without struct pages.
include "lib";

$truth[0] as $t
| verdict_on([
	failed($t),
	cause("vma_pfnmap_io"),
	proven,
	stage(["pin"]),
	check("class"; .registration.allocation_class == "device_io"),
	ruled_out("address_not_mapped"),
	no_pages
])
