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
	object modules
	object placement
	object limits
	object dma
	object provider
	object subsystems
	object stale
	object registration

	.section .note.GNU-stack, "", %progbits
