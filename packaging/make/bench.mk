# `make bench`: IDs/s and latency beside the peers, in one run. `make bench-page`: the page of its figures. BENCH_ROUNDS= and
# BENCH_SECONDS= choose how long, BENCH_ROWS= what. `make bench-blocks`: the rows with blocks.

PACKAGES_BENCH += python3 python3-msgpack python3-pymongo python3-pip python3-matplotlib libcurl4 liblzma5 libssl3 valgrind libhiredis-dev \
  postgresql libpq-dev liblmdb-dev openjdk-17-jdk-headless maven util-linux

# Measurements that are named together run one after the other, in this order, whatever -j says.
MEASURED := $(filter bench bench-%,$(MAKECMDGOALS))
$(foreach n,1/2 2/3 3/4 4/5,$(if $(word $(notdir $(n)),$(MEASURED)),\
  $(eval $(word $(notdir $(n)),$(MEASURED)): | $(word $(patsubst %/,%,$(dir $(n))),$(MEASURED)))))

# A program for each peer, which links its library.
PEER_SOURCES := $(wildcard tests/bench/peers/*.cc)
PEERS := $(patsubst tests/bench/peers/%.cc,$(BUILD)/bench/peers/%,$(filter-out %/peer.cc,$(PEER_SOURCES)))
PEER_SHARED := $(call objects,tests/bench/peers/peer.cc)
PEER_LIBS_hiredis := -lhiredis
PEER_LIBS_postgresql := -lpq
PEER_LIBS_mongodb := -lmongoc-1.0 -lbson-1.0
PEER_LIBS_lmdb := -llmdb
PEER_LIBS_blocks := -pthread

$(call objects,$(PEER_SOURCES)): CPPFLAGS += -isystem /usr/include/postgresql
$(call objects,$(filter-out $(addprefix %/,peer.cc libseqd.cc blocks.cc flock.cc),$(PEER_SOURCES))): | $(call packages,BENCH)

$(BUILD)/bench/peers/%: $(BUILD)/obj/tests/bench/peers/%.o $(PEER_SHARED) $(LIBSEQD_A)
	@mkdir -p $(@D)
	$(call say,LD ,$@)$(CXX) $(CXXFLAGS) $(LDFLAGS) -o $@ $^ $(PEER_LIBS_$*)

# What callgrind counts needs no peer but libseqd: CI runs it.
PACKAGES_INSTRUCTIONS := python3 python3-msgpack python3-pymongo valgrind

.PHONY: bench bench-page lint-figures bench-hosts bench-instructions bench-loop bench-tails
bench: $(SEQD) $(BUILD)/tools/load $(BUILD)/tools/load_floor $(PEERS) | $(call packages,BENCH) ## measure beside the peers (BENCH_ROUNDS=, BENCH_SECONDS=, BENCH_ROWS=)
	@BUILD=$(BUILD) $(PYTHON) tests/bench/bench.py

# The figures of the page are checked in, so that it can be made again of them, all or those that were not measured since.
KEPT_FIGURES := daemon/doc/figures
measured_or_kept = $(if $(wildcard build/bench/$1),build/bench/$1,$(KEPT_FIGURES)/$1)
FIGURES ?= $(call measured_or_kept,latest.json)
TAILS ?= $(call measured_or_kept,tails.json)
bench-page: | $(call packages,BENCH) ## daemon/doc/PERFORMANCE.md of the last `make bench` and `make bench-tails` (FIGURES=, TAILS=)
	@$(PYTHON) -B tests/bench/page.py $(FIGURES) $(TAILS)

lint-figures: | $(call packages,LINT)
	@$(PYTHON) -B tests/bench/page_test.py -q
	@$(PYTHON) -B tests/bench/page.py --check

bench-instructions: $(SEQD) $(BUILD)/tools/load $(BUILD)/bench/peers/libseqd | $(call packages,INSTRUCTIONS) ## instructions a request, by callgrind
	@BUILD=$(BUILD) $(PYTHON) tests/bench/instructions.py

bench-hosts: $(SEQD) | $(call packages,BENCH) ## many daemons on one counter of a replica set (BENCH_HOSTS=, BENCH_RANGES=, BENCH_MODES=)
	@BUILD=$(BUILD) $(PYTHON) tests/bench/hosts.py

bench-loop: $(SEQD) | $(call packages,BENCH) ## how long the loop is held up by 100,000 sequences and 10,000 connections
	@BUILD=$(BUILD) $(PYTHON) tests/bench/loop.py

BLOCK_ROWS := block-* threads-[12]
.PHONY: bench-sequences bench-blocks bench-idle
bench-blocks: ## what an ID of a block takes, beside CosId (BENCH_ROUNDS=, BENCH_SECONDS=)
	@$(MAKE) --no-print-directory bench BENCH_ROWS="$(BLOCK_ROWS)"

bench-sequences: $(SEQD) | $(call packages,BENCH) ## memory of a sequence that rests, and the time to READY (SEQUENCES_COUNTS=, SEQUENCES_STARTS=)
	@BUILD=$(BUILD) $(PYTHON) tests/bench/sequences.py

bench-idle: $(SEQD) | $(call packages,BENCH) ## memory and wake-ups of an idle daemon, with SQLite and MongoDB (IDLE_SECONDS=)
	@BUILD=$(BUILD) $(PYTHON) -B tests/bench/idle.py

bench-tails: $(SEQD) $(BUILD)/tools/load | $(call packages,BENCH) ## the latest answers while something else goes on (BENCH_ROUNDS=, BENCH_SECONDS=)
	@BUILD=$(BUILD) $(PYTHON) -B tests/bench/tails.py
