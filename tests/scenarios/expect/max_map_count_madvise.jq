# SPDX-License-Identifier: BSD-2-Clause
# libibverbs could not mark the memory for fork, because the process may have no further mapping: the
# kernel was never asked for a registration, so what is known of one is only the process.
include "lib";

$truth[0] as $t
| verdict_on([
	cause("max_map_count_madvise"),
	proven,
	check("pid"; .process.pid == $t.pid),
	check("says_limit"; says("\($t.max_map_count)")),
	check("says_madvise"; says_like("madvise|max_map_count"))
])
