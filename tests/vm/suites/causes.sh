# SPDX-License-Identifier: BSD-2-Clause
# Functions for the suites that play rows of tests/scenarios/causes.list (busybox sh): source it after
# lib.sh and pinwhy.sh. What came of each row is left in /out/causes.tsv:
#   name, cause, how it ended, how its control ended; and for what cannot happen here, why.
# shellcheck shell=sh
# shellcheck disable=SC2317  # check and wait_until call functions by name

# The first argument of a suite: with "truth" only what the kernel does is looked at.
with_pinwhy=yes
[ "${1-}" != truth ] || { with_pinwhy=no; shift; }

CASES=$OUT/cases
TABLE=$OUT/causes.tsv
mkdir -p "$CASES"
# The functions that conditions ask for, and this kernel has.
sed -n 's/^[^#|]*|[^|]*|\([^|]*\)|.*/\1/p' /tests/scenarios/causes.list | tr , '\n' | sed -n 's/^[+-]\(.*\)/\1 \1/p' | sort -u |
	"$BIN/lab" symbols >/tmp/functions
"$BIN/badreg" --list >/tmp/badreg.list
[ -x /usr/bin/pinwhy ] && pinwhy causes >/tmp/causes.known 2>/dev/null

booted_with() { grep -qE "[ ]$1(=|\$| )" /proc/cmdline; }
has_function() { grep -qxF "$1" /tmp/functions; }

# holds CONDITION: is this the kernel that the row is for?
holds() {
	[ "$1" != any ] || return 0
	for word in $(echo "$1" | tr , ' '); do
		case $word in
		+*) has_function "${word#+}" || return 1 ;;
		-*) ! has_function "${word#-}" || return 1 ;;
		boot:*) booted_with "${word#boot:}" || return 1 ;;
		no-boot:*) ! booted_with "${word#no-boot:}" || return 1 ;;
		btf:*) [ -e "/sys/kernel/btf/${word#btf:}" ] || return 1 ;;
		no-btf:*) [ ! -e "/sys/kernel/btf/${word#no-btf:}" ] || return 1 ;;
		node1) [ -d /sys/devices/system/node/node1 ] || return 1 ;;
		no-node1) [ ! -d /sys/devices/system/node/node1 ] || return 1 ;;
		*) echo "unknown condition $word" >&2; return 1 ;;
		esac
	done
}

case_of() { echo "$1" | sed 's/.*--case \([a-z0-9_]*\).*/\1/'; }
has_control() { ! grep "^$1 " /tmp/badreg.list | grep -q '; no control:'; }
ended_of() { field "$1" .ended 2>/dev/null || echo nothing; }

# once FILE WORD: true the first time.
once() { ! grep -qxF "$2" "$1" 2>/dev/null && echo "$2" >>"$1"; }

# look: the metrics of this moment, in /tmp/looked, and from them how many registrations by ibv_reg_mr have ended
# well and badly so far; what other subsystems register in passing is not counted.
look() {
	pinwhy_scrape >/tmp/looked
	ok_now=$(sed -n 's/^pinwhy_registrations_total{api="reg_mr",result="ok"} //p' /tmp/looked)
	failed_now=$(sed -n 's/^pinwhy_registrations_total{api="reg_mr",result="failed"} //p' /tmp/looked)
}

judge_counts() { [ "$ok_now" -eq $((ok_before + $1)) ] && [ "$failed_now" -eq $((failed_before + $2)) ]; }

# Whether slots are attached or have fired already makes no difference.
slots_looked() { sed -n 's/^\(pinwhy_slot_state{.*\)"active"} 1$/\1"attached"} 1/; /^pinwhy_slot_state{.* 1$/p' /tmp/looked; }

# As they were when all of them were seen to be attached by this instance.
# shellcheck disable=SC2154  # pinwhy.sh sets pinwhy_pid
slots_unchanged() {
	[ -f "/tmp/slots.$pinwhy_pid" ] || { all_slots_attached && slots_looked >"/tmp/slots.$pinwhy_pid"; }
	slots_looked | cmp - "/tmp/slots.$pinwhy_pid"
}

judge_silence() { pinwhy_ready && [ "$(reports_count)" -eq "$reports_before" ] && slots_unchanged; }

judge_report() {
	wait_until 30 reports_reach $((reports_before + 1)) || return 1
	report_at $((reports_before + 1)) >"$CASES/$1.report.json"
	[ "$(reports_count)" -eq $((reports_before + 1)) ]
}

# How many registrations ended well and badly, where the metrics tell: one still inside is not counted
# yet, and one that libibverbs gave up never came.
counts_of() {
	read -r of_ended of_ok of_failed of_set_up of_maps of_entry <<-END
	$(field "$CASES/$1.json" .ended .ok .failed .set_up_ok .max_map_count .entry)
	END
	case $of_ended,$of_set_up,$of_maps,$of_entry in
	stuck,*) ;;
	*,0,null,ibv_reg_mr* | *,null,null,ibv_reg_mr*) echo "$of_ok $of_failed" ;;
	esac
}

judge() {
	judge_told=$(counts_of "$1")
	[ "$2" = - ] || wait_until 30 reports_reach $((reports_before + 1))
	look
	if [ "$2" = - ]; then
		check "silent_$1" judge_silence
	elif check "one_report_$1" judge_report "$1"; then
		expect "report_$1" "$2.jq" "$CASES/$1.json" "$CASES/$1.report.json"
	fi
	# shellcheck disable=SC2086  # two numbers
	[ -z "$judge_told" ] || check "counted_$1" judge_counts $judge_told
}

