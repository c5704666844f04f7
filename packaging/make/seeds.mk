# build/old_code: the programs that handed out IDs before seqd, imitated (tests/seeds), for tests/integration/sequences/test_seeds.py
# and its like.
# A new file in the folder needs no registration.

OLD_CODE := $(BUILD)/old_code

$(OLD_CODE): $(call objects,$(wildcard tests/seeds/*.cc))
	$(call say,LD ,$@)$(CXX) $(CXXFLAGS) $(LDFLAGS) -o $@ $^ -lmongoc-1.0 -lbson-1.0 -lcurl

test-integration: $(OLD_CODE)
