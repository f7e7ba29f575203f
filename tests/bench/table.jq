# SPDX-License-Identifier: BSD-2-Clause
# The lines of one measurement as tables (Markdown): jq -rsf tests/bench/table.jq bench.jsonl

def thousands: tostring | if length > 3 then (.[:-3] | thousands) + "," + .[-3:] else . end;
def signed: if . < 0 then "-" + (-. | thousands) else "+" + thousands end;
def size: if . >= 1048576 then "\(. / 1048576) MiB" elif . >= 1024 then "\(. / 1024) KiB" else "\(.) B" end;
def ratio: . * 100 | round / 100 | tostring;
def row: "| " + join(" | ") + " |";
def share($off): . * 1000 / $off | round / 10 | "\(.) %";

. as $lines
| ($lines[] | select(.type == "setup")) as $setup
| ($lines | map(select(.type == "cost") | .mode) | unique) as $measured
| (["floor", "pinwhy", "bpftrace"] | map(select(IN($measured[])))) as $modes
| def cost($mode; $size): $lines[] | select(.type == "cost" and .mode == $mode and .size == $size);

"Kernel \($setup.kernel), \($setup.machine): instructions per \({ register: "ibv_reg_mr + ibv_dereg_mr", pin: "os_lock_user_pages + os_unlock_user_pages" }[$setup.op]), mean of \($setup.repeats) repeats of \($setup.rounds - 1) rounds of \($setup.ops).",
"",
(["size", "off"] + $modes + ["spread of repeats", "pinwhy / off", "pinwhy / floor"]
	+ if $modes | index("bpftrace") then ["bpftrace / pinwhy"] else [] end
	| row, (map("---:") | row)),
($lines[] | select(.type == "off") | .size as $size | .mean as $off
	| [($size | size), ($off | thousands)]
	+ ($modes | map(cost(.; $size).added | signed))
	+ [($modes | map(cost(.; $size).spread | tostring) | join(", ")),
	   (cost("pinwhy"; $size).added | share($off)),
	   (cost("pinwhy"; $size).added / cost("floor"; $size).added | ratio)]
	+ if $modes | index("bpftrace") then [cost("bpftrace"; $size).added / cost("pinwhy"; $size).added | ratio] else [] end
	| row),
"",
"By the median of the rounds instead of their mean: " + ([$lines[] | select(.type == "off") | .size as $size
	| "\($size | size): off \(.median | thousands), "
	+ ($modes | map("\(.) \(cost(.; $size).added_median | signed)") | join(", "))] | join("; ")) + ".",
"",
(["slot", "attached by", "to", "runs per operation", "BPF instructions", "verified", "machine code bytes"]
	| row, (["---", "---", "---", "---:", "---:", "---:", "---:"] | row)),
($lines[] | select(.type == "program") | .slot as $slot
	| ([$lines[] | select(.type == "hits" and .mode == "pinwhy" and .slot == $slot) | .hits / .times]
		| unique | map(tostring) | join(", ")) as $runs
	| [.slot, .variant, "`\(.target)`", $runs, (.bpf_instructions, .verified_instructions, .jited_bytes | thousands)] | row),
"",
($lines[] | select(.type == "load")
	| "Loading and attaching \(.programs) programs: \(.facts_instructions + .open_instructions + .attach_instructions | thousands) instructions"
	+ " (kernel facts \(.facts_instructions | thousands), opening \(.open_instructions | thousands), attaching \(.attach_instructions | thousands)); maps \(.map_bytes | thousands) bytes.")