# play NAME CAUSE OPTIONS...: one run of badreg; with pinwhy also what it says.
play() {
	name=$1
	cause=$2
	shift 2
	if [ "$with_pinwhy" = yes ]; then
		look
		ok_before=$ok_now
		failed_before=$failed_now
		reports_before=$(reports_count)
	fi
	play_begin "$CASES/$name" "$BIN/badreg" "$@"
	[ "$watched" != yes ] || judge "$name" "$cause"
	play_end "$name"
	[ "$with_pinwhy:$(ended_of "$CASES/$name.json")" != yes:stuck ] || settle "$name"
}

# A call that was stuck ends with its process, which is one more report: the next row must not find it.
settle() { check "end_of_$1" wait_until 30 reports_reach $((reports_before + $([ "$watched" = yes ] && echo 2 || echo 1))); }

# No errno reaches a caller that is killed. What the driver returned to it is in the kernel's own trace.
TRACING=/sys/kernel/tracing
answer_watch() {
	# shellcheck disable=SC2016  # $retval is the kernel's word
	echo 'r:truth/answer rxe_reg_user_mr ret=$retval:s64' >>"$TRACING/kprobe_events" &&
		echo >"$TRACING/trace" && echo 1 >"$TRACING/events/truth/answer/enable"
}
answer_was() {
	grep -o 'ret=.*' "$TRACING/trace"
	[ "$(grep -o 'ret=.*' "$TRACING/trace" | tail -n 1)" = "ret=$1" ]
}
answer_end() {
	echo 0 >"$TRACING/events/truth/answer/enable"
	echo '-:truth/answer' >>"$TRACING/kprobe_events"
}

# Pins of other subsystems need hooks of their own: is there a slot for the one of this case?
is_hooked() {
	case $1 in
	uring_then_rdma) return 0 ;;
	uring_* | user_uring) slot_states | grep -q uring ;;
	xdp_* | user_xdp) slot_states | grep -q xdp ;;
	vfio_*) slot_states | grep -q vfio ;;
	esac
}

# A cause that this pinwhy does not have yet: the kernel alone is looked at.
is_known() { [ "$1" = - ] || [ "$1" = unknown ] || [ "$1" = no_command ] || grep -q "^$1\b" /tmp/causes.known; }

play_row() {
	row_name=$1
	row_cause=$2
	row_ends=$3
	row_options=$4
	row_case=$(case_of "$row_options")
	control_ended=-
	watched=$with_pinwhy
	case $row_cause in
	*\?)
		row_cause=${row_cause%\?}
		[ -e /sys/kernel/btf/ib_uverbs ] || row_cause=no_command
		;;
	esac
	if [ "$watched" = yes ] && ! is_known "$row_cause"; then
		skip "report_$row_name" "this pinwhy does not know the cause $row_cause"
		watched=no
	elif [ "$watched" = yes ] && ! is_hooked "$row_case"; then
		skip "report_$row_name" "this pinwhy has no hook where $row_case enters the kernel"
		watched=no
	fi
	[ "$row_ends:$watched" != killed:no ] || check "answer_watch_$row_name" answer_watch
	# shellcheck disable=SC2086  # several options are several words
	play "$row_name" "$row_cause" $row_options --expect "$row_ends"
	if [ "$row_ends:$watched" = killed:no ]; then
		check "answer_$row_name" answer_was -4
		answer_end
	fi
	if [ "$row_ends" != ok ] && has_control "$row_case" && once /tmp/controls "$row_case"; then
		# shellcheck disable=SC2086  # several options are several words
		play "$row_name-control" - $row_options --control
		control_ended=$(ended_of "$CASES/$row_name-control.json")
	fi
	[ "$row_cause" != no_command ] || row_cause=unknown
	printf '%s\t%s\t%s\t%s\n' "$row_name" "$row_cause" "$(ended_of "$CASES/$row_name.json")" "$control_ended" >>"$TABLE"
}

# is_wanted ROW NAME,...: is it one of the names, or are there none?
is_wanted() { case ",${2:-$1}," in *",$1,"*) ;; *) return 1 ;; esac; }

# play_rows GROUP [NAME,...]: every row of the group that is for this kernel. A name without one is a failure.
play_rows() {
	grep "^$1|" /tests/scenarios/causes.list >/tmp/rows
	while IFS='|' read -r group row condition cause ends options <&4; do
		is_wanted "$row" "${2-}" || continue
		holds "$condition" || continue
		once /tmp/played "$group $row" || { fail "row_$row" "two rows hold on this kernel"; continue; }
		if [ "$ends" = never ]; then
			printf '%s\t%s\t%s\t%s\n' "$row" "$cause" never "$options" >>"$TABLE"
		else
			play_row "$row" "$cause" "$ends" "$options"
		fi
	done 4</tmp/rows
	cut -d '|' -f 1,2 /tmp/rows | sort -u | while IFS='|' read -r group row; do
		! is_wanted "$row" "${2-}" || grep -qxF "$group $row" /tmp/played || echo "$row"
	done >/tmp/unplayed
	[ ! -s /tmp/unplayed ] || fail rows_for_this_kernel "no row holds for $(xargs </tmp/unplayed)"
}
