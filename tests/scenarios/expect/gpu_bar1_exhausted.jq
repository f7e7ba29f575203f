# SPDX-License-Identifier: BSD-2-Clause
# NVIDIA's driver could not map its dma-buf: that it was asked to is seen, and why it could not is not.
include "lib";

$truth[0] as $t
| verdict_on([
	call($t; "ENOMEM"; 12),
	cause("gpu_bar1_exhausted"),
	check("likely"; .verdict.confidence == "likely"),
	check("detail"; .verdict.detail == "bar1_not_read"),
	stage(["dmabuf"]),
	check("exporter"; .dmabuf.exporter == "nv_dmabuf"),
	check("first_in_chain"; .chain[0].function == "nv_dma_buf_map" and .chain[0].module == "nvidia" and .chain[0].errno_name == "ENOMEM"),
	check("says_where"; says("nv_dma_buf_map = -ENOMEM")),
	check("missing"; any(.missing_evidence[]; .what == "reason of the GPU driver")),
	ruled_out("gpu_not_gdr_capable"),
	no_pages
])
