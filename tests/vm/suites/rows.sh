# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=sh disable=SC2317,SC2154  # check calls functions by name; the suite sets area
# Rows of regmr: played, judged, and told as a table in /out/matrix.txt. A suite defines rows(), with lines
# name|case|options of regmr, and `area`.

ROWS=$OUT/rows
TABLE=$OUT/matrix.txt
mkdir -p "$ROWS"

table_head() {
	printf '%-20s | %-27s | %-22s | %-15s | %-10s | %-6s | %s\n' \
		case page "first pin" registration "page moved" report verdict
}

# table_line NAME REPORTS VERDICT
table_line() {
	jq -r --arg name "$1" --arg reports "$2" --arg verdict "$3" '
		(if .thp then "2 MiB huge" else "4 KiB" end) as $kind
		| ([.pages[].moved] | if all then "yes" elif any then "some" else "no" end) as $moved
		| ([.pages[].moved_by_first_pin] | if all then "by 1st pin" else $moved end) as $moved
		| (if .tried > 1 then "\(.first_errno | if . == 12 then "ENOMEM" else tostring end), then \(if .mr_null then .errno_name else "ok" end)"
		   elif .mr_null then .errno_name else "ok" end) as $registration
		| [$name, "\(.pages[0].fresh.area) \($kind), \(.pages | length)/\(.range_pages)", .first_pin, $registration, $moved, $reports, $verdict]
		| @tsv' "$ROWS/$1.json" |
		while IFS="$(printf '\t')" read -r name page pin registration moved reports verdict; do
			printf '%-20s | %-27s | %-22s | %-15s | %-10s | %-6s | %s\n' \
				"$name" "$page" "$pin" "$registration" "$moved" "$reports" "$verdict"
		done | tee -a "$TABLE"
}

# row_begin NAME CASE OPTIONS...: plays the row; its JSON is in $ROWS/NAME.json.
row_begin() {
	row_name=$1
	row_case=$2
	shift 2
	play_begin "$ROWS/$row_name" "$BIN/regmr" --case "$row_case" --area "$area" "$@"
}

row_field() { jq -r ".$2" "$ROWS/$1.json"; }

# judge_silence NAME: no report came, and none can be on its way: the kernel's own count of failures
# did not move, and that of successes moved by what the program did.
judge_silence() {
	pinwhy_ready && [ "$(registrations_ok)" -eq $((ok_before + $(row_field "$1" ok))) ] &&
		[ "$(registrations_failed)" -eq "$failed_before" ] && [ "$(reports_count)" -eq "$reports_before" ] &&
		all_slots_attached
}

# judge_report NAME: exactly one report of a failure came, and of hazards only where a first pin is watched.
judge_report() {
	wait_until 30 kind_reaches registration_failed $((told_before + 1)) || return 1
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
	if expect "report_$1" blocked.jq "$ROWS/$1.json" "$ROWS/$1.report.json"; then
		table_line "$1" yes "$(jq -r '"\(.verdict.cause) \(.verdict.confidence), \(.first_pin.grade)"' "$ROWS/$1.report.json")"
	else
		table_line "$1" yes WRONG
	fi
	[ "$(row_field "$1" first_pin)" != nvidia ] || judge_hazards "$1"
}

# What was said before the registration failed: of every pin, and of all of its pages.
judge_hazards() {
	jq -s . "$ROWS/$1.hazards.jsonl" >"$ROWS/$1.hazards.json"
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
	0) if check "silent_$name" judge_silence "$name"; then table_line "$name" none -; else counts_now; fi ;;
	1) if check "one_report_$name" judge_report "$name"; then judge_verdict "$name"; else counts_now; fi ;;
	esac
	play_end "$name"
}

counts_now() {
	echo "# ok $ok_before -> $(registrations_ok), failed $failed_before -> $(registrations_failed), reports $reports_before -> $(reports_count)"
}

row_alone() {
	row_begin "$@"
	play_end "$1" && table_line "$1" - -
}

each_row() {
	rows >/tmp/matrix.rows
	while IFS='|' read -r each_name each_case each_options; do
		# shellcheck disable=SC2086  # several options are several words
		"$1" "$each_name" "$each_case" $each_options
	done </tmp/matrix.rows
}
