# SPDX-License-Identifier: BSD-2-Clause
# Programs of tests/scenarios for the guests: tests/vm/image ships what lies in $(BUILD)/tests/guest.

BUILD ?= build
CC ?= cc
SCENARIO_DIR := tests/scenarios
SCENARIO_OBJ := $(BUILD)/tests/scenarios
SCENARIO_CFLAGS ?= -std=gnu11 -D_GNU_SOURCE -O2 -g -Wall -Wextra -Wformat=2 -Wshadow -Werror

# A program is a .c file with a main of its own; all else is shared.
SCENARIO_MAINS := regmr badreg holder stuckreg storm slowdev_main dropcap progruns quiet staleops edges overflow patient orderings armed foresee decode
SCENARIO_PROGRAMS := $(patsubst %,$(BUILD)/tests/guest/%,$(patsubst %_main,%,$(SCENARIO_MAINS)))
SCENARIO_SHARED := $(filter-out $(SCENARIO_MAINS),$(patsubst $(SCENARIO_DIR)/%.c,%,$(wildcard $(SCENARIO_DIR)/*.c)))
SCENARIO_LIB := $(SCENARIO_OBJ)/libscenario.a

.PHONY: scenarios

scenarios: $(SCENARIO_PROGRAMS)

$(SCENARIO_OBJ)/%.o: $(SCENARIO_DIR)/%.c
	@mkdir -p $(@D)
	$(CC) $(SCENARIO_CFLAGS) -MMD -MP -c -o $@ $<

$(SCENARIO_LIB): $(SCENARIO_SHARED:%=$(SCENARIO_OBJ)/%.o)
	@rm -f $@
	$(AR) rcs $@ $^

define scenario_program
$(BUILD)/tests/guest/$(patsubst %_main,%,$(1)): $(SCENARIO_OBJ)/$(1).o $(SCENARIO_LIB)
	@mkdir -p $$(@D)
	$$(CC) $$(SCENARIO_CFLAGS) -o $$@ $$^ -Wl,--as-needed -libverbs -pthread
endef
$(foreach main,$(SCENARIO_MAINS),$(eval $(call scenario_program,$(main))))

-include $(wildcard $(SCENARIO_OBJ)/*.d)
