# SPDX-License-Identifier: BSD-2-Clause
# Unit tests: one program per tests/unit/test_*.c, with ASan and UBSan, linked against
# everything but main. Each suite leaves a line "name passed failed skipped" in $(COUNTS).

COUNTS      ?= $(BUILD)/tests/counts
UNIT_DIR    := $(BUILD)/tests/unit
UNIT_FLAGS  := -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer -O1 -U_FORTIFY_SOURCE
UNIT_SRC    ?= $(filter-out daemon/main.c,$(wildcard daemon/*.c daemon/*/*.c))
UNIT_OBJ    := $(UNIT_SRC:daemon/%.c=$(UNIT_DIR)/daemon/%.o)
UNIT_TESTS  := $(patsubst tests/unit/%.c,%,$(wildcard tests/unit/test_*.c))
# What all tests share, and the incidents that prove each cause.
UNIT_SHARED := $(patsubst tests/unit/%.c,$(UNIT_DIR)/%.o,tests/unit/support.c $(wildcard tests/unit/prove_*.c))
UNIT_LIBS   := -lcmocka $(shell $(PKG_CONFIG) --libs libbpf json-c libmicrohttpd yaml-0.1 gnutls) -linih -lcrypt -lz
FUZZERS     := $(patsubst tests/fuzz/%.c,%,$(wildcard tests/fuzz/fuzz_*.c))
FUZZ_SRC    := $(addprefix daemon/,text.c wrap.c geometry.c names.c facts.c crosscheck.c decode.c pool.c join.c diagnose.c incident.c vmacheck.c unknown.c \
               report.c sections.c sections_facts.c sections_kernel.c container.c jbuild.c jread.c storm.c shelf.c pipeline.c pipeline_sums.c capture_read.c \
               explain.c steps.c steps_json.c) \
               $(wildcard daemon/causes/*.c)
FUZZ_RUNS   ?= 5000

.PHONY: check-unit check-replay check-fuzz unit-tests
.SECONDARY: $(UNIT_OBJ) $(UNIT_TESTS:%=$(UNIT_DIR)/%.o) $(UNIT_SHARED) $(UNIT_DIR)/synthetic.o

$(UNIT_DIR)/daemon/%.o: daemon/%.c
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) $(UNIT_FLAGS) -MMD -MP -c -o $@ $<

$(UNIT_DIR)/libpinwhy.a: $(UNIT_OBJ) $(BUILD)/daemon/objects.o
	$(Q)rm -f $@ && ar rcs $@ $^

$(UNIT_DIR)/%.o: tests/unit/%.c
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) $(UNIT_FLAGS) -Itests/unit -MMD -MP -c -o $@ $<

$(UNIT_DIR)/test_%: $(UNIT_DIR)/test_%.o $(UNIT_SHARED) $(UNIT_DIR)/libpinwhy.a
	$(Q)$(CC) $(UNIT_FLAGS) -o $@ $^ $(UNIT_LIBS)

# A stand-in for a library that only nodes with a GPU have.
$(UNIT_DIR)/standin_%.so: tests/unit/standin/%.c
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) -shared -fPIC -o $@ $<

$(UNIT_DIR)/test_enrich_waiting: | $(UNIT_DIR)/standin_nvml.so

unit-tests: $(UNIT_TESTS:%=$(UNIT_DIR)/%)

check-unit: unit-tests
	@tests/unit/run-suites $(BUILD) $(COUNTS) $(UNIT_TESTS:%=$(UNIT_DIR)/%)

# Written anew only when a capture's layout changes: the golden file then needs its reason in the commit.
$(UNIT_DIR)/synthetic: $(UNIT_DIR)/synthetic.o $(UNIT_SHARED) $(UNIT_DIR)/libpinwhy.a
	$(Q)$(CC) $(UNIT_FLAGS) -o $@ $^ $(UNIT_LIBS)

.PHONY: synthetic-capture
synthetic-capture: $(UNIT_DIR)/synthetic
	$(Q)rm -f tests/replay/captures/synthetic.capture
	$(Q)$(UNIT_DIR)/synthetic tests/replay/captures/synthetic.capture

check-replay: $(BUILD)/pinwhy
	@tests/replay/run $(BUILD) $(COUNTS)

$(BUILD)/tests/fuzz/%: tests/fuzz/%.c $(FUZZ_SRC)
	$(Q)mkdir -p $(@D)
	$(Q)$(CLANG) $(filter-out -Wmaybe-uninitialized,$(CFLAGS)) -U_FORTIFY_SOURCE \
		-fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all -o $@ $^ $(shell $(PKG_CONFIG) --libs json-c)

check-fuzz: $(FUZZERS:%=$(BUILD)/tests/fuzz/%)
	@tests/fuzz/run $(BUILD) $(COUNTS) $(FUZZ_RUNS) $(FUZZERS)

-include $(UNIT_OBJ:.o=.d) $(UNIT_TESTS:%=$(UNIT_DIR)/%.d) $(UNIT_SHARED:.o=.d) $(UNIT_DIR)/synthetic.d
