/* SPDX-License-Identifier: BSD-2-Clause */
/* The BPF objects, carried inside the program so that it is one file to install. */
.macro object name
	.balign 8
	.globl bpf_\name\()_start, bpf_\name\()_end
bpf_\name\()_start:
	.incbin "bpf/\name\().bpf.o"
bpf_\name\()_end:
.endm

	.section .rodata
	object maps
	object pages
	object modules
	object processes
	object placement
	object limits
	object dma
	object peer
	object provider
	object firstpin
	object armed
	object cma
	object subsystems
	object trace
	object stale
	object registration

	.section .note.GNU-stack, "", %progbits
