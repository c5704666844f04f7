# The deterministic world of tests/unit serves other programs than the unit tests, too.

WORLD := $(call objects,$(addprefix tests/unit/,world.cc virtual_time.cc memory_log.cc memory_pages.cc scripted_store.cc \
  rpc_world.cc))

$(BUILD)/adapter-tests: $(WORLD) $(call objects,tests/unit/random_template.cc)

$(BUILD)/fuzz/server_fuzz/server_fuzz: $(patsubst $(BUILD)/obj/%,$(BUILD)/fuzz/obj/%,$(WORLD))
$(BUILD)/replay/server_fuzz: $(WORLD)
