# SPDX-License-Identifier: BSD-2-Clause
# Steps of one run of regmr (input: all lines of the trace) against what it did and where its pages were and are.
include "lib";

def only($word): [.[] | select(.step == $word)];
def area: if .cma then "cma" elif .movable_zone then "movable" else "none" end;
def place_is($sight): .pfn == $sight.pfn and .node == $sight.node and .zone == $sight.zone_name and area == $sight.area;
# enum migratetype of both kernels, as far as user pages lie there. That of a target may change until it is looked at.
def type_is($sight): .migratetype == ({"0": "MIGRATE_UNMOVABLE", "1": "MIGRATE_MOVABLE", "2": "MIGRATE_RECLAIMABLE", "4": "MIGRATE_CMA"}[$sight.migratetype | tostring]);

$truth[0] as $t
| . as $steps
| only("moved") as $moved
| only("stays") as $stays
| only("end") as $ends
| (only("migrate_end") | map(.moved) | add // 0) as $moved_by_count
| [$t.pages[] | select(.moved)] as $went
| verdict_on([
	check("whose"; all($steps[] | select(.kind == "trace_step"); .pid == $t.pid and .comm == $t.comm)),
	check("ends_ok"; ([$ends[] | select(.result == 0)] | length) == $t.ok),
	check("ends_failed"; ([$ends[] | select(.result < 0)] | length) == $t.failed),
	check("errno"; all($ends[] | select(.result < 0); .errno_name == "ENOMEM")),
	check("range"; all($ends[]; .address == $t.address and .length == $t.length and .device == $t.device)),
	check("begins"; (only("begin") | length) == ($ends | length)),
	check("requested_longterm"; all($steps[] | select(.step == "pin" and .registration); .foll_longterm)),
	check("slow_path_flags"; all(only("longterm")[]; .foll_longterm and (.gup_flags | index("FOLL_PIN")))),
	check("umem"; ([$steps[] | select(.step == "return" and (.function | test("umem_get")) and .result == 0)] | length) == $t.ok),
	check("driver"; ([$steps[] | select(.step == "return" and .function == "rxe_reg_user_mr")] | length) == ($ends | length)),
	# Where a page was, and where it went, as the test module saw it before and after.
	check("moved_seen"; all($went[] | select(.before.order == 0); . as $page
		| $moved_by_count > 64 or any($moved[]; .from.pfn == $page.before.pfn and .to.pfn == $page.after.pfn))),
	check("moved_from"; all($moved[]; . as $m | all($went[] | select(.before.pfn == $m.from.pfn); . as $page
		| ($m.from | place_is($page.before) and type_is($page.before)) and ($m.to | place_is($page.after)) and $m.index == $page.index))),
	check("moved_out"; all($moved[]; (.from.cma or .from.movable_zone or .from.isolate) and (.to.cma or .to.movable_zone or .to.isolate | not))),
	check("moved_counted"; ([$moved[] | pow(2; .order)] | add // 0) + (only("migrate_end") | map(.untold) | add // 0) >= $moved_by_count),
	check("none_moved"; ($went | length) > 0 or $t.failed > 0 or $t.first_pin != "none" or ($moved | length) == 0),
	check("retried"; ($t.failed > 0 and $t.ok == 0) or ($moved | length) == 0 or (only("retry") | length) >= 1),
	check("stayed"; ($t.blockers | length) <= ($stays | length)),
	check("stayed_where"; all($t.blockers[]; . as $b | any($stays[]; .from.pfn == $b.pfn and .index == $b.index and .from.zone == $b.zone))),
	check("left"; $t.failed == 0 or any(only("migrate_end")[]; .left >= 1)),
	check("holders"; $t.first_pin != "nvidia" or $t.failed == 0 or ((only("holder") | length) >= 1 and all(only("holder")[]; .holder_pid == $t.pid and .via == "os_lock_user_pages"))),
	check("references"; $t.first_pin != "vmsplice" or any(only("holder")[]; .holder_pid == $t.pid and .via == "get_user_pages_fast" and .doubt == "unwatched")),
	check("first_pins"; ($t.first_pin | startswith("nvidia") | not) or ((only("first_pin") | length) >= 1 and (only("release") | length) == (only("first_pin") | length))),
	check("first_pin_flags"; all(only("first_pin")[]; .foll_longterm == ($t.first_pin == "nvidia|FOLL_LONGTERM"))),
	check("fast_first_pins"; $t.first_pin != "FOLL_PIN" or any($steps[]; .step == "pin" and (.registration | not) and (.foll_longterm | not)))
])
