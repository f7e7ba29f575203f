# SPDX-License-Identifier: BSD-2-Clause
# The pages were pinned, and the IOMMU found no place for them in the device's address space.
include "lib";

$truth[0] as $t
| verdict_on([
	failed($t),
	cause("dma_map_failed_iommu"),
	proven,
	check("detail"; .verdict.detail == "iova_exhausted"),
	stage(["dma_map"]),
	check("says_pages"; says("\(covers_pages($t)) pages were pinned")),
	ruled_out("swiotlb_full"),
	ruled_out("rlimit_memlock_exceeded"),
	no_pages
])
