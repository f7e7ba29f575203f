# SPDX-License-Identifier: BSD-2-Clause
# Many registrations failed at once, each on its one held page. A report either proves that or says
# what was not seen of it; what happened is never ruled out, and nothing else takes its place.
include "lib";

def blocked: "longterm_migrate_blocked_by_ref";

def proves: .verdict.cause == blocked and .verdict.confidence == "proven";

# What the proof is made of. That a process has gone, or that the memory map was locked when the
# address of a page was looked up, is no excuse for not knowing the cause.
def missed: any(.missing_evidence[]; .what | test("^(pages|chain|pin(\\..*)?|migration|registration\\.duration_ns|failures .*)$"));

def lost: .loss | any(.events_dropped[], .hook_runs_missed, .spans_overflow, .spans_missed_end, .ends_without_span, .chain_overflow; . // 0 | . > 0);

def address_missing: any(.missing_evidence[]; .what == "pages.address");

$truth[0] as $t
| verdict_on([
	check("one_report_each"; .reports | length == $t.failed),
	check("pids"; all(.reports[]; .process.pid == $t.pid)),
	check("errnos"; all(.reports[]; .registration.errno_name == "ENOMEM")),
	check("proven_or_told"; all(.reports[]; proves or missed or lost)),
	check("some_proven"; any(.reports[]; proves)),
	check("cause"; all(.reports[].verdict; .cause == blocked or .cause == "unknown")),
	check("never_ruled_out"; all(.reports[].ruled_out[]; .cause != blocked)),
	check("page_address"; all(.reports[]; .registration.address as $a | all((.pages // [])[]; .address | . == null or . == $a))),
	check("address_or_missing"; all(.reports[]; all((.pages // [])[]; .address) or address_missing))
])
