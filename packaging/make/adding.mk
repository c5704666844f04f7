# `make test-adding`: whether the lists of HACKING.md say all that has to be written to add something.

.PHONY: test-adding
test-adding: | $(call packages,BUILD) $(call packages,TEST) ## follow the lists of "Adding things" with a dummy of each; builds all
	$(PYTHON) -B tests/adding/adding.py $(BUILD)/adding
