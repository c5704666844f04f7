# `make lint`: format, clang-tidy, the project's own rules, scripts and units. `make format` mends what can be mended.

PACKAGES_LINT += python3 python3-matplotlib clang-tidy

ALL_FOLDERS := $(foreach folder,protocol $(wildcard daemon/*) client-lib,$(call rooms,$(folder))) tests/* tests/*/*
FORMATTED = $(wildcard $(foreach suffix,h hpp c cc,$(addsuffix /*.$(suffix),$(ALL_FOLDERS))))
SCRIPTS = .ci/run $(wildcard packaging/*.sh packaging/completion/*.bash packaging/debian/*.p*rm packaging/debian/*.postinst packaging/debian/after-upgrade tests/*/*.sh client-lib/*/*.sh) \
  $(filter-out %/control,$(wildcard packaging/debian/tests/*))
LINT_QUICK := lint-format lint-rules lint-documentation lint-generated lint-scripts lint-units lint-man lint-mutants lint-faults lint-figures

.PHONY: lint lint-quick lint-tidy format $(LINT_QUICK)
lint: lint-quick lint-tidy ## format, clang-tidy, include directions, sizes, words, documentation, scripts, units
	@echo "lint: good"

lint-quick: $(LINT_QUICK) ## all of it but clang-tidy

format: | $(call packages,LINT) ## clang-format on every source
	@clang-format -i $(FORMATTED)

lint-format: | $(call packages,LINT)
	@clang-format --dry-run -Werror $(FORMATTED) && echo "format: good"

lint-rules: | $(call packages,LINT)
	@$(PYTHON) -B tests/lint/lint_test.py -q
	@$(PYTHON) -B tests/lint/includes.py
	@$(PYTHON) -B tests/lint/sizes.py
	@$(PYTHON) -B tests/lint/columns.py
	@$(PYTHON) -B tests/lint/state_machines.py
	@$(PYTHON) -B tests/lint/words.py
	@$(PYTHON) -B tests/lint/glossary.py
	@$(PYTHON) -B tests/lint/links.py
	@$(PYTHON) -B tests/lint/commits.py
	@$(PYTHON) -B tests/lint/decisions.py

# In step with the programs themselves: they are asked for their options, events and errors.
lint-documentation: $(SEQD) $(SEQCTL_BIN) | $(call packages,LINT)
	@$(PYTHON) -B tests/lint/documentation.py $(SEQD) $(SEQCTL_BIN)

lint-scripts: | $(call packages,LINT)
	@shellcheck -x $(SCRIPTS) && echo "scripts: good"

lint-units: $(SEQD) $(SEQCTL_BIN) | $(call packages,LINT)
	@tests/lint/units.sh $(BUILD)

lint-man: | $(call packages,LINT)
	@for page in packaging/man/*.scd; do scdoc <$$page >/dev/null || { echo "$$page: scdoc refuses it"; exit 1; }; done
	@echo "man: good"

lint-tidy: | $(call packages,LINT) $(call packages,BUILD) $(call packages,TEST) ## clang-tidy on every source
	@$(PYTHON) -B tests/lint/tidy.py $(CPPFLAGS) -Iclient-lib -std=c++20 $(WARNINGS) -Wno-unknown-warning-option
