# SPDX-License-Identifier: BSD-2-Clause
# Pins, releases, forks, exits and unmaps in random order: the page that the report names is held by whom it names.
include "lib";

def owners($t; $index): [$t.held[] | select(.index == $index) | .owners[]];

$truth[0] as $t
| (.verdict.summary | capture("^page (?<n>[0-9]+) ").n | tonumber) as $page
| verdict_on([
	check("pid"; .process.pid == $t.pid),
	check("cause"; .verdict.cause == "longterm_migrate_blocked_by_ref" and .verdict.confidence == "proven"),
	check("held_pages"; ([.pages[].index] | sort) == ([$t.held[].index] | sort)),
	check("grade"; .first_pin.grade == "pin_proven_owner_seen"),
	check("owner"; [.first_pin.pid] | inside(owners($t; $page))),
	check("same_process"; .first_pin.same_process == (.first_pin.pid == $t.pid)),
	check("pins_counted"; any(.pages[]; .index == $page and .refcount - .expected == 1024 * (owners($t; $page) | length)))
])
