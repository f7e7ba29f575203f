# SPDX-License-Identifier: BSD-2-Clause
# What packaging/btf-pack needs.

.PHONY: btf-pack-programs

$(BUILD)/btf/facts.bpf.o: packaging/btf/facts.bpf.c
	$(call say,BPF)
	$(Q)mkdir -p $(@D)
	$(Q)$(CLANG) $(BPF_CFLAGS) -MMD -MP -c -o $@ $<
	$(Q)llvm-strip -g $@

$(BUILD)/btf/stamp: packaging/btf/stamp.c $(BUILD)/daemon/btfpack.o
	$(call say,LINK)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(shell pkg-config --libs libbpf libelf)

btf-pack-programs: $(BUILD)/btf/stamp $(BUILD)/btf/facts.bpf.o $(BPF_OBJ)

-include $(BUILD)/btf/facts.bpf.d
