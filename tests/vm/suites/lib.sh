# SPDX-License-Identifier: BSD-2-Clause
# Functions for suites (busybox sh): source it first. Each test says exactly one of pass, fail, skip.
# shellcheck shell=sh

OUT=/out
RESULTS=$OUT/results

pass() { echo "PASS $1" | tee -a "$RESULTS"; }
fail() { echo "FAIL $1: $2" | tee -a "$RESULTS"; }
skip() { echo "SKIP $1: $2" | tee -a "$RESULTS"; }

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

# wait_until SECONDS CMD...: polls until the command succeeds; fails when the time is over.
wait_until() {
	wait_end=$(($(date +%s) + $1))
	shift
	until "$@" >/dev/null 2>&1; do
		[ "$(date +%s)" -lt "$wait_end" ] || return 1
		# Leaves the processor to what is waited for; the state decides, not this pause.
		usleep 50000
	done
}

# Ends the suite: 1 when a test failed.
done_testing() {
	! grep -q '^FAIL ' "$RESULTS"
	exit $?
}
