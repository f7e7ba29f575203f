# SPDX-License-Identifier: BSD-2-Clause
# Manual pages, putting everything in its place, and the Debian package.

# The pages carry a date: that of the sources, so that two builds are the same to the byte.
SOURCES_DATE = $(or $(SOURCE_DATE_EPOCH),$(shell git log -1 --format=%ct 2>/dev/null || stat -c %Y VERSION))

MAN_PAGES := $(patsubst packaging/man/%.scd,$(BUILD)/man/%,$(wildcard packaging/man/*.scd))

.PHONY: man
man: $(MAN_PAGES)

$(BUILD)/man/%: packaging/man/%.scd
	$(call say,MAN)
	$(Q)mkdir -p $(@D)
	$(Q)SOURCE_DATE_EPOCH=$(SOURCES_DATE) scdoc <$< >$@

# --- make install ---------------------------------------------------------------------

PREFIX  ?= /usr
SBINDIR ?= $(PREFIX)/sbin
MANDIR  ?= $(PREFIX)/share/man
DATADIR ?= $(PREFIX)/share/pinwhy
UNITDIR ?= /lib/systemd/system
BASHDIR ?= $(PREFIX)/share/bash-completion/completions
ZSHDIR  ?= $(PREFIX)/share/zsh/site-functions
# pinwhy reads this one, wherever it is installed.
CONFIG  := /etc/pinwhy/pinwhy.conf

# mode:file:where it goes. Both install and uninstall follow this list.
INSTALLED := 755:$(BUILD)/pinwhy:$(SBINDIR)/pinwhy \
             644:$(BUILD)/pinwhy.service:$(UNITDIR)/pinwhy.service \
             644:packaging/completion/pinwhy.bash:$(BASHDIR)/pinwhy \
             644:packaging/completion/pinwhy.zsh:$(ZSHDIR)/_pinwhy \
             $(foreach page,$(MAN_PAGES),644:$(page):$(MANDIR)/man$(subst .,,$(suffix $(page)))/$(notdir $(page))) \
             $(foreach schema,$(wildcard schemas/*.json),644:$(schema):$(DATADIR)/$(schema))

$(BUILD)/pinwhy.service: packaging/pinwhy.service
	$(Q)mkdir -p $(@D)
	$(Q)sed 's|/usr/sbin/|$(SBINDIR)/|' $< >$@

.PHONY: install uninstall
install: all
	$(Q)$(MAKE) --no-print-directory -B $(BUILD)/pinwhy.service
	$(Q)packaging/place install '$(DESTDIR)' $(INSTALLED)
	$(Q)packaging/place keep '$(DESTDIR)' 644:packaging/pinwhy.conf:$(CONFIG)

# The configuration, reports and what else the service has written stay.
uninstall:
	$(Q)packaging/place remove '$(DESTDIR)' $(INSTALLED)

# --- Debian ---------------------------------------------------------------------------

.PHONY: deb
deb:
	$(Q)rm -rf $(BUILD)/deb
	$(Q)packaging/deb $(BUILD)/deb

# --- tests ----------------------------------------------------------------------------

check-man: man
	@tests/unit/check-man $(BUILD)

.PHONY: check-install check-completion check-kubernetes
check-install: all
	@tests/unit/check-install $(BUILD)

check-completion: all
	@tests/unit/check-completion $(BUILD)

check-kubernetes:
	@tests/unit/check-kubernetes $(BUILD)

# Builds the package three times, and a guest in which a clean Debian 12 takes it.
.PHONY: check-package
check-package: all guest-programs
	@tests/package/check $(BUILD)
