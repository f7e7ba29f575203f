# SPDX-License-Identifier: BSD-2-Clause
# Address and iova lie at different offsets of a page.
include "lib";

$truth[0] as $t
| verdict_on([
	failed($t),
	cause("iova_offset_mismatch"),
	proven,
	stage(["uverbs"]),
	check("iova"; .registration.iova == $t.iova),
	check("says_iova"; says_like("iova")),
	no_pages
])
