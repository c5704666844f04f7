# `make bench`: requests/s and latency beside Redis on a Unix socket. BENCH_ROUNDS= and BENCH_SECONDS= choose how long.

PACKAGES_BENCH += python3 python3-msgpack python3-pymongo valgrind

.PHONY: bench bench-instructions
bench: $(SEQD) $(BUILD)/tools/load $(BUILD)/tools/load_floor | $(call packages,BENCH) ## measure beside Redis (BENCH_ROUNDS=, BENCH_SECONDS=)
	@BUILD=$(BUILD) $(PYTHON) tests/bench/bench.py

bench-instructions: $(SEQD) $(BUILD)/tools/load | $(call packages,BENCH) ## instructions a request, by callgrind
	@BUILD=$(BUILD) $(PYTHON) tests/bench/instructions.py
