# SPDX-License-Identifier: BSD-2-Clause
# NVIDIA's driver let the device not attach to its dma-buf.
include "lib";

$truth[0] as $t
| verdict_on([
	call($t; "ENOTSUPP"; 524),
	cause("gpu_not_gdr_capable"),
	check("likely"; .verdict.confidence == "likely"),
	stage(["dmabuf"]),
	check("exporter"; .dmabuf.exporter == "nv_dmabuf"),
	check("in_chain"; [.chain[].function] | index("dma_buf_dynamic_attach") != null and index("nv_dma_buf_map") == null),
	ruled_out("gpu_bar1_exhausted"),
	no_pages
])
