# SPDX-License-Identifier: BSD-2-Clause
# A registration failed because pages could not leave their area: the report has to name exactly
# these pages, where the test module says they lie, and count the references the scenario took.
include "lib";

def described: 64;

def migratetype_names: ["Unmovable", "Movable", "Reclaimable", "HighAtomic", "CMA", "Isolate"];

# A first pin with FOLL_PIN; how O_DIRECT holds pages differs between kernels, the page's count tells.
def is_pin($t; $b): $t.first_pin == "FOLL_PIN" or ($t.first_pin == "O_DIRECT read" and $b.maybe_pinned);

# What the holders add to a folio's reference count: a pin of a small folio counts 1024.
def added($t; $b): $b.references * (if is_pin($t; $b) and $b.order == 0 then 1024 else 1 end);

# The kernel has two spellings: ZONE_MOVABLE in its source, "Movable" in /proc/zoneinfo.
def same_word($a; $b): ($a | ascii_downcase) == ($b | ascii_downcase);

def place($b): .pfn == $b.pfn and .node == $b.node and .order == $b.order and same_word(.zone; $b.zone) and
	same_word(.migratetype; "MIGRATE_" + migratetype_names[$b.migratetype]);

def counted($t; $b):
	.refcount - .expected == added($t; $b) and
	(if $b.order == 0 then true else .pincount == (if is_pin($t; $b) then $b.references else 0 end) end);

def blocker($t; $page): first($t.blockers[] | select(.index == $page.index));

def grade($t):
	if $t.case == "G" then "pin_or_references"
	elif is_pin($t; $t.blockers[0]) then "pin_evident_owner_unseen"
	else "plain_reference" end;

$truth[0] as $t
| ($t.blockers | length) as $n
| ([$n, described] | min) as $shown
| verdict_on([
	registration($t; "ENOMEM"; 12),
	cause("longterm_migrate_blocked_by_ref"),
	proven,
	check("detail"; .verdict.detail == (if $t.area == "cma" then "in_cma" else "in_movable_zone" end)),
	check("stage"; .registration.stage == "placement"),
	check("pages_total"; .pages_total == $n),
	check("pages_omitted"; (.pages_omitted // 0) == $n - $shown),
	check("pages_described"; (.pages | length) == $shown),
	check("pages_distinct"; ([.pages[].index] | unique | length) == $shown),
	check("pages_are_the_held_ones"; [.pages[].index] - [$t.blockers[].index] == []),
	check("page_addresses"; all(.pages[]; .address == blocker($t; .).address)),
	check("page_places"; all(.pages[]; place(blocker($t; .)))),
	check("page_counts"; all(.pages[]; counted($t; blocker($t; .)))),
	check("first_pin_grade"; .first_pin.grade == grade($t)),
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
	check("memlock_pinned"; .memlock.pinned_bytes == 0),
	check("nothing_missing"; .missing_evidence == []),
	excluded("rlimit_memlock_exceeded")
])
