# SPDX-License-Identifier: BSD-2-Clause
# Manual pages, and putting everything in its place.

# The pages carry a date: that of the sources, so that two builds are the same to the byte.
SOURCES_DATE = $(or $(SOURCE_DATE_EPOCH),$(shell git log -1 --format=%ct 2>/dev/null || stat -c %Y VERSION))

MAN_PAGES := $(patsubst packaging/man/%.scd,$(BUILD)/man/%,$(wildcard packaging/man/*.scd))

.PHONY: man
man: $(MAN_PAGES)

$(BUILD)/man/%: packaging/man/%.scd
	$(call say,MAN)
	$(Q)mkdir -p $(@D)
	$(Q)SOURCE_DATE_EPOCH=$(SOURCES_DATE) scdoc <$< >$@

PREFIX ?= /usr
.PHONY: install
install: all
	install -D -m 755 $(BUILD)/pinwhy $(DESTDIR)$(PREFIX)/sbin/pinwhy
	for page in $(MAN_PAGES); do install -D -m 644 $$page $(DESTDIR)$(PREFIX)/share/man/man$${page##*.}/$${page##*/} || exit; done
	install -D -m 644 packaging/pinwhy.service $(DESTDIR)/lib/systemd/system/pinwhy.service
	[ -e $(DESTDIR)/etc/pinwhy/pinwhy.conf ] || install -D -m 644 packaging/pinwhy.conf $(DESTDIR)/etc/pinwhy/pinwhy.conf

check-man: man
	@tests/unit/check-man $(BUILD)
