/* SPDX-License-Identifier: BSD-2-Clause */
/* What regcost carries with it into a guest. */
.macro file name path
	.balign 8
	.globl bench_\name\()_start, bench_\name\()_end
bench_\name\()_start:
	.incbin "\path"
bench_\name\()_end:
.endm

	.section .rodata
	file floor "tests/bench/floor.bpf.o"
	file script "tests/bench/same.bt"

	.section .note.GNU-stack, "", %progbits
