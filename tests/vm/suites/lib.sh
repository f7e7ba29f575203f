# SPDX-License-Identifier: BSD-2-Clause
# Functions for suites (busybox sh): source it first. Each test says exactly one of pass, fail, skip.
# What a suite leaves in /out is its own: each has a directory there, also when one boot runs several.
# shellcheck shell=sh

OUT=/out
RESULTS=$OUT/results

# One line of the results; with the guest's uptime in /out/times, to see where a suite's time goes.
say_result() {
	echo "$1"
	echo "$1" >>"$RESULTS"
	read -r said_at _ </proc/uptime
	echo "$said_at $1" >>"$OUT/times"
}
pass() { say_result "PASS $1"; }
fail() { say_result "FAIL $1: $2"; }
skip() { say_result "SKIP $1: $2"; }

# check NAME CMD...: passes when the command succeeds; its output is kept in /out/NAME.log.
check() {
	check_name=$1
	shift
	if "$@" >"$OUT/$check_name.log" 2>&1; then
		pass "$check_name"
	else
		fail "$check_name" "'$*' exited $?; last line: $(tail -n 1 "$OUT/$check_name.log")"
		return 1
	fi
}

# lines_of NAME CMD...: for a program that writes PASS, FAIL and SKIP lines itself. One that dies
# without a FAIL line, or says nothing, is a failure called NAME.
lines_of() {
	lines_name=$1
	shift
	"$@" >"$OUT/$lines_name.log" 2>&1
	lines_code=$?
	grep -E '^(PASS|FAIL|SKIP) ' "$OUT/$lines_name.log" | tee -a "$RESULTS"
	grep -q '^FAIL ' "$OUT/$lines_name.log" && return 1
	if [ "$lines_code" -ne 0 ] || ! grep -q '^PASS ' "$OUT/$lines_name.log"; then
		fail "$lines_name" "'$*' exited $lines_code; last line: $(tail -n 1 "$OUT/$lines_name.log")"
		return 1
	fi
}

# wait_until SECONDS CMD...: polls until the command succeeds; fails when the time is over. The pauses grow: they
# leave the processor to what is waited for. The state decides, not a pause.
wait_until() {
	read -r wait_end _ </proc/uptime
	wait_end=$((${wait_end%.*} + $1 + 1))
	wait_ms=20
	shift
	until "$@" >/dev/null 2>&1; do
		read -r wait_now _ </proc/uptime
		[ "${wait_now%.*}" -lt "$wait_end" ] || return 1
		pause_ms "$wait_ms"
		[ "$wait_ms" -ge 200 ] || wait_ms=$((wait_ms * 3 / 2))
	done
}

# Without a process of its own: nobody ever writes there.
[ -p /run/pause ] || mkfifo /run/pause
# shellcheck disable=SC3045 # busybox has it
pause_ms() {
	case $1 in
	?) pause_s=0.00$1 ;;
	??) pause_s=0.0$1 ;;
	*) pause_s=0.$1 ;;
	esac
	read -r -t "$pause_s" _ <>/run/pause
}

# jq takes the better part of a second in a guest, so what it has to say is recorded here, with copies of the files,
# and said on the host by tests/vm/judge: one PASS or FAIL of that name each.
JUDGE=$OUT/judge
judge_n=0
judge_next() {
	[ -d "$JUDGE" ] || mkdir "$JUDGE"
	# A subshell counts for itself only.
	while [ -e "$JUDGE/$judge_n.report" ]; do judge_n=$((judge_n + 1)); done
}

# expect NAME FILE.jq TRUTH REPORT: FILE.jq (tests/scenarios/expect) compares a report with what a scenario program
# printed and answers {checked, failed: [names]}; whatever else comes out of jq is a failure too. Succeeds when there is
# something to compare.
expect() {
	judge_next
	if cp "$3" "$JUDGE/$judge_n.truth" && cp "$4" "$JUDGE/$judge_n.report"; then
		printf 'expect\t%s\t%s\t%s\n' "$1" "$judge_n" "$2" >>"$JUDGE/list"
	else
		fail "$1" "$3 or $4 is not there"
		return 1
	fi
}

# expect_true NAME FILE [OPTION OF JQ]... FILTER: the last thing that jq says is neither false nor null.
expect_true() {
	judge_next
	expect_name=$1
	if ! cp "$2" "$JUDGE/$judge_n.report"; then
		fail "$1" "$2 is not there"
		return 1
	fi
	shift 2
	printf '%s\0' "$@" >"$JUDGE/$judge_n.words"
	printf 'true\t%s\t%s\n' "$expect_name" "$judge_n" >>"$JUDGE/list"
}

# field FILE PATH...: values of one JSON document on one line, "null" for what is not there: .a.b, .a[0].b, ".a|length".
field() { /tests/bin/lab fields "$@"; }

# Must a long-term pin leave ZONE_MOVABLE? The rule came with a reason to migrate (5.13).
pins_leave_movable() { grep -q '"longterm_pin"' /sys/kernel/tracing/events/migrate/mm_migrate_pages/format; }

# May programs of BPF be called back (5.17)?
has_loops() { grep -q ' bpf_loop$' /proc/kallsyms; }

# Ends the suite: 1 when a test failed.
done_testing() {
	! grep -q '^FAIL ' "$RESULTS"
	exit $?
}
