# SPDX-License-Identifier: BSD-2-Clause
# pinwhy: `make` builds build/pinwhy, `make demo` shows it, `make check` tests it all,
# `make help` lists the rest.

# `make ARCH=arm64` builds for another architecture, into a folder of its own, with Debian's cross compiler and the
# libraries that packaging/sysroot unpacks. Debian's names; what is in the environment is about kernels and not asked.
HOST_ARCH := $(shell dpkg --print-architecture)
ARCH      := $(HOST_ARCH)
TRIPLET_amd64 := x86_64-linux-gnu
TRIPLET_arm64 := aarch64-linux-gnu
BPF_ARCH_amd64 := x86
BPF_ARCH_arm64 := arm64
TRIPLET := $(or $(TRIPLET_$(ARCH)),$(error pinwhy is not built for ARCH=$(ARCH); it is for amd64 and arm64))

CLANG   ?= clang
ifeq ($(ARCH),$(HOST_ARCH))
BUILD   := build
CC      := gcc
AR      := ar
PKG_CONFIG := pkg-config
else
BUILD   := build/$(ARCH)
SYSROOT := $(shell packaging/sysroot $(if $(filter deps clean help,$(MAKECMDGOALS)),--path) $(ARCH))
$(if $(SYSROOT),,$(error packaging/sysroot gave no libraries for $(ARCH); what it said stands above))
CC      := $(TRIPLET)-gcc --sysroot=$(SYSROOT)
AR      := $(TRIPLET)-ar
PKG_CONFIG := PKG_CONFIG_SYSROOT_DIR=$(SYSROOT) PKG_CONFIG_LIBDIR=$(SYSROOT)/usr/lib/$(TRIPLET)/pkgconfig pkg-config
endif
PYTHON  := /usr/bin/python3
VERSION := $(shell cat VERSION)

# No warning is left standing; V=1 shows the commands.
WARN    := -Wall -Wextra -Wformat=2 -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wtype-limits \
           -Wmaybe-uninitialized -Werror
INCLUDE := -Ibpf/include -Idaemon
# Two builds are the same to the byte, wherever the sources lie.
WHEREVER := -ffile-prefix-map=$(CURDIR)=.
CFLAGS  := -std=gnu11 -D_GNU_SOURCE -O2 -g -fstack-protector-strong -D_FORTIFY_SOURCE=2 $(WARN) $(INCLUDE) $(WHEREVER) \
           -DPINWHY_VERSION='"$(VERSION)"'
LDFLAGS := -Wl,-z,relro,-z,now
LDLIBS   = $(shell $(PKG_CONFIG) --libs libbpf json-c libmicrohttpd yaml-0.1 gnutls) -linih -lcrypt -lz
BPF_CFLAGS := -target bpf -mcpu=v3 -O2 -g -D__TARGET_ARCH_$(BPF_ARCH_$(ARCH)) -Wall -Wextra -Wtype-limits -Werror \
              -Wno-unused-parameter -Ibpf/include $(WHEREVER)

Q := $(if $(V),,@)
say = $(if $(V),,@printf '  %-7s %s\n' $(1) $@)

BPF_SRC := $(wildcard bpf/*.bpf.c)
# Those that are built once more for kernels without bpf_loop().
BPF_TWICE := $(shell sed -n 's/^OBJECT(\([a-z_]*\), TWICE).*/\1/p' daemon/slots.def)
BPF_OBJ := $(BPF_SRC:bpf/%.c=$(BUILD)/bpf/%.o) $(BPF_TWICE:%=$(BUILD)/bpf/%.basic.bpf.o)
SRC     := $(wildcard daemon/*.c daemon/*/*.c)
OBJ     := $(SRC:daemon/%.c=$(BUILD)/daemon/%.o) $(BUILD)/daemon/objects.o

.DELETE_ON_ERROR:
.SECONDARY:
.PHONY: all clean help deps demo check check-quick check-guests check-layers check-contract check-clang check-shell check-man check-sinks soak-sinks matrix
.DEFAULT_GOAL := all
COUNTS := $(BUILD)/tests/counts

all: $(BUILD)/pinwhy man

$(BUILD)/pinwhy: $(OBJ)
	$(call say,LINK)
	$(Q)$(CC) $(LDFLAGS) -o $@ $^ $(LDLIBS)

$(BUILD)/daemon/%.o: daemon/%.c VERSION
	$(call say,CC)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) -MMD -MP -c -o $@ $<

# .incbin looks below the build folder; the compiler does not see that it depends on the objects.
$(BUILD)/daemon/objects.o: daemon/objects.S $(BPF_OBJ)
	$(call say,AS)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) -Wa,-I$(BUILD) -c -o $@ $<

$(BUILD)/bpf/%.o: bpf/%.c
	$(call say,BPF)
	$(Q)mkdir -p $(@D)
	$(Q)$(CLANG) $(BPF_CFLAGS) -MMD -MP -c -o $@ $<
	$(Q)llvm-strip -g $@

