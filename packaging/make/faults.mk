# `make test-fault F=S9`: the tests that show one row of the failure matrix; tests/FAULTS.md is the table.

F ?=

.PHONY: test-fault lint-faults
test-fault: $(if $(F),$(shell $(PYTHON) -B tests/fault.py $(BUILD) --programs $(F))) | $(call packages,TEST) ## the tests of one row of tests/FAULTS.md (F=S9)
	@[ -n "$(F)" ] || { echo "which row? make test-fault F=S9" >&2; exit 2; }
	@$(PYTHON) -B tests/fault.py $(BUILD) $(F)

lint-faults: | $(call packages,TEST)
	@$(PYTHON) -B tests/fault.py --check

