# SPDX-License-Identifier: BSD-2-Clause
# The registration was given no descriptor, since NVIDIA's driver had exported none.
include "lib";

$truth[0] as $t
| verdict_on([
	call($t; "EBADF"; 9),
	cause("dmabuf_bad_fd"),
	proven,
	check("detail"; .verdict.detail == "fd_not_open"),
	stage(["dmabuf"]),
	check("first_in_chain"; .chain[0].function == "dma_buf_get" and .chain[0].errno_name == "EBADF"),
	check("export"; .gpu_export.nv_status == "0x56" and .gpu_export.failed == 1 and .gpu_export.age_ns > 0),
	check("says_export"; says("nv_dma_buf_export = 0x56 NV_ERR_NOT_SUPPORTED")),
	no_pages
])
