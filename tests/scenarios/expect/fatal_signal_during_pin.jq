# SPDX-License-Identifier: BSD-2-Clause
# Killed in the middle of the pin, with memory enough for everyone: no fault of the registration.
include "lib";

$truth[0] as $t
| verdict_on([
	failed($t),
	cause("fatal_signal_during_pin"),
	proven,
	stage(["pin"]),
	check("says_signal"; says_like("signal|kill")),
	no_pages
])
