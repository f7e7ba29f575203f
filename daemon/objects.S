/* SPDX-License-Identifier: BSD-2-Clause */
/* The BPF objects, carried inside the program so that it is one file to install. */
.macro object name
	.balign 8
	.globl bpf_\name\()_start, bpf_\name\()_end
bpf_\name\()_start:
	.incbin "bpf/\name\().bpf.o"
bpf_\name\()_end:
.endm
/* And its other form: see slots.def. */
.macro twice name
	object \name
	.balign 8
	.globl bpf_\name\()_basic_start, bpf_\name\()_basic_end
bpf_\name\()_basic_start:
	.incbin "bpf/\name\().basic.bpf.o"
bpf_\name\()_basic_end:
.endm

	.section .rodata
	object maps
	object pages
	object modules
	object processes
	twice placement
	object limits
	twice dma
	twice peer
	object provider
	object firstpin
	object armed
	object cma
	twice subsystems
	object trace
	object stale
	twice registration

	.section .note.GNU-stack, "", %progbits
