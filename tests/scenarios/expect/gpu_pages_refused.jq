# SPDX-License-Identifier: BSD-2-Clause
# NVIDIA's driver did not give the pages of GPU memory: hidden by its client's "not mine", or with its own errno.
include "lib";

$truth[0] as $t
| ($t.hidden // false) as $hidden
| ($t.unsure // false) as $unsure
| verdict_on([
	call($t; $t.errno_name; $t.errno),
	cause("gpu_pages_refused"),
	check("confidence"; .verdict.confidence == (if $unsure then "likely" else "proven" end)),
	stage(if $hidden then ["pin"] else ["peer"] end),
	check("detail"; .verdict.detail == ({"EFAULT": "peer_no_room", "ENOMEM": "peer_no_room", "EIO": "peer_driver_error", "ENOTSUPP": "peer_not_supported"}[if $unsure then "EIO" else $t.errno_name end])),
	check("function"; .peer_memory.function == $t.asked),
	check("peer_errno"; .peer_memory.errno == (if $unsure then 5 elif $hidden then 12 else $t.errno end)),
	check("peer_range"; (.peer_memory.address | hex) <= ($t.address | hex) and .peer_memory.length >= $t.length),
	check("answer"; .peer_memory.answer == (if $hidden then "not_mine" else "mine" end)),
	check("caller"; .peer_memory.caller | test(if $hidden then "^nv_mem_acquire(_nc)? \\[nvidia_peermem\\]$" else "^nv_mem_get_pages(_nc)? \\[nvidia_peermem\\]$" end)),
	check("calls"; .peer_memory.calls == (if $hidden then 1 else 2 end) and .peer_memory.calls_failed == 1),
	check("pin_failed"; (any(.chain[]; .function == "__gup_longterm_locked" and .errno_name == "EFAULT")) or ($hidden | not)),
	check("in_chain"; $hidden or any(.chain[]; .function == $t.asked)),
	check("says"; says("\($t.asked) = -")),
	check("missing"; any(.missing_evidence[]; .what == "reason of the GPU driver")),
	no_pages
])
