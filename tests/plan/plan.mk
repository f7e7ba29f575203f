# SPDX-License-Identifier: BSD-2-Clause
# The hook plan of kernels that do not run here: `check-plan` compares with the tables that guests made.

PLAN_REDUCE := $(BUILD)/tests/plan/reduce

.PHONY: check-plan plan-programs

$(PLAN_REDUCE): tests/plan/reduce.c $(filter-out $(BUILD)/daemon/main.o,$(OBJ))
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(LDLIBS)

plan-programs: $(PLAN_REDUCE)

check-plan: all
	@tests/plan/check $(BUILD)
