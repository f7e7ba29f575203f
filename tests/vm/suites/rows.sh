# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=sh disable=SC2317,SC2154  # check calls functions by name; the suite sets area
# Rows of regmr: played, judged, and told as a table in /out/matrix.txt. A suite defines rows(), with lines
# name|case|options of regmr, and `area`.

ROWS=$OUT/rows
mkdir -p "$ROWS"

# table_line NAME REPORTS: a line of /out/matrix.txt, which tests/vm/judge writes on the host.
table_line() { echo "$1 $2" >>"$OUT/matrix.rows"; }

# row_begin NAME CASE OPTIONS...: plays the row; its JSON is in $ROWS/NAME.json.
row_begin() {
	row_name=$1
	row_case=$2
	shift 2
	play_begin "$ROWS/$row_name" "$BIN/regmr" --case "$row_case" --area "$area" "$@"
}

row_field() { field "$ROWS/$1.json" ".$2"; }

# judge_silence NAME: no report came, and none can be on its way: the kernel's own count of failures
# did not move, and that of successes moved by what the program did.
judge_silence() {
	pinwhy_ready && [ "$(registrations_ok)" -eq $((ok_before + $(row_field "$1" ok))) ] &&
		[ "$(registrations_failed)" -eq "$failed_before" ] && [ "$(reports_count)" -eq "$reports_before" ] &&
		all_slots_attached
}

# hazards_told NAME: all of the row's pages have been told as stranded. That happens before the registration fails, but
# facts are read of one hazard after another, so that the failure may overtake some.
hazards_told() {
	told_pages=$(sed -n "$((reports_before + 1)),\$s/.*\"stranded\":{\"pages\":\([0-9]*\).*/\1/p" "$PINWHY_REPORTS" | awk '{ n += $1 } END { print n + 0 }')
	[ "$told_pages" -ge "$(row_field "$1" 'pages|length')" ]
}

# judge_report NAME: exactly one report of a failure came, and of hazards only where a first pin is watched.
judge_report() {
	wait_until 30 kind_reaches registration_failed $((told_before + 1)) || return 1
	[ "$(row_field "$1" first_pin)" != nvidia ] || wait_until 30 hazards_told "$1"
	sed -n "$((reports_before + 1)),\$p" "$PINWHY_REPORTS" >"$ROWS/$1.jsonl"
	grep '"kind":"registration_failed"' "$ROWS/$1.jsonl" >"$ROWS/$1.report.json"
	grep '"kind":"hazard"' "$ROWS/$1.jsonl" >"$ROWS/$1.hazards.jsonl"
	[ "$(wc -l <"$ROWS/$1.report.json")" -eq 1 ] || return 1
	case $(row_field "$1" first_pin) in
	nvidia) [ "$(wc -l <"$ROWS/$1.jsonl")" -eq $(($(wc -l <"$ROWS/$1.hazards.jsonl") + 1)) ] ;;
	*) [ "$(wc -l <"$ROWS/$1.jsonl")" -eq 1 ] ;;
	esac &&
		[ "$(registrations_ok)" -eq $((ok_before + $(row_field "$1" ok))) ] &&
		[ "$(registrations_failed)" -eq $((failed_before + 1)) ]
}

judge_verdict() {
	expect "report_$1" blocked.jq "$ROWS/$1.json" "$ROWS/$1.report.json" && table_line "$1" yes
	[ "$(row_field "$1" first_pin)" != nvidia ] || judge_hazards "$1"
}

# What was said before the registration failed: of every pin, and of all of its pages.
judge_hazards() {
	{ echo '['; sed '$!s/$/,/' "$ROWS/$1.hazards.jsonl"; echo ']'; } >"$ROWS/$1.hazards.json"
	expect "hazards_$1" hazards.jq "$ROWS/$1.json" "$ROWS/$1.hazards.json"
}

row_with_pinwhy() {
	name=$1
	ok_before=$(registrations_ok)
	failed_before=$(registrations_failed)
	reports_before=$(reports_count)
	told_before=$(reports_count registration_failed)
	row_begin "$@"
	case $(row_field "$name" failed) in
	0) if check "silent_$name" judge_silence "$name"; then table_line "$name" none; else counts_now; fi ;;
	1) if check "one_report_$name" judge_report "$name"; then judge_verdict "$name"; else counts_now; fi ;;
	esac
	play_end "$name"
}

counts_now() {
	echo "# ok $ok_before -> $(registrations_ok), failed $failed_before -> $(registrations_failed), reports $reports_before -> $(reports_count)"
}

row_alone() {
	row_begin "$@"
	play_end "$1" && table_line "$1" -
}

each_row() {
	rows >/tmp/matrix.rows
	while IFS='|' read -r each_name each_case each_options; do
		# shellcheck disable=SC2086  # several options are several words
		"$1" "$each_name" "$each_case" $each_options
	done </tmp/matrix.rows
}
