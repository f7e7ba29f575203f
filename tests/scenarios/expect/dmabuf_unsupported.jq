# SPDX-License-Identifier: BSD-2-Clause
# The driver cannot register a dma-buf, and no pin of any memory was tried.
include "lib";

$truth[0] as $t
| verdict_on([
	failed($t),
	cause("dmabuf_unsupported"),
	proven,
	stage(["uverbs", "provider"]),
	check("says_dmabuf"; says_like("dma-?buf")),
	no_pages
])
