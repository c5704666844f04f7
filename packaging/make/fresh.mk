# `make test-fresh-machine`: a minimal Debian 12 with nothing but make and git, a clone, `make run`, an ID, `make test`; and once
# more on one core beside a busy neighbour. It fetches all packages, and takes an hour and more. Needs root.
# FRESH_TESTS= chooses other targets than test, FRESH_PACES= quick or slow alone.

PACKAGES_FRESH := mmdebstrap systemd-container git util-linux

FRESH_TESTS ?= test
FRESH_PACES ?= quick slow

.PHONY: test-fresh-machine
test-fresh-machine: | $(call packages,FRESH) ## what the README says, on a minimal Debian 12 of its own (needs root)
	@for pace in $(FRESH_PACES); do tests/fresh/run.sh $$pace $(FRESH_TESTS) || exit; done
