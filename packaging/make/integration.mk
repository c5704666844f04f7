# `make test-integration`: the daemon as a whole, over its socket, on real stores. T= chooses one file (T=restart runs
# test_restart.py, in whichever folder) and K= tests by name. `make test-kill KILLS=20000` is the long soak of kill -9, `make
# test-block-kills BLOCK_KILLS=20000` that with blocks, `make test-power-cuts CUTS=500` that of power cuts, which needs root and loop devices.

T ?=
K ?=
KILLS ?=
BLOCK_KILLS ?=
CUTS ?= 20
# Where nobody says it. Every kill is one of a process that works, so the short form lacks moments only.
KILLS_BY_ITSELF := 500
BLOCK_KILLS_BY_ITSELF := 100

INTEGRATION_BINARIES := $(SEQD) $(SEQCTL_BIN) $(BUILD)/tools/kill_client $(BUILD)/tools/block_client
INTEGRATION = BUILD=$(BUILD) KILLS=$(or $(KILLS),$(KILLS_BY_ITSELF)) BLOCK_KILLS=$(or $(BLOCK_KILLS),$(BLOCK_KILLS_BY_ITSELF)) CUTS=$(CUTS) PYTHONDONTWRITEBYTECODE=1 $(PYTHON) -m pytest -p no:cacheprovider -q -ra --durations=0 --durations-min=3

.PHONY: test-integration test-kill test-block-kills test-power-cuts test-register-deaths
# Half of the time is waiting: workers beside each other take the files from one queue (tests/integration/workers.py). Each has servers of its
# own, up to 1 GiB.
WORKERS ?= $(shell echo $$(( $$(nproc) < 4 ? 3 * $$(nproc) : 12 )))
# $(call integration-file,NAME): test_NAME.py, where it lies; pytest says what is wrong with a name that is none.
integration-file = $(or $(wildcard tests/integration/test_$(1).py tests/integration/*/test_$(1).py),tests/integration/test_$(1).py)
test-integration: $(INTEGRATION_BINARIES) | $(call packages,TEST) ## the daemon on real stores (T=restart: one file, K=text: by name)
	@$(INTEGRATION) $(if $(T)$(K),$(if $(K),-k '$(K)'),-n $(WORKERS)) $(if $(T),$(call integration-file,$(T)),tests/integration)

.PHONY: golden
golden: $(SEQD) | $(call packages,TEST) ## what this version leaves behind, for the tests of later ones: tests/golden/VERSION; once a release
	@[ ! -e tests/golden/$(VERSION)/golden.json ] || ! git rev-parse -q --verify 'refs/tags/v$(VERSION)' >/dev/null || \
	  { echo "tests/golden/$(VERSION) is released: it stays as it is" >&2; exit 1; }
	@$(PYTHON) -B tests/golden/make.py $(SEQD)

test-kill: KILLS_BY_ITSELF := 2000
test-kill: $(INTEGRATION_BINARIES) | $(call packages,TEST) ## kill -9 under load, KILLS= times
	@$(INTEGRATION) -s -k KillUnderLoad tests/integration/faults/test_restart.py

test-block-kills: BLOCK_KILLS_BY_ITSELF := 500
test-block-kills: $(INTEGRATION_BINARIES) | $(call packages,TEST) ## kill -9 of programs with blocks and of the daemon, BLOCK_KILLS= times
	@$(INTEGRATION) -s -k MixedKills tests/integration/clients/test_blocks.py

test-register-deaths: $(INTEGRATION_BINARIES) | $(call packages,TEST) ## hosts die with a register on each store, DEATHS= times
	@DEATHS=$(or $(DEATHS),300) $(INTEGRATION) -s -k Documents tests/integration/stores/test_registers.py

test-power-cuts: $(INTEGRATION_BINARIES) | $(call packages,TEST) ## power cuts on a real ext4 under load, CUTS= times (needs root)
	@$(INTEGRATION) -k PowerCutUnderLoad tests/integration/faults/test_power_cuts.py
