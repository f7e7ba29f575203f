# SPDX-License-Identifier: BSD-2-Clause
# HTTP of the real daemon, which serves a recording: curl, abuse, many scrapers, and the status page in a browser.

WEB_DIR   := $(BUILD)/tests/web
WEB_ABUSE ?= 1000

.PHONY: check-http check-web

# The daemon with ASan and UBSan, so that a leak or a wild read is seen.
$(UNIT_DIR)/pinwhy: $(UNIT_DIR)/daemon/main.o $(UNIT_DIR)/libpinwhy.a
	$(Q)$(CC) $(UNIT_FLAGS) -o $@ $^ $(filter-out -lcmocka,$(UNIT_LIBS))

$(WEB_DIR)/%: tests/web/%.c
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) -o $@ $< -lcrypt

check-http: $(UNIT_DIR)/pinwhy $(WEB_DIR)/abuse $(WEB_DIR)/bcrypt $(BUILD)/tests/guest/scrape
	@tests/web/run $(BUILD) $(UNIT_DIR)/pinwhy $(WEB_ABUSE)

# In a browser: not part of check-quick.
check-web: $(BUILD)/pinwhy $(WEB_DIR)/bcrypt
	@tests/web/browse $(BUILD)
