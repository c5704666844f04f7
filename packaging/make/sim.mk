# The deterministic simulator: the real core, log, start rules and methods in a world where everything else is made up and
# goes wrong. `make sim SEED=n` runs one world again, `make soak EVENTS=n` as many as it takes.

SEED ?= 1
EVENTS ?= 100000000
SIM_EVENTS ?= 30000000

SIM := $(call objects,$(wildcard tests/sim/*.cc tests/sim/*/*.cc) $(addprefix tests/unit/,world.cc virtual_time.cc memory_log.cc \
  scripted_store.cc memory_disk.cc memory_pages.cc))

$(BUILD)/sim: $(SIM) $(PURE)
	$(call say,LD ,$@)$(CXX) $(CXXFLAGS) $(LDFLAGS) -o $@ $^

.PHONY: sim soak test-sim
sim: $(BUILD)/sim ## simulate one world, SEED= (1); V=1 prints every event
	$(BUILD)/sim --seed $(SEED) $(if $(filter 1,$(V)),--verbose)

soak: $(BUILD)/sim ## simulate worlds nobody has seen until there were EVENTS= events
	$(BUILD)/sim --events $(EVENTS) --from $$(( $$(date +%s) * 1000 ))

test-sim: $(BUILD)/sim ## simulate SIM_EVENTS= (30,000,000) events, always the same
	$(BUILD)/sim --events $(SIM_EVENTS)
