# SPDX-License-Identifier: BSD-2-Clause
# One folio could not leave its area, in memory of a shape that makes its address or its counts easy
# to get wrong: the counts must be exact, and an address may be missing, but never be another page's.
include "lib";

# Where several mappings fit, or the folio's place in them is not known, silence is honest.
def address_may_be_missing($t): $t.case == "mremap" or $t.case == "hugetlb";

def confidences($t): if $t.case == "hugetlb" then ["proven", "likely"] else ["proven"] end;

def address_missing: any(.missing_evidence[]; .what == "pages.address" and (.why | filled));

# Every page that the text of the report names by its index.
def named_indexes: [.verdict.summary, .verdict.evidence[]] | map(scan("\\bpage ([0-9]+)\\b")[0] | tonumber);

$truth[0] as $t
| verdict_on([
	registration($t; "ENOMEM"; 12),
	cause("longterm_migrate_blocked_by_ref"),
	check("confidence"; .verdict.confidence as $c | confidences($t) | any(. == $c)),
	check("detail"; .verdict.detail == (if $t.area == "cma" then "in_cma" else "in_movable_zone" end)),
	check("stage"; .registration.stage == "placement"),
	check("one_folio"; .pages_total == 1 and (.pages | length) == 1),
	check("pfn"; .pages[0].pfn == $t.before.head_pfn),
	check("order"; .pages[0].order == $t.before.order),
	check("mapcount"; .pages[0].mapcount == $t.before.mapcount),
	check("surplus"; .pages[0] | .refcount - .expected == $t.references),
	check("index"; .pages[0].index | . == null or . == $t.folio_index),
	check("address"; .pages[0].address | . == null or . == $t.folio_address),
	check("address_or_missing"; if .pages[0].address then true else address_may_be_missing($t) and address_missing end),
	check("text_names_no_other_page"; named_indexes | all(. == $t.folio_index)),
	check("first_pin_grade"; .first_pin.grade == (if $t.pinned then "pin_evident_owner_unseen" else "plain_reference" end)),
	excluded("rlimit_memlock_exceeded"),
	ruled_out("address_not_mapped")
])
