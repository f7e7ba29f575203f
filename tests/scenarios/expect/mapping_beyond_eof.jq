# SPDX-License-Identifier: BSD-2-Clause
# The mapping goes on beyond the end of its file, where there is no page.
include "lib";

$truth[0] as $t
| verdict_on([
	failed($t),
	cause("mapping_beyond_eof"),
	proven,
	stage(["pin"]),
	check("first_page"; .mapping.file_offset + ((.pin.slow_start | hex) - (.mapping.start | hex)) >= .mapping.file_bytes),
	ruled_out("address_not_mapped"),
	ruled_out("vma_permission_mismatch"),
	no_pages
])
