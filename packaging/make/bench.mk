# `make bench`: requests/s and latency beside Redis on a Unix socket. BENCH_ROUNDS= and BENCH_SECONDS= choose how long.

PACKAGES_BENCH += python3 python3-msgpack python3-pymongo valgrind libhiredis-dev

.PHONY: bench bench-hosts bench-instructions
bench: $(SEQD) $(BUILD)/tools/load $(BUILD)/tools/load_floor $(BUILD)/bench/library_load | $(call packages,BENCH) ## measure beside Redis (BENCH_ROUNDS=, BENCH_SECONDS=)
	@BUILD=$(BUILD) $(PYTHON) tests/bench/bench.py

bench-instructions: $(SEQD) $(BUILD)/tools/load | $(call packages,BENCH) ## instructions a request, by callgrind
	@BUILD=$(BUILD) $(PYTHON) tests/bench/instructions.py

bench-hosts: $(SEQD) | $(call packages,BENCH) ## many daemons on one counter of a replica set (BENCH_HOSTS=, BENCH_RANGES=, BENCH_MODES=)
	@BUILD=$(BUILD) $(PYTHON) tests/bench/hosts.py
.PHONY: bench-loop
bench-loop: $(SEQD) | $(call packages,BENCH) ## how long the loop is held up by 100,000 sequences and 10,000 connections
	@BUILD=$(BUILD) $(PYTHON) tests/bench/loop.py
.PHONY: bench-sequences
bench-sequences: $(SEQD) | $(call packages,BENCH) ## memory of a sequence that rests, and the time to READY (SEQUENCES_COUNTS=, SEQUENCES_STARTS=)
	@BUILD=$(BUILD) $(PYTHON) tests/bench/sequences.py

$(BUILD)/bench/library_load: tests/bench/library_load.cc $(LIBSEQD_A) | $(call packages,BENCH)
	@mkdir -p $(@D)
	$(call say,LD ,$@)$(CXX) $(CPPFLAGS) $(CXXFLAGS) $(OPTIMIZED) $(LDFLAGS) -o $@ $^ -lhiredis
