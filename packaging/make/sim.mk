# The deterministic simulator: the real core, log, start rules and methods in a world where everything else is made up and
# goes wrong. `make sim SEED=n` runs one world again, `make soak EVENTS=n` as many as it takes. tests/sim/digest has what the first
# thousand worlds come to: a refactoring leaves it as it is, and a change of behaviour brings another (`make digest`).

SEED ?= 1
EVENTS ?= 100000000
SIM_EVENTS ?= 30000000

SIM := $(call objects,$(filter-out %_test.cc,$(wildcard tests/sim/*.cc tests/sim/*/*.cc)) $(addprefix tests/unit/,world.cc virtual_time.cc memory_log.cc \
  scripted_store.cc memory_disk.cc memory_pages.cc))

$(BUILD)/sim: $(SIM) $(PURE)
	$(call say,LD ,$@)$(CXX) $(CXXFLAGS) $(LDFLAGS) -o $@ $^

# A line for each hundred worlds.
DIGEST = seq 1 100 901 | xargs -P 2 -I{} $(BUILD)/sim --digest 100 --from {} --events 10000 | sort -n -k 2

.PHONY: sim soak test-sim digest test-digest
sim: $(BUILD)/sim ## simulate one world, SEED= (1); V=1 prints every event
	$(BUILD)/sim --seed $(SEED) $(if $(filter 1,$(V)),--verbose)

soak: $(BUILD)/sim ## simulate worlds nobody has seen until there were EVENTS= events
	$(BUILD)/sim --events $(EVENTS) --from $$(( $$(date +%s) * 1000 ))

test-sim: $(BUILD)/sim ## simulate SIM_EVENTS= (30,000,000) events, always the same
	$(BUILD)/sim --events $(SIM_EVENTS)

digest: $(BUILD)/sim ## write what the simulator's first worlds come to, after a change of behaviour
	@set -o pipefail; $(DIGEST) >$(BUILD)/digest && mv $(BUILD)/digest tests/sim/digest

test-digest: $(BUILD)/sim ## compare what they come to
	@set -o pipefail; $(DIGEST) | diff tests/sim/digest - || { echo 'digest: something behaves in another way; \
	where: build/sim --seed N --events 10000 --transcript of both builds; if it is meant: make digest'; exit 1; }
	@echo 'digest: the same'
