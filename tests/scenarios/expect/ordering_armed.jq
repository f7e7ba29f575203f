# SPDX-License-Identifier: BSD-2-Clause
# Pins in random order by processes that are watched or not yet: the page that the report names is held by whom it
# names, and is named whenever that can be known of a page.
include "lib";

$truth[0] as $t
| (.verdict.summary | capture("^page (?<n>[0-9]+) ").n | tonumber) as $page
| [$t.held[] | select(.claim != 0)] as $claims
| ([$t.held[] | select(.index == $page)][0]) as $held
| verdict_on([
	check("pid"; .process.pid == $t.pid),
	check("cause"; .verdict.cause == "longterm_migrate_blocked_by_ref" and .verdict.confidence == "proven"),
	check("held_pages"; ([.pages[].index] | sort) == ([$t.held[].index] | sort)),
	check("grade"; .first_pin.grade == (if $claims == [] then "pin_evident_owner_unseen" elif ($claims | length) == ($t.held | length) then "pin_proven_owner_seen" else "mixed_some_owners_seen" end)),
	check("owner"; .first_pin.pid == (if $claims == [] then null else $held.claim end)),
	check("one_of_the_owners"; $claims == [] or ([.first_pin.pid] | inside($held.owners))),
	check("pins_counted"; any(.pages[]; .index == $page and .refcount - .expected == 1024 * ($held.owners | length)))
])
