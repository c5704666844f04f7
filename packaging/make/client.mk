# The client library's own proofs: the ABI is what seqd.h says, and the examples compile against the shared library with the
# flags of a stranger. `make test-adapters` runs them first.

EXAMPLES := $(BUILD)/examples/next-c $(BUILD)/examples/next-cc $(BUILD)/examples/blocks-c
# As the compiler of somebody else would see them; only a sanitizer has to be the library's.
STRANGER := -Wall -Wextra -pedantic -Werror -Iclient-lib $(if $(SAN),-fsanitize=$(SAN)) -Wl,-rpath,$(abspath $(BUILD))

# seqctl's tests need seqctl's parts; all but its main.
$(BUILD)/adapter-tests: $(filter-out $(BUILD)/obj/client-lib/seqctl/main.o,$(SEQCTL))

$(BUILD)/examples/next-c: client-lib/examples/next.c client-lib/seqd.h $(BUILD)/$(LIBSEQD_SONAME)
	@mkdir -p $(@D)
	$(CC) -std=c11 $(STRANGER) -o $@ $< $(LIBSEQD_SO)

$(BUILD)/examples/next-cc: client-lib/examples/next.cc client-lib/seqd.hpp client-lib/seqd_result.hpp client-lib/seqd.h $(BUILD)/$(LIBSEQD_SONAME)
	@mkdir -p $(@D)
	$(CXX) -std=c++17 $(STRANGER) -o $@ $< $(LIBSEQD_SO)

$(BUILD)/examples/blocks-c: client-lib/examples/blocks.c client-lib/seqd_blocks.h client-lib/seqd.h $(BUILD)/$(LIBSEQD_SONAME)
	@mkdir -p $(@D)
	$(CC) -std=c11 -pthread $(STRANGER) -o $@ $< $(LIBSEQD_SO)

.PHONY: test-client
test-client: $(LIBSEQD_SO) $(EXAMPLES) ## libseqd's ABI and examples
	client-lib/check-abi.sh $(LIBSEQD_SO)

test-adapters: test-client

# tests/integration/clients/test_client_library.py and test_examples.py run them.
test-integration: $(EXAMPLES)
