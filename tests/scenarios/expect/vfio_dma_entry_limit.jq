# SPDX-License-Identifier: BSD-2-Clause
# All entries that VFIO allows a container are in use.
include "lib";

$truth[0] as $t
| verdict_on([
	failed($t),
	cause("vfio_dma_entry_limit"),
	proven,
	check("says_limit"; says("\($t.entry_limit)")),
	no_pages
])
