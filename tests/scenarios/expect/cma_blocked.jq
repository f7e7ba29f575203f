# SPDX-License-Identifier: BSD-2-Clause
# A contiguous allocation could not have what a first pin holds: who holds it, where, and what became of the allocation.
include "lib";

$truth[0] as $t
| .contiguous_allocation as $c
| verdict_on([
	check("kind"; .kind == "hazard" and .registration == null and .chain == null and .stranded == null),
	check("cause"; .verdict.cause == "cma_alloc_blocked_by_pin"),
	check("detail"; .verdict.detail == (if $c.failed then "contiguous_failed" else "contiguous_elsewhere" end)),
	check("proven"; (.verdict.confidence == "proven") == ($c.ranges_busy == $c.ranges_pinned)),
	check("some_range"; $c.ranges_pinned > 0 and $c.ranges_unsearched == 0),
	check("errno"; $c.errno == (if $c.failed then 16 else null end)),
	check("process"; .process.pid != $t.pid and (.process.comm | filled)),
	check("pin"; .first_pin.pid == $t.pid and .first_pin.comm == $t.comm and .first_pin.via == "os_lock_user_pages"),
	check("held"; .first_pin.grade == "pin_proven_owner_seen" and $c.pin_still_held and .first_pin.age_ns > 0),
	check("stack"; .first_pin.stack[0] == "os_lock_user_pages [nvidia]"),
	check("not_longterm"; .first_pin.foll_longterm == false),
	check("page"; [.pages[0].pfn] - [$t.pages[].before.pfn] == []),
	check("in_range"; (.pages[0].pfn | hex) as $pfn | ($c.first_pfn | hex) as $first | $pfn >= $first and $pfn < $first + $c.pages),
	check("place"; .pages[0].placement == ["cma"] and (if $t.areas_untold then .pages[0].area == null else .pages[0].area | filled end)),
	check("counts"; .pages[0].refcount >= 1024 and .pages[0].refcount > .pages[0].expected),
	check("remedies"; .verdict.remedies | length > 1 and all(filled)),
	check("no_kernel_pointer"; tostring | test("0xffff[0-9a-f]{12}") | not)
])
