# `make test`: every part of the tests, one plain line at the end. Each part can also be run alone; SAN= chooses a
# sanitizer for test-unit and test-adapters.

TEST_PROGRAMS := $(BUILD)/unit-tests $(BUILD)/crash-tests $(BUILD)/sim $(BUILD)/adapter-tests
# The parts are makes of their own, which share no jobs with this one and so get its settings word for word.
PART = $(MAKE) --no-print-directory BUILD=$(BUILD) SAN=$(SAN)
# Where nobody can look why a test on real servers failed: tests/integration/second_tries.py.
export TEST_TRIES ?= $(if $(CI),2,1)
# Targets one beside the other, each of which is shown whole when it has ended, to the last of them.
BESIDE = MAKEFLAGS= $(PART) --output-sync=target --keep-going

# Clients of other languages that `make test` tests. Where npm and the Go module proxy are out of reach: `make test TEST_CLIENTS=python`.
TEST_CLIENTS ?= node python go
# Packages are installed before anything runs: nothing waits for apt beside tests.
READY_CLIENTS := $(if $(filter node,$(TEST_CLIENTS)),$(NODE_MODULES)) $(if $(filter go,$(TEST_CLIENTS)),$(call packages,GO)) \
  $(if $(filter python,$(TEST_CLIENTS)),$(call packages,PYTHON))

# tests/integration/clients/test_examples.py
test-integration: $(READY_CLIENTS)

.PHONY: test test-unit test-adapters test-summary
# Nothing is printed after the closing line "N passed, N failed". What the parts need is built before them: those beside each other must
# not build the same. The first parts keep one core busy each; the last two wait for most of their time.
test: all $(TEST_PROGRAMS) $(TOOLS) $(OLD_CODE) $(EXAMPLES) $(PROMETHEUS)/bin/promtool $(READY_CLIENTS) | $(call packages,TEST) $(call packages,INSTALL) ## all tests; the last line says "N passed, N failed"
	@$(PYTHON) -B tests/summary.py \
	  'the summary itself' '$(PART) test-summary' \
	  'unit tests' '$(PART) test-unit' \
	  --beside 'models' '$(PART) test-model' \
	  'crash states' '$(PART) test-crash-states' \
	  --beside 'simulation' '$(PART) test-sim' \
	  'fuzz corpora' '$(PART) test-fuzz' \
	  'integration tests' '$(PART) test-integration' \
	  --beside 'adapters, service, clients of other languages' '$(PART) test-beside'

test-unit: $(BUILD)/unit-tests ## protocol, base, core, rpc and state: no server, no network, no clock
	$(BUILD)/unit-tests $(if $(SAN),$(SAN_TESTS))

# The tables of faults wait for most of their time, so they run beside the rest, each with servers of its own.
ADAPTER_SHARDS := [lease-faults] [return-faults] ~[lease-faults]~[return-faults]
test-adapters: $(BUILD)/adapter-tests | $(call packages,TEST) ## sockets, stores and the client library, with a real mongod and DynamoDB Local
	@$(BESIDE) --jobs=3 $(ADAPTER_SHARDS:%=adapter-shard/%)

# All of them wait for servers, a boot or each other more than they compute.
.PHONY: test-beside
test-beside: test-client $(BUILD)/adapter-tests | $(call packages,TEST) $(call packages,INSTALL)
	@$(BESIDE) --jobs=7 $(ADAPTER_SHARDS:%=adapter-shard/%) test-service $(TEST_CLIENTS:%=test-%)

adapter-shard/%:
	$(PYTHON) -B tests/integration/servers/with_mongo.py $(if $(findstring ~,$*),,--mongo-only) -- $(PYTHON) -B tests/catch_second_try.py $(BUILD)/adapter-tests '$*'

# Memory and undefined behaviour everywhere; races where there are threads. Not a part of `make test`: each builds everything
# once more. SAN_EVENTS= is how much the simulator plays, SAN_STATES= how many crash states are tried. Unit tests tagged
# [large] take up to minutes each then: test-sanitizers alone, which a release needs, has them, and more crash states.
SAN_EVENTS ?= 3000000
SAN_STATES ?= 300
SAN_TESTS ?= '~[large]'
# Where a kernel places memory at more random addresses than clang 14 knows of, its sanitizers do not start.
SANITIZED = MAKEFLAGS= $(shell setarch -R true 2>/dev/null && echo setarch -R) $(MAKE) --no-print-directory BUILD=$(BUILD)/san-$(1) SAN=$(2)

# $(call sanitized,DIRECTORY,SANITIZERS,PROGRAMS,PARTS): builds the programs in one go, then runs the parts as `make test` does.
define sanitized
	@$(call SANITIZED,$(1),$(2)) $(3:%=$(BUILD)/san-$(1)/%)
	@$(PYTHON) -B tests/summary.py $(foreach part,$(4),\
	  $(if $(filter test-crash-states,$(part)),--beside) '$(part) ($(2))' '$(call SANITIZED,$(1),$(2)) $(part) SIM_EVENTS=$(SAN_EVENTS) CRASH_STATES=$(SAN_STATES)')
endef

.PHONY: test-sanitizers test-asan test-asan-adapters test-tsan test-tsan-adapters
test-sanitizers: ## test-asan, test-asan-adapters, test-tsan, test-tsan-adapters
	@for part in test-asan test-asan-adapters test-tsan test-tsan-adapters; do MAKEFLAGS= SAN_TESTS= SAN_STATES=1000 $(MAKE) --no-print-directory $$part || exit; done

test-asan: ## unit tests, crash states, simulation under ASan + UBSan
	$(call sanitized,address-undefined,address$(comma)undefined,unit-tests crash-tests sim,test-unit test-crash-states test-sim)

test-asan-adapters: ## adapter tests under ASan + UBSan
	$(call sanitized,address-undefined,address$(comma)undefined,adapter-tests,test-adapters)

test-tsan: ## unit tests, crash states, simulation under TSan
	$(call sanitized,thread,thread,unit-tests crash-tests sim,test-unit test-crash-states test-sim)

test-tsan-adapters: ## adapter tests under TSan
	$(call sanitized,thread,thread,adapter-tests,test-adapters)

test-summary: | $(call packages,TEST)
	@$(PYTHON) -B tests/summary_test.py
