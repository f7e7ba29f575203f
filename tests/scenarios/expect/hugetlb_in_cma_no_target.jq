# SPDX-License-Identifier: BSD-2-Clause
# A huge page in CMA would have to move and has nowhere to go. Nobody holds it, which is not the same as a first pin.
include "lib";

$truth[0] as $t
| verdict_on([
	failed($t),
	cause("hugetlb_in_cma_no_target"),
	proven,
	stage(["placement"]),
	check("grade"; .first_pin.grade == "no_migration_target" and .first_pin.pid == null and .first_pin.candidates == []),
	check("nobody_holds_it"; all(.pages[]; .refcount == .expected)),
	check("area"; all(.pages[]; if $t.areas_untold then .placement_source == "cma_area_not_known" and .area == null elif $t.no_area then .placement_source == "cma_outside_known_areas" and .area == null else .placement_source == "hugetlb_cma" end)),
	check("detail"; .verdict.detail == (if $t.no_area then "huge_page" else "gigantic_page" end)),
	check("says_huge"; says_like("huge|1 GiB")),
	check("says_area"; says_like("CMA")),
	ruled_out("rlimit_memlock_exceeded")
])
