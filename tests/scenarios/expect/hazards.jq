# SPDX-License-Identifier: BSD-2-Clause
# Before a registration failed, first pins stranded its pages: the hazards name them all, and where they lie.
include "lib";

def of_area($t; $pages): if $t.area == "cma" then .cma == $pages and .movable_zone == 0 else .movable_zone == $pages and .cma == 0 end;

$truth[0] as $t
| verdict_on([
	check("some"; length > 0),
	check("all_pages"; ([.[].stranded.pages] | add) == ($t.pages | length)),
	check("kind"; all(.[]; .kind == "hazard" and .registration == null and .chain == null)),
	check("process"; all(.[]; .process.pid == $t.pid and .process.comm == $t.comm)),
	check("pin"; all(.[]; .first_pin.pid == $t.pid and .first_pin.via == "os_lock_user_pages" and .first_pin.foll_longterm == false)),
	check("every_page_of_it"; all(.[]; .stranded.pages == .first_pin.pages and .stranded.looked_at == .first_pin.pages and (.stranded.lower_bound | not))),
	check("where"; all(.[]; .stranded.pages as $n | .stranded | of_area($t; $n))),
	check("detail"; all(.[]; .verdict.detail == (if $t.area == "cma" then "in_cma" else "in_movable_zone" end))),
	check("cause"; all(.[]; .verdict.cause == "first_pin_strands_pages" and .verdict.confidence == "proven")),
	check("first_page"; all(.[]; .first_pin.address == .pages[0].address and .pages_total == .stranded.pages)),
	check("pfn"; [.[].pages[0].pfn] - [$t.pages[].before.pfn] == []),
	check("stack"; all(.[]; .first_pin.stack[0] == "os_lock_user_pages [nvidia]"))
])