$(BUILD)/bpf/%.basic.bpf.o: bpf/%.bpf.c
	$(call say,BPF)
	$(Q)mkdir -p $(@D)
	$(Q)$(CLANG) $(BPF_CFLAGS) -DPINWHY_BASIC -MMD -MP -c -o $@ $<
	$(Q)llvm-strip -g $@

-include $(OBJ:.o=.d) $(BPF_OBJ:.o=.d)

# Manual pages and installing, guest programs, lab, unit tests and bench bring their own targets.
include packaging/packaging.mk tests/unit/unit.mk tests/web/web.mk tests/scenarios/scenarios.mk tests/vm/vm.mk tests/bench/bench.mk tests/plan/plan.mk packaging/btf/btf.mk

# --- the two commands of the README: they install what is missing themselves ----------

deps:
	@packaging/install-deps $(filter-out $(HOST_ARCH),$(ARCH))

# Guests of other architectures need what is built for those.
VM_ARCHES := $(filter-out $(HOST_ARCH),$(shell awk '!/^[ \t]*(\#|$$)/ { print $$4 }' tests/vm/kernels.list | sort -u))
.PHONY: $(VM_ARCHES:%=guests-of-%)
$(VM_ARCHES:%=guests-of-%): guests-of-%:
	@packaging/install-deps $*
	@$(MAKE) --no-print-directory ARCH=$* all guest-programs

# A fresh machine has no compiler yet when make reads this file, so each step is its own make.
demo: deps
	@$(MAKE) --no-print-directory all guest-programs
	@tests/vm/demo

check: deps
	@rm -rf $(COUNTS)
	@$(MAKE) --no-print-directory -k -j$(shell nproc) check-programs || true
	@$(MAKE) --no-print-directory -k check-quick-tests check-web check-boards check-guests check-package; status=$$?; tests/summary $(COUNTS) && exit $$status

# Without a guest and without root: well under a minute.
check-quick:
	@rm -rf $(COUNTS)
	@$(MAKE) --no-print-directory -k check-quick-tests; status=$$?; tests/summary $(COUNTS) && exit $$status

.PHONY: check-quick-tests check-programs guest-programs soak
# What tests are compiled from, on all processors. What fails here is told where it is needed.
check-programs: all unit-tests $(FUZZERS:%=$(BUILD)/tests/fuzz/%) $(UNIT_DIR)/pinwhy guest-programs

check-quick-tests: all check-unit check-http check-replay check-sinks check-plan check-fuzz check-contract check-layers check-clang check-shell check-man check-metrics check-install check-completion check-kubernetes

guest-programs: vm-programs scenarios bench-programs plan-programs btf-pack-programs

check-guests: all guest-programs $(VM_ARCHES:%=guests-of-%)
	@tests/vm/check

# The causal matrix alone, on every kernel that has a row.
matrix: all guest-programs $(VM_ARCHES:%=guests-of-%)
	@tests/vm/check --suite matrix

# What `check` runs at a tenth, at full count.
soak: all soak-sinks guest-programs $(VM_ARCHES:%=guests-of-%)
	@$(MAKE) --no-print-directory check-http WEB_ABUSE=10000; http=$$?; tests/vm/check tests/vm/soak.list && exit $$http

check-contract: all
	@tests/unit/check-contract $(BUILD)

# Collector, journal, full disk, and killed again and again; those that need root are skipped without.
check-sinks: all
	@tests/sinks/run $(BUILD) $(COUNTS)

soak-sinks: all
	@tests/sinks/run $(BUILD) $(COUNTS) 200

check-layers: all
	@tests/unit/check-layers $(BUILD)

# The daemon is built by gcc; clang finds other things.
check-clang:
	@CFLAGS='$(filter-out -Wmaybe-uninitialized -DPINWHY_VERSION=%,$(CFLAGS))' tests/unit/check-clang $(BUILD)

check-shell:
	@tests/unit/check-shell $(BUILD)

# How many agents Prometheus scrapes there.
BOARD_AGENTS ?= 100
check-boards: all $(UNIT_DIR)/test_metrics
	@tests/boards/run $(BUILD) $(BOARD_AGENTS)

check-metrics: all $(UNIT_DIR)/test_metrics
	@tests/unit/check-metrics $(BUILD)

help:
	@sed -n 's/^## //p' $(firstword $(MAKEFILE_LIST))

## make              build build/pinwhy
## make demo         the incident in a guest, explained (installs what it needs)
## make check        every test (installs what it needs)
## make check-quick  those tests that need neither a guest nor root
## make matrix       the causal matrix on every kernel
## make vm K=6.1     a shell in a guest with pinwhy inside
## make check-vm K=6.1 [S=matrix]  what make check runs on one kernel, or one suite of it
## make ARCH=arm64   build for arm64 into build/arm64 (README)
## make check-boards  dashboards and alerts, with Prometheus and Alertmanager
## make check-package  the Debian package in a clean Debian 12
## make bench        what watching costs, in instructions
## make soak         long repetitions
## make install      program, manual pages, unit, completion and example configuration (DESTDIR, PREFIX=/usr)
## make uninstall    removes these, but for the configuration
## make deb          Debian packages into build/deb
## make clean        remove build/; fetched kernels stay in the cache (tests/vm/README.md)

clean:
	rm -rf $(BUILD)
