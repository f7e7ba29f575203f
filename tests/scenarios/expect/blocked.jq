# SPDX-License-Identifier: BSD-2-Clause
# A registration failed because pages could not leave their area: the report has to name exactly
# these pages, where the test module says they lie, and count the references the scenario took.
include "lib";

def described: 64;

def migratetype_names: ["Unmovable", "Movable", "Reclaimable", "HighAtomic", "CMA", "Isolate"];

# By the test module while all pins of the process were watched, as those of a traced one are.
def watched($t): $t.watched == true and $t.first_pin == "FOLL_PIN";

# Or by a driver whose pins are in the ledger.
def owner_seen($t): watched($t) or ($t.first_pin | startswith("nvidia"));

# A first pin with FOLL_PIN; how O_DIRECT holds pages differs between kernels, the page's count tells.
def is_pin($t; $b): ($t.first_pin | IN("FOLL_PIN", "registration", "io_uring, isolated")) or owner_seen($t) or ($t.first_pin == "O_DIRECT read" and $b.maybe_pinned);

# What the holders add to a folio's reference count: a pin of a small folio counts 1024.
def added($t; $b): $b.references * (if is_pin($t; $b) and $b.order == 0 then 1024 else 1 end);

# The kernel has two spellings: ZONE_MOVABLE in its source, "Movable" in /proc/zoneinfo.
def same_word($a; $b): ($a | ascii_downcase) == ($b | ascii_downcase);

def place($b): .pfn == $b.pfn and .node == $b.node and .order == $b.order and same_word(.zone; $b.zone) and
	same_word(.migratetype; "MIGRATE_" + migratetype_names[$b.migratetype]);

# In a block that began to be emptied after the pin.
def emptied($t): $t.first_pin == "io_uring, isolated";

def counted($t; $b):
	.refcount - .expected == added($t; $b) and
	(if $b.order == 0 then true else .pincount == (if is_pin($t; $b) then $b.references else 0 end) end);

def blocker($t; $page): first($t.blockers[] | select(.index == $page.index));

def grade($t):
	if owner_seen($t) then "pin_proven_owner_seen"
	elif $t.first_pin == "registration" then "another_longterm_pin_in_flight"
	elif $t.case == "G" then "pin_or_references"
	elif is_pin($t; $t.blockers[0]) then "pin_evident_owner_unseen"
	else "plain_reference" end;

def owner($t):
	if watched($t) then
		.pid == $t.pid and .comm == $t.comm and .same_process and .via == "pin_user_pages_fast" and .module == "pinhold" and
		.foll_longterm == false and .gup_flags_names == ["FOLL_WRITE"] and .age_ns > 0 and .age_ns < 6e10 and
		.pages >= 1 and any(.stack[]; endswith("[pinhold]")) and .candidates == []
	elif owner_seen($t) then
		.pid == $t.pid and .comm == $t.comm and .same_process and .via == "os_lock_user_pages" and .module == "nvidia" and
		.foll_longterm == false and .gup_flags_names == ["FOLL_WRITE"] and .age_ns > 0 and .age_ns < 6e10 and
		.pages >= 1 and (.stack | index("os_lock_user_pages [nvidia]") == 0 and index("create_os_descriptor [nvidia]") == 1) and
		.candidates == []
	else [.pid, .comm, .via, .stack] == [null, null, null, null] and (.candidates | length) > 0 end;

# What is open in the process says the same as what the program did, and no more.
def open_files($t):
	.pipe_ends == (if $t.first_pin | startswith("vmsplice") then 2 else 0 end) and
	(.device_files == (if owner_seen($t) and (watched($t) | not) then [{name: "/dev/nvidiactl", count: 1}] else [] end) or ($t.let_go and .device_files == [])) and
	(.io_uring_buffers | map([.address, .length])) == (if emptied($t) then [[$t.address, 4096]] else [] end) and
	# A program that registers again at once may have got its memory region by the time they are counted.
	(.memory_regions == 0 or ($t.tried > 1 and .memory_regions == 1)) and .other_processes == null;

