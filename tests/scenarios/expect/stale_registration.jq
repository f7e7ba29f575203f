# SPDX-License-Identifier: BSD-2-Clause
# No call failed: the memory below a live region is no longer what the process has there.
include "lib";

$truth[0] as $t
| verdict_on([
	cause("stale_registration"),
	check("kind"; .kind == "registration_stale"),
	check("confidence"; .verdict.confidence == "proven"),
	check("pid"; .process.pid == $t.pid and .damage.owner_pid == $t.pid),
	check("comm"; .process.comm == $t.comm),
	check("thread"; .damage.thread == $t.tid),
	check("address"; .registration.address == $t.address and .registration.length == $t.length),
	check("device"; .registration.device == $t.device and .registration.driver == "rdma_rxe"),
	check("access"; (.registration.access | sort) == ($t.access | sort)),
	check("api"; .registration.api == "reg_mr"),
	check("within"; (.damage.start | hex) >= ($t.address | hex)
		and (.damage.end | hex) <= ($t.address | hex) + $t.length),
	check("pages"; .damage.pages == ((.damage.end | hex) - (.damage.start | hex)) / 4096
		and .damage.pages == (if $t.case == "stale_part" then 1 elif $t.case == "stale_shrink" then $t.length / 8192 else $t.length / 4096 end)),
	check("no_errno"; .registration.errno == null and .chain == null),
	check("no_kernel_pointer"; tostring | test("0xffff[0-9a-f]{12}") | not)
])
