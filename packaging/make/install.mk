# `make install DESTDIR= PREFIX=` and `make uninstall`. Both read the same list, so that what comes also goes.

BINDIR ?= $(PREFIX)/bin
SBINDIR ?= $(PREFIX)/sbin
LIBDIR ?= $(PREFIX)/lib
# Where the daemon looks for its modules, seen from SBINDIR: ../lib/seqd.
MODULEDIR := $(abspath $(SBINDIR)/../lib/seqd)
INCLUDEDIR ?= $(PREFIX)/include
MANDIR ?= $(PREFIX)/share/man
SYSCONFDIR ?= /etc
UNITDIR ?= $(PREFIX)/lib/systemd/system
SYSUSERSDIR ?= $(PREFIX)/lib/sysusers.d
TMPFILESDIR ?= $(PREFIX)/lib/tmpfiles.d
CATALOGDIR ?= $(PREFIX)/lib/systemd/catalog
COMPLETIONDIR ?= $(PREFIX)/share/bash-completion/completions
ZSHDIR ?= $(PREFIX)/share/zsh/site-functions
FISHDIR ?= $(PREFIX)/share/fish/vendor_completions.d
DOCDIR ?= $(PREFIX)/share/doc/seqd

STAGE := $(BUILD)/stage
MAN_SOURCES := $(wildcard packaging/man/*.scd)
MAN_PAGES := $(patsubst packaging/man/%.scd,$(STAGE)/%.gz,$(MAN_SOURCES))
HEADERS := $(addprefix client-lib/,seqd.h seqd_blocks.h seqd_codes.h seqd.hpp seqd_blocks.hpp seqd_result.hpp)
CATALOG := packaging/systemd/seqd.catalog
MONITORING := $(addprefix packaging/monitoring/,seqd.rules.yml seqd-dashboard.json)
CONTAINERS := $(addprefix packaging/containers/,Containerfile sidecar.yaml daemonset.yaml)

$(STAGE)/%.gz: packaging/man/%.scd | $(call packages,INSTALL)
	@mkdir -p $(@D)
	scdoc <$< | gzip -9n >$@

# Documents: source=place in DOCDIR. Their links are made to lead there.
DOCUMENTS := $(foreach document,README.md CHANGELOG.md LICENSE protocol/PROTOCOL.md \
  $(addprefix daemon/doc/,CONTAINERS.md GLOSSARY.md MIGRATION.md OPERATING.md SEQUENCES.md STORES.md),$(document)=$(notdir $(document)))
BESIDE_DOCUMENTS := packaging/seqd.toml=seqd.toml packaging/monitoring=monitoring $(foreach file,$(CONTAINERS),$(file)=containers/$(notdir $(file)))
source_of = $(firstword $(subst =, ,$(1)))
place_of = $(lastword $(subst =, ,$(1)))
STAGED_DOCUMENTS := $(foreach document,$(DOCUMENTS),$(STAGE)/doc/$(call place_of,$(document)))

define stage_document
$(STAGE)/doc/$(call place_of,$(1)): $(call source_of,$(1)) packaging/make/installed-document.pl
	@mkdir -p $$(@D)
	@packaging/make/installed-document.pl $$< $(DOCUMENTS) $(BESIDE_DOCUMENTS) >$$@
endef
$(foreach document,$(DOCUMENTS),$(eval $(call stage_document,$(document))))

UNITS := $(STAGE)/seqd.service $(STAGE)/seqd-purge@.service

$(UNITS): $(STAGE)/%: packaging/systemd/%.in
	@mkdir -p $(@D)
	sed 's,@bindir@,$(BINDIR),g; s,@sbindir@,$(SBINDIR),g' $< >$@

$(STAGE)/libseqd.pc: client-lib/libseqd.pc.in
	@mkdir -p $(@D)
	sed 's,@PREFIX@,$(PREFIX),g; s,@LIBDIR@,$(LIBDIR),g; s,@VERSION@,$(VERSION),g' $< >$@

# The directories are an argument of the build of these: made again each time, they are never those of another PREFIX.
.PHONY: $(UNITS) $(STAGE)/libseqd.pc

# Every installed file but the configuration: mode, source, destination.
INSTALLED = \
  0755:$(SEQD):$(SBINDIR)/seqd \
  $(foreach module,$(MODULES),0644:$(module):$(MODULEDIR)/$(notdir $(module))) \
  0755:$(SEQCTL_BIN):$(BINDIR)/seqctl \
  0644:$(LIBSEQD_SO):$(LIBDIR)/libseqd.so.$(VERSION) \
  0644:$(LIBSEQD_A):$(LIBDIR)/libseqd.a \
  0644:$(STAGE)/libseqd.pc:$(LIBDIR)/pkgconfig/libseqd.pc \
  $(foreach header,$(HEADERS),0644:$(header):$(INCLUDEDIR)/$(notdir $(header))) \
  $(foreach unit,$(UNITS),0644:$(unit):$(UNITDIR)/$(notdir $(unit))) \
  0644:packaging/systemd/seqd-purge@.timer:$(UNITDIR)/seqd-purge@.timer \
  0644:packaging/systemd/seqd.socket:$(UNITDIR)/seqd.socket \
  0644:packaging/systemd/sysusers.conf:$(SYSUSERSDIR)/seqd.conf \
  0644:packaging/systemd/tmpfiles.conf:$(TMPFILESDIR)/seqd.conf \
  0644:$(CATALOG):$(CATALOGDIR)/seqd.catalog \
  0644:packaging/completion/seqctl.bash:$(COMPLETIONDIR)/seqctl \
  0644:packaging/completion/seqctl.zsh:$(ZSHDIR)/_seqctl \
  0644:packaging/completion/seqctl.fish:$(FISHDIR)/seqctl.fish \
  0644:packaging/systemd/50-mongodb.conf:$(UNITDIR)/seqd.service.d/50-mongodb.conf \
  0644:packaging/systemd/50-dynamodb.conf:$(UNITDIR)/seqd.service.d/50-dynamodb.conf \
  0644:packaging/systemd/40-metrics-port.conf:$(DOCDIR)/40-metrics-port.conf \
  0644:packaging/seqd.toml:$(DOCDIR)/seqd.toml \
  $(foreach file,$(MONITORING),0644:$(file):$(DOCDIR)/monitoring/$(notdir $(file))) \
  $(foreach file,$(CONTAINERS),0644:$(file):$(DOCDIR)/containers/$(notdir $(file))) \
  $(foreach document,$(STAGED_DOCUMENTS),0644:$(document):$(DOCDIR)/$(notdir $(document))) \
  $(foreach page,$(MAN_PAGES),0644:$(page):$(MANDIR)/man$(subst .,,$(suffix $(basename $(page))))/$(notdir $(page)))
LINKS := $(LIBDIR)/$(LIBSEQD_SONAME) $(LIBDIR)/libseqd.so
CONFIG_FILE := $(SYSCONFDIR)/seqd/seqd.toml
# Small, so that an upgrade does not change it: where an administrator did, dpkg would ask which of the two is to stay.
CONFIG_TEMPLATE := packaging/etc/seqd.toml

# What is in the tree although a program could print it, so that it can be read there; `make lint` compares.
.PHONY: catalog sample
catalog: $(SEQD) ## write the message catalogue again, from the list of events
	$(SEQD) --print-catalog >$(CATALOG)

sample: $(SEQD) ## write the sample configuration again, from the table of options
	$(SEQD) --print-options sample >packaging/seqd.toml

.PHONY: install uninstall
install: all $(MAN_PAGES) $(UNITS) $(STAGED_DOCUMENTS) $(STAGE)/libseqd.pc ## install below DESTDIR and PREFIX (/usr)
	@set -e; for entry in $(INSTALLED); do \
	  IFS=: read -r mode from to <<<"$$entry"; \
	  install -D -m "$$mode" "$$from" "$(DESTDIR)$$to"; \
	done
	@for link in $(LINKS); do ln -sf libseqd.so.$(VERSION) "$(DESTDIR)$$link"; done
	@if [ -e "$(DESTDIR)$(CONFIG_FILE)" ]; then echo "$(CONFIG_FILE) is there already: it was left as it is"; \
	else install -D -m 0644 $(CONFIG_TEMPLATE) "$(DESTDIR)$(CONFIG_FILE)"; fi
	@if [ -z "$(DESTDIR)" ]; then \
	  echo "installed. Next, as root: ldconfig; systemd-sysusers; systemd-tmpfiles --create; journalctl --update-catalog;"; \
	  echo "  systemctl daemon-reload; systemctl enable --now seqd.socket"; \
	fi

uninstall: ## remove what install brought; a changed configuration and the state stay
	@for entry in $(INSTALLED); do rm -f "$(DESTDIR)$${entry##*:}"; done
	@rm -f $(addprefix $(DESTDIR),$(LINKS))
	@if cmp -s $(CONFIG_TEMPLATE) "$(DESTDIR)$(CONFIG_FILE)"; then \
	  rm -f "$(DESTDIR)$(CONFIG_FILE)"; rmdir --ignore-fail-on-non-empty "$(DESTDIR)$(dir $(CONFIG_FILE))"; \
	elif [ -e "$(DESTDIR)$(CONFIG_FILE)" ]; then echo "kept, because it was changed: $(CONFIG_FILE)"; fi
	@rmdir --ignore-fail-on-non-empty "$(DESTDIR)$(MODULEDIR)" "$(DESTDIR)$(UNITDIR)/seqd.service.d" "$(DESTDIR)$(DOCDIR)/monitoring" "$(DESTDIR)$(DOCDIR)/containers" "$(DESTDIR)$(DOCDIR)" 2>/dev/null || true
	@if [ -e "$(DESTDIR)/var/lib/seqd" ]; then echo "kept: /var/lib/seqd, the state (and the embedded store) of every sequence"; fi
