# SPDX-License-Identifier: BSD-2-Clause
# What a process holds, whose it is and what is mapped into it, as it says itself and as the report says.
include "lib";

$truth[0] as $t
| verdict_on([
	check("pid"; .process.pid == $t.pid),
	check("regions"; .rdma.process_mrs == $t.mrs and .rdma.process_pages == $t.mr_pages),
	check("device"; .rdma.device_mrs >= $t.mrs),
	check("by_subsystem"; .memlock.by_subsystem == { rdma_pages: $t.mr_pages, io_uring_pages: $t.ring_pages }),
	check("set_by"; .memlock.limit_set_by | startswith("the process itself or its program (holder[\($t.pid)]): its parent ")),
	check("chain"; .memlock.limit_chain | startswith("holder[\($t.pid)] 6.0 MiB < ") and test("\\[1\\] [^<]*$")),
	check("job"; .process.job == { scheduler: "slurm", id: "77", rank: "3" }),
	check("communicator"; .process.communicator == "10.0.0.1:4000"),
	check("libibverbs"; [.process.libraries[] | select(.name | startswith("libibverbs.so")) | .build_id | length] == [40]),
	check("mappings"; .mappings.count > 10 and .mappings.max >= .mappings.count),
	check("nodes"; [.memory.nodes[].free_bytes] | add > 0),
	check("no_driver"; .nvidia == null and .bar1 == null and .hugetlb == null),
	check("nothing_missing"; [.missing_evidence[].what | select(test("memlock|process|rdma|cgroup"))] == [])
])
