# SPDX-License-Identifier: BSD-2-Clause
# What being watched costs a registration, as a count of instructions in a guest.

BENCH_DIR := tests/bench
BENCH_OBJ := $(BUILD)/tests/bench
BENCH_KERNELS ?= 6.1 7.3
# The loader as the daemon has it, with the BPF objects inside.
BENCH_DAEMON := $(addprefix $(BUILD)/daemon/,loader.o loader_armed.o loader_choose.o loader_detach.o loader_device.o loader_maps.o loader_objects.o loader_status.o rdma_layout.o slots.o btfpack.o geometry.o corebtf.o kfacts.o kfacts_symbols.o kernel_support.o privileges.o vmcoreinfo.o kretprobe.o log.o objects.o)
BENCH_OBJS := $(patsubst $(BENCH_DIR)/%.c,$(BENCH_OBJ)/%.o,$(filter-out %.bpf.c,$(wildcard $(BENCH_DIR)/*.c))) \
              $(BENCH_OBJ)/embed.o

.PHONY: bench bench-programs

# The numbers of RESULTS.md: five to ten minutes.
bench: vm-programs bench-programs
	@$(BENCH_DIR)/run $(BENCH_KERNELS)

bench-programs: $(BUILD)/tests/guest/regcost

$(BENCH_OBJ)/%.bpf.o: $(BENCH_DIR)/%.bpf.c
	$(call say,BPF)
	$(Q)mkdir -p $(@D)
	$(Q)$(CLANG) $(BPF_CFLAGS) -MMD -MP -c -o $@ $<
	$(Q)llvm-strip -g $@

$(BENCH_OBJ)/%.o: $(BENCH_DIR)/%.c
	$(call say,CC)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) -Itests/scenarios -MMD -MP -c -o $@ $<

# .incbin looks below the build folder for what was built, and here for the script.
$(BENCH_OBJ)/embed.o: $(BENCH_DIR)/embed.S $(BENCH_OBJ)/floor.bpf.o $(BENCH_DIR)/same.bt
	$(call say,AS)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) -Wa,-I$(BUILD) -c -o $@ $<

$(BUILD)/tests/guest/regcost: $(BENCH_OBJS) $(BENCH_DAEMON) $(SCENARIO_LIB)
	$(call say,LINK)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) -o $@ $^ $(shell $(PKG_CONFIG) --libs libbpf) -libverbs

-include $(wildcard $(BENCH_OBJ)/*.d)
