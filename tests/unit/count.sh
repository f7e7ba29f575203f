# SPDX-License-Identifier: BSD-2-Clause
# For scripts that are suites of their own: source with $suite and $build set; say pass and fail,
# and end with finish.
# shellcheck shell=bash
# shellcheck disable=SC2154  # suite and build are the caller's
passed=0 failed=0 skipped=0
pass() { passed=$((passed + 1)); }
fail() { failed=$((failed + 1)); printf 'FAIL %s: %s\n' "$suite" "$*"; }
finish() {
	mkdir -p "$build/tests/counts"
	printf '%s %d %d %d\n' "$suite" "$passed" "$failed" "$skipped" >"$build/tests/counts/$suite.txt"
	printf '%s: %d passed, %d failed\n' "$suite" "$passed" "$failed"
	((failed == 0))
}
