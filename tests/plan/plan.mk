# SPDX-License-Identifier: BSD-2-Clause
# The hook plan of kernels that do not run here: `check-plan` compares with the tables that guests made.

PLAN_PROGRAMS := $(BUILD)/tests/plan/reduce $(BUILD)/tests/plan/facts

.PHONY: check-plan plan-programs

$(PLAN_PROGRAMS): $(BUILD)/tests/plan/%: tests/plan/%.c $(filter-out $(BUILD)/daemon/main.o,$(OBJ))
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(LDLIBS)

plan-programs: $(PLAN_PROGRAMS)

check-plan: all plan-programs btf-pack-programs
	@tests/plan/check $(BUILD)

# For guests: packaging/btf-pack's folder there has the objects.
$(BUILD)/tests/guest/relocated: tests/plan/relocated.c $(BUILD)/daemon/corebtf.o
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(LDLIBS)

plan-programs: $(BUILD)/tests/guest/relocated
