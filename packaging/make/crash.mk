# `make test-crash-states`: every state that a power cut could leave of the log, and a start from each.

CRASH_TESTS := $(call objects,$(wildcard tests/crash/*.cc) $(addprefix tests/unit/,main.cc memory_disk.cc small_daemon.cc))

$(BUILD)/crash-tests: $(CRASH_TESTS) $(PURE)
	$(call say,LD ,$@)$(CXX) $(CXXFLAGS) $(LDFLAGS) -o $@ $^

.PHONY: test-crash-states
CRASH_STATES ?= 100000
test-crash-states: $(BUILD)/crash-tests ## what a power cut can leave of the log: CRASH_STATES= (100,000) states, and a start from each
	CRASH_STATES=$(CRASH_STATES) $(BUILD)/crash-tests
