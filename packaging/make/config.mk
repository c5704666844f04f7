# The manual pages of seqd hold lists that are made from the tables of options and errors; and what is checked in although it
# is made (the sample, the journal's catalogue) is compared with its source.

# $(call made-page,LIST,PLACE): the page with the line @PLACE@ replaced by what `seqd --print-options=LIST` says.
define made-page
	@mkdir -p $(@D)
	$(SEQD) --print-options=$(1) >$@.list
	set -o pipefail; sed -e '/^@$(2)@$$/{r $@.list' -e 'd}' $< | scdoc | gzip -9n >$@
	@rm -f $@.list
endef

$(BUILD)/stage/seqd.8.gz: packaging/man/seqd.8.scd $(SEQD) | $(call packages,INSTALL)
	$(call made-page,errors,ERRORS)

$(BUILD)/stage/seqd.toml.5.gz: packaging/man/seqd.toml.5.scd $(SEQD) | $(call packages,INSTALL)
	$(call made-page,scdoc,OPTIONS)

.PHONY: lint-generated
lint-generated: $(SEQD) $(BUILD)/stage/seqd.8.gz $(BUILD)/stage/seqd.toml.5.gz ## compare what is made from tables with what is checked in
	@$(SEQD) --print-options=sample | diff -u packaging/seqd.toml - || \
	  { echo "packaging/seqd.toml is not what the table of options says: make sample" >&2; exit 1; }
	@$(SEQD) --print-catalog | diff -u packaging/systemd/seqd.catalog - || \
	  { echo "packaging/systemd/seqd.catalog is not what the list of events says: make catalog" >&2; exit 1; }
	@$(SEQD) --check --config packaging/seqd.toml >/dev/null
