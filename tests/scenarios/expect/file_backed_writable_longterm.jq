# SPDX-License-Identifier: BSD-2-Clause
# A writable shared mapping of a file may not be pinned for long where the file system tracks what is dirty.
include "lib";

$truth[0] as $t
| verdict_on([
	failed($t),
	cause("file_backed_writable_longterm"),
	proven,
	stage(["pin"]),
	check("says_file_system"; says("ext4")),
	(if is_verbs($t) then check("class"; .registration.allocation_class == "host_file") else empty end),
	ruled_out("address_not_mapped"),
	no_pages
])
