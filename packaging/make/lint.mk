# `make lint`: format, clang-tidy, the project's own rules, scripts and units. `make format` mends what can be mended.
# clang-tidy takes half an hour for all sources, so lint-tidy looks at those that differ from the commit in tests/lint/tidied,
# at which all were good. lint-tidy-all looks at all of them, as a release needs.

PACKAGES_LINT += python3 clang-tidy

ALL_FOLDERS := $(foreach folder,protocol $(wildcard daemon/*) client-lib,$(call rooms,$(folder))) tests/*
FORMATTED = $(wildcard $(foreach suffix,h hpp c cc,$(addsuffix /*.$(suffix),$(ALL_FOLDERS))))
TIDIED = $(filter-out tests/fuzz/% tests/bench/%,$(wildcard $(addsuffix /*.cc,$(ALL_FOLDERS))))
SCRIPTS = .ci/run $(wildcard packaging/*.sh packaging/completion/* tests/*/*.sh)
TIDY_STAMPS = $(patsubst %.cc,build/lint/%.tidy,$(TIDIED))
LINT_QUICK := lint-format lint-rules lint-documentation lint-generated lint-scripts lint-units lint-man lint-mutants lint-faults

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
	@$(PYTHON) -B tests/lint/state_machines.py
	@$(PYTHON) -B tests/lint/words.py
	@$(PYTHON) -B tests/lint/links.py

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

lint-tidy: | $(call packages,LINT)
	@names=$$($(PYTHON) -B tests/lint/changed.py) || exit; \
	  MAKEFLAGS= $(MAKE) --no-print-directory --keep-going BUILD=$(BUILD) lint-tidy-these TIDIED="$$(tr '\n' ' ' <<<"$$names")"

.PHONY: lint-tidy-all lint-tidy-these
lint-tidy-all: lint-tidy-these ## clang-tidy on every source: half an hour

lint-tidy-these: $(TIDY_STAMPS)
	@echo "tidy: good, $(words $(TIDY_STAMPS)) sources"

build/lint/%.tidy: %.cc .clang-tidy $(wildcard $(foreach suffix,h hpp def,$(addsuffix /*.$(suffix),$(ALL_FOLDERS)))) \
    | $(call packages,LINT) $(call packages,BUILD) $(call packages,TEST)
	@mkdir -p $(@D)
	@clang-tidy --quiet $< -- $(CPPFLAGS) -Iclient-lib -std=c++20 $(WARNINGS) -Wno-unknown-warning-option >$@.log 2>&1 || \
	  { grep -vE '^[0-9]+ warnings|^Suppressed|^Use -header-filter' $@.log; exit 1; }
	@touch $@
