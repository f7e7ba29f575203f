# SPDX-License-Identifier: BSD-2-Clause
# The guest lab's targets. K is a kernel of tests/vm/kernels.list, S a suite of tests/vm/suites.

BUILD ?= build
CC ?= cc
VM_CFLAGS ?= -std=gnu11 -O2 -g -Wall -Wextra -Wformat=2

VM_GUEST_PROGRAMS := $(patsubst tests/vm/guest/%.c,$(BUILD)/tests/guest/%,$(wildcard tests/vm/guest/*.c))
VM_KERNELS := $(shell awk '!/^[ \t]*(\#|$$)/ { print $$1 }' tests/vm/kernels.list)

.PHONY: vm check-vm check-vm-host fetch vm-programs

# A guest program may include the header of a test module, but never depends on its build. Static: under emulation the
# loader takes longer than the program.
$(BUILD)/tests/guest/%: tests/vm/guest/%.c
	@mkdir -p $(@D)
	$(CC) $(VM_CFLAGS) -static -MMD -MP -o $@ $<
-include $(VM_GUEST_PROGRAMS:=.d)

vm-programs: $(VM_GUEST_PROGRAMS)

# Called in the recipes below: says what K may be when it is not given.
vm_need_k = $(if $(K),,$(error say which kernel: make $@ K=NAME, with NAME one of: $(VM_KERNELS)))

# The architecture of K. What its guests run is built for it first.
VM_K_ARCH := $(shell awk -v k='$(K)' '!/^[ \t]*(\#|$$)/ && $$1 == k { print $$4 }' tests/vm/kernels.list)
VM_NEEDS := $(if $(filter-out $(HOST_ARCH),$(VM_K_ARCH)),guests-of-$(VM_K_ARCH),vm-programs)

# A shell in a guest. Ctrl-A X ends it.
vm: $(VM_NEEDS)
	$(vm_need_k)tests/vm/run $(K) shell $(VM_ARGS)

# What plan.list has for a kernel, or one suite of it: make check-vm K=6.1 S=matrix. With VM_ARGS the suite in a boot of its
# own, with these options of tests/vm/run.
check-vm: all guest-programs $(VM_NEEDS)
ifdef VM_ARGS
	$(vm_need_k)tests/vm/run $(K) $(or $(S),smoke) $(VM_ARGS)
else
	$(vm_need_k)tests/vm/check --kernel $(K) $(if $(S),--suite $(S))
endif

# What the lab promises about itself, without a guest.
check-vm-host:
	tests/vm/selftest

fetch:
	tests/vm/fetch $(VM_KERNELS)