def named($begins; $has): any(.first_pin.candidates[]; startswith($begins) and contains($has));

# The true holder is among the candidates, with what speaks for it.
def true_candidate($t):
	if owner_seen($t) then true
	elif $t.first_pin | startswith("vmsplice") then named("pages given to a pipe"; "the process has 2 ends of pipes open")
	elif $t.first_pin == "O_DIRECT read" and $t.blockers[0].maybe_pinned then named("direct I/O in flight"; "pins its pages")
	elif $t.first_pin == "O_DIRECT read" then named("direct I/O in flight"; "plain references")
	elif emptied($t) then .first_pin.candidates[0] | startswith("the likely one: io_uring (descriptor ")
	elif $t.first_pin == "registration" then named("another long-term pin"; "one was") and says("thread \($t.first_pin_tid) of the process was in a long-term pin")
	else named("a driver that pinned"; "no GPU") end;

$truth[0] as $t
| ($t.blockers | length) as $n
| ([$n, described] | min) as $shown
| verdict_on([
	registration($t; "ENOMEM"; 12),
	cause("longterm_migrate_blocked_by_ref"),
	proven,
	check("detail"; .verdict.detail == (if emptied($t) then "in_isolated_block" elif $t.area == "cma" then "in_cma" else "in_movable_zone" end)),
	check("stage"; .registration.stage == "placement"),
	check("pages_total"; .pages_total == $n),
	check("pages_omitted"; (.pages_omitted // 0) == $n - $shown),
	check("pages_described"; (.pages | length) == $shown),
	check("pages_distinct"; ([.pages[].index] | unique | length) == $shown),
	check("pages_are_the_held_ones"; [.pages[].index] - [$t.blockers[].index] == []),
	check("page_addresses"; all(.pages[]; .address == blocker($t; .).address)),
	check("page_places"; all(.pages[]; place(blocker($t; .)))),
	check("page_area"; all(.pages[]; if emptied($t) then .placement_source == "isolation" and .placement == ["isolate"] elif $t.area != "cma" then .area == null elif $t.areas_untold then .placement_source == "cma_area_not_known" and .area == null elif $t.no_area then .placement_source == "cma_outside_known_areas" and .area == null else (.placement_source | IN("cma_area", "hugetlb_cma")) and (.area | filled) end)),
	check("page_counts"; all(.pages[]; counted($t; blocker($t; .)))),
	check("first_pin_grade"; .first_pin.grade == grade($t)),
	check("first_pin_owner"; .first_pin | owner($t)),
	check("open_files"; .first_pin.cross_check | open_files($t)),
	check("true_candidate"; true_candidate($t)),
	check("other_registration_seen"; (.verdict.also // [] | index("longterm_pin_race_two_pinners") != null) == ($t.first_pin == "registration")),
	check("no_other_registration"; (owner_seen($t) | not) or any(.ruled_out[]; .cause == "longterm_pin_race_two_pinners")),
	check("longterm"; .pin.foll_longterm),
	check("write"; .pin.foll_write),
	check("passes"; .pin.passes >= 1),
	check("requested_pages"; .pin.requested_pages == covers_pages($t)),
	check("migration_failed"; .migration.failed >= 1),
	check("migration_reason"; .migration.reason | test("longterm")),
	check("chain_names_the_pin"; any(.chain[]; (.function | test("gup_longterm|longterm_locked")) and .errno_name == "ENOMEM")),
	check("chain_names_the_driver"; any(.chain[]; .function == "rxe_reg_user_mr" and .errno_name == "ENOMEM")),
	check("memlock_requested"; .memlock.requested_bytes == covers_pages($t) * 4096),
	check("memlock_limit"; .memlock.limit_soft == $t.memlock_soft and .memlock.limit_hard == $t.memlock_hard),
	check("memlock_capability"; .memlock.cap_ipc_lock_effective),
	check("memlock_pinned"; .memlock.pinned_bytes == $t.first_pin_charged),
	check("nothing_missing"; .missing_evidence == []),
	excluded("rlimit_memlock_exceeded")
])
