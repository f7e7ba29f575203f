# SPDX-License-Identifier: BSD-2-Clause
# A group's rdma.max is reached: the report names the group and the numbers.
include "lib";

$truth[0] as $t
| verdict_on([
	check("pid"; .process.pid == $t.pid),
	check("group"; .cgroup_limits.rdma.path == "/pinwhy-facts"),
	check("numbers"; .cgroup_limits.rdma.object_max == 6 and .cgroup_limits.rdma.object_current == 6),
	check("memory_group"; .cgroup_limits.memory_max_path == "/pinwhy-facts" and .cgroup_limits.memory_max_bytes == 268435456),
	check("events"; .cgroup_limits.memory_oom_kills == 0 and .cgroup_limits.memory_max_events == 0),
	check("regions"; .rdma.process_mrs == $t.mrs)
])
