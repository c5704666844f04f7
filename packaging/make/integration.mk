# `make test-integration`: the daemon as a whole, over its socket, on real stores. T= chooses one file (T=restart runs
# test_restart.py, in whichever folder) and K= tests by name. `make test-kill KILLS=20000` is the long soak of kill -9, `make
# test-power-cuts CUTS=500` that of power cuts, which needs root and loop devices.

T ?=
K ?=
KILLS ?= 2000
CUTS ?= 20

INTEGRATION_BINARIES := $(SEQD) $(SEQCTL_BIN) $(BUILD)/tools/kill_client $(BUILD)/tools/block_client
INTEGRATION = BUILD=$(BUILD) KILLS=$(KILLS) CUTS=$(CUTS) PYTHONDONTWRITEBYTECODE=1 $(PYTHON) -m pytest -p no:cacheprovider -q -ra --durations=0 --durations-min=3

.PHONY: test-integration test-kill test-block-kills test-power-cuts
# Most of the time is waiting, so several lanes take the files from one queue; what one file has started no other sees.
LANES ?= 8
# $(call integration-file,NAME): test_NAME.py, where it lies; pytest says what is wrong with a name that is none.
integration-file = $(or $(wildcard tests/integration/test_$(1).py tests/integration/*/test_$(1).py),tests/integration/test_$(1).py)
test-integration: $(INTEGRATION_BINARIES) | $(call packages,TEST) ## the daemon on real stores (T=restart: one file, K=text: by name)
	@$(INTEGRATION) $(if $(T)$(K),$(if $(K),-k '$(K)'),-n $(LANES) --dist=loadfile) $(if $(T),$(call integration-file,$(T)),tests/integration)

.PHONY: golden
golden: $(SEQD) | $(call packages,TEST) ## what this version leaves behind, for the tests of later ones: tests/golden/VERSION; once a release
	@[ ! -e tests/golden/$(VERSION)/golden.json ] || ! git rev-parse -q --verify 'refs/tags/v$(VERSION)' >/dev/null || \
	  { echo "tests/golden/$(VERSION) is released: it stays as it is" >&2; exit 1; }
	@$(PYTHON) -B tests/golden/make.py $(SEQD)

test-kill: $(INTEGRATION_BINARIES) | $(call packages,TEST) ## kill -9 under load, KILLS= times
	@$(INTEGRATION) -s -k KillUnderLoad tests/integration/faults/test_restart.py

BLOCK_KILLS ?= 500
test-block-kills: $(INTEGRATION_BINARIES) | $(call packages,TEST) ## kill -9 of programs with blocks and of the daemon, BLOCK_KILLS= times
	@BLOCK_KILLS=$(BLOCK_KILLS) $(INTEGRATION) -s -k MixedKills tests/integration/clients/test_blocks.py

test-power-cuts: $(INTEGRATION_BINARIES) | $(call packages,TEST) ## power cuts on a real ext4 under load, CUTS= times (needs root)
	@$(INTEGRATION) -k PowerCutUnderLoad tests/integration/faults/test_power_cuts.py
