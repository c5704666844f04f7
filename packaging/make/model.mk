# `make model`: the rules of crash safety as Spin models, searched to the end, and mutants of them that have to fail; one line a
# run (tests/model/runs.txt). `make mutants`: the same shortcuts in the C++ code; the tests have to notice each (tests/mutants).

PACKAGES_MODEL := spin gcc libc6-dev python3
PACKAGES_MUTANTS := patch python3 strace

# The mutants to apply; all when empty.
M ?=

.PHONY: model test-model mutants lint-mutants
model: | $(call packages,MODEL) ## all Spin models and their mutants; a few minutes, below 3 GB
	@$(PYTHON) -B tests/model/models.py build/model

test-model: | $(call packages,MODEL) ## the quick ones of them, as in `make test`
	@$(PYTHON) -B tests/model/models.py build/model --quick

mutants: $(BUILD)/unit-tests $(BUILD)/adapter-tests $(BUILD)/sim $(SEQD) $(SEQCTL_BIN) | $(call packages,MUTANTS) $(call packages,TEST) ## break the rules in the code one by one (M=name: one): the tests must notice
	@$(PYTHON) -B tests/mutants/mutants.py $(M)

lint-mutants: | $(call packages,MUTANTS)
	@$(PYTHON) -B tests/mutants/mutants.py --check
