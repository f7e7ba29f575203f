# SPDX-License-Identifier: BSD-2-Clause
# The memory is bound to a node that cannot hold it. Likely is enough: the policy and the kill are seen,
# that the other node had room is concluded.
include "lib";

$truth[0] as $t
| verdict_on([
	failed($t),
	cause("numa_node_exhausted"),
	check("confidence"; .verdict.confidence | IN("proven", "likely")),
	stage(["pin"]),
	check("says_node"; says_like("memory policy.*node.* \($t.numa_node)\\b")),
	check("bound"; .mapping.memory_policy == "bind" and (.mapping.policy_nodes | hex) == 2),
	no_pages
])
