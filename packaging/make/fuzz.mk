# Fuzzing with clang's libFuzzer. Every tests/fuzz/NAME_fuzz.cc is a target; comment lines in it say what it needs:
#   // link: protocol daemon/main/c*.cc   folders whose sources, and files, it links (without tests)
#   // libs: -lfoo                     libraries, if any
#   // seeds: tests/fuzz/NAME.py       a script that is called with the target's name and the folder for the seeds, if any
# tests/fuzz/corpus/NAME/ has a small corpus and every find ever made; build/fuzz/NAME/ then has the log of the run, what was found
# (finds) and what was learned (corpus), where the next run starts.
#
# `make test-fuzz`, a part of `make test`, needs no clang: it links each target with the objects of the product and
# tests/fuzz/replay.cc, and replays the corpus and the seeds. A target that no longer compiles, links or holds fails there.

FUZZ_SECONDS ?= 20
FUZZ_SHORT_SECONDS ?= 30
FUZZ_RSS_MB ?= 1024
FUZZ_CXX ?= clang++
FUZZ_FLAGS := -std=c++20 -O1 -g -fno-omit-frame-pointer -fsanitize=address,undefined -fno-sanitize-recover=all
FUZZ_TARGETS := $(patsubst tests/fuzz/%.cc,%,$(wildcard tests/fuzz/*_fuzz.cc))

# $(call fuzz-says,NAME,WORD): what the comment line `// WORD: ...` of a target says.
fuzz-says = $(shell sed -n 's,^// $(2): *,,p' tests/fuzz/$(1).cc)
fuzz-files = $(filter-out %_test.cc,$(wildcard $(filter %.cc,$(1)))) $(call sources,$(filter-out %.cc,$(1)))
# $(call fuzz-objects,NAME,FOLDER): the objects of a target below build/FOLDER.
fuzz-objects = $(patsubst %.cc,$(BUILD)/$(2)/%.o,tests/fuzz/$(1).cc $(call fuzz-files,$(call fuzz-says,$(1),link)))
# $(call fuzz-seeds,NAME,FOLDER): writes the seeds of a target.
fuzz-seeds = $(if $(call fuzz-says,$(1),seeds),$(PYTHON) -B $(call fuzz-says,$(1),seeds) $(1) $(2))

$(BUILD)/fuzz/obj/%.o: %.cc | $(call packages,FUZZ) $(call packages,BUILD) $(call packages,TEST)
	@mkdir -p $(@D)
	$(call say,FUZ,$<)$(FUZZ_CXX) $(CPPFLAGS) $(FUZZ_FLAGS) -fsanitize=fuzzer-no-link -MMD -MP -c -o $@ $<

define fuzz-target
$(BUILD)/fuzz/$(1)/$(1): $$(call fuzz-objects,$(1),fuzz/obj)
	@mkdir -p $$(@D)
	$$(call say,LD ,$$@)$$(FUZZ_CXX) $$(FUZZ_FLAGS) -fsanitize=fuzzer -o $$@ $$^ $$(call fuzz-says,$(1),libs)

$(BUILD)/replay/$(1): $$(call fuzz-objects,$(1),obj) $(BUILD)/obj/tests/fuzz/replay.o
	@mkdir -p $$(@D)
	$$(call say,LD ,$$@)$$(CXX) $$(CXXFLAGS) $$(LDFLAGS) -o $$@ $$^ $$(call fuzz-says,$(1),libs)

.PHONY: fuzz-$(1) replay-$(1)
fuzz-$(1): $(BUILD)/fuzz/$(1)/$(1)
	@mkdir -p $(BUILD)/fuzz/$(1)/{seeds,corpus,finds}
	@$$(call fuzz-seeds,$(1),$(BUILD)/fuzz/$(1)/seeds)
	@echo "fuzz: $(1) for $$(FUZZ_SECONDS) s"
	@$$< -max_total_time=$$(FUZZ_SECONDS) -timeout=10 -rss_limit_mb=$$(FUZZ_RSS_MB) -print_final_stats=1 \
	  -artifact_prefix=$(BUILD)/fuzz/$(1)/finds/ $(BUILD)/fuzz/$(1)/corpus $(BUILD)/fuzz/$(1)/seeds tests/fuzz/corpus/$(1) \
	  > $(BUILD)/fuzz/$(1)/log 2>&1 || { tail -n 60 $(BUILD)/fuzz/$(1)/log; exit 1; }
	@sed -n 's,^stat::number_of_executed_units: *,fuzz: $(1): nothing found; executions: ,p' $(BUILD)/fuzz/$(1)/log

replay-$(1): $(BUILD)/replay/$(1) | $(call packages,TEST)
	@rm -rf $(BUILD)/replay/$(1).seeds; mkdir -p $(BUILD)/replay/$(1).seeds
	@$$(call fuzz-seeds,$(1),$(BUILD)/replay/$(1).seeds)
	@$$< tests/fuzz/corpus/$(1) $(BUILD)/replay/$(1).seeds && echo '1 passed, 0 failed' || { echo '0 passed, 1 failed'; exit 1; }
endef
$(foreach target,$(FUZZ_TARGETS),$(eval $(call fuzz-target,$(target))))

.PHONY: fuzz fuzz-short test-fuzz
fuzz: $(addprefix fuzz-,$(FUZZ_TARGETS)) ## run every fuzz target for FUZZ_SECONDS (20)

fuzz-short: ## run every fuzz target for 30 s (FUZZ_SHORT_SECONDS=)
	@$(PART) FUZZ_SECONDS=$(FUZZ_SHORT_SECONDS) fuzz

test: $(patsubst %,$(BUILD)/replay/%,$(FUZZ_TARGETS))
test-fuzz: $(addprefix replay-,$(FUZZ_TARGETS)) ## replay the corpus of every fuzz target (no clang needed)

-include $(shell find $(BUILD)/fuzz/obj -name '*.d' 2>/dev/null)
