# SPDX-License-Identifier: BSD-2-Clause
# A page that pinhold holds: whoever is known to is named, and nobody else; who took a reference is a candidate.
include "lib";

$truth[0] as $t
| verdict_on([
	check("pid"; .process.pid == $t.pid),
	check("cause"; .verdict.cause == "longterm_migrate_blocked_by_ref" and .verdict.confidence == "proven"),
	check("grade"; .first_pin.grade == (if $t.claim != 0 then "pin_proven_owner_seen" elif $t.plain then "plain_reference" else "pin_evident_owner_unseen" end)),
	check("owner"; .first_pin.pid == (if $t.claim != 0 then $t.claim else null end)),
	check("same_process"; $t.claim == 0 or .first_pin.same_process == ($t.claim == $t.pid)),
	check("via"; $t.claim == 0 or (.first_pin.via == $t.function and .first_pin.module == "pinhold")),
	check("flags"; $t.claim == 0 or .first_pin.foll_longterm == false),
	check("one_page"; $t.claim == 0 or .first_pin.pages == 1),
	check("stack"; $t.claim == 0 or ([.first_pin.stack[] | select(endswith("[pinhold]"))] | length > 0)),
	check("stack_ours"; $t.claim == 0 or ([.first_pin.stack[] | select(startswith("bpf_"))] | length == 0)),
	check("candidate"; ([.first_pin.candidates[]? | select(contains("was seen pinning the page"))] | length) == (if $t.doubt | IN("", "unwatched") then 0 else 1 end)),
	check("by_module"; ([.first_pin.candidates[]? | select(contains(", which pinned 1 page from ") and test("through [a-z_.0-9]*(pin|hold)[a-z_.0-9]* of module pinhold, "))] | length) == (if $t.doubt == "unwatched" then 1 else 0 end)),
	check("references"; ([.first_pin.candidates[]? | select(contains("was seen taking a reference of the page"))] | length) == $t.references),
	check("referrer"; $t.referrer == 0 or ([.first_pin.candidates[] | select(contains("was seen taking a reference of the page") and contains("(pid \($t.referrer)" + (if $t.referrer == $t.pid then ", the process itself)" else ")" end)) and test("by get_user_pages_fast, called from [a-z_.0-9]+ of module pinhold: it may have been dropped since"))] | length >= 1)),
	check("doubt"; $t.doubt == "" or any(.first_pin.candidates[]; contains({"mixed": "whose pins are left", "count": "not as many", "unwatched": "whether it was given back was not seen"}[$t.doubt]) and contains("module pinhold")))
])
