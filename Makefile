# seqd: one Makefile, non-recursive. Everything is built under build/ (build/san-... with SAN=). A new source file in a
# known folder needs no registration. `make help` lists the targets.

SHELL := /bin/bash
.DEFAULT_GOAL := all
.DELETE_ON_ERROR:
.SECONDARY:
MAKEFLAGS += --no-builtin-rules
ifeq ($(filter -j%,$(MAKEFLAGS)),)
MAKEFLAGS += -j$(shell nproc)
endif

VERSION := $(shell sed -n 's/^.define SEQD_VERSION "\(.*\)"$$/\1/p' protocol/version.h)
PREFIX ?= /usr
DESTDIR ?=
PYTHON := /usr/bin/python3

# --- SAN=address,undefined or SAN=thread: a build of its own -------------------------------------------------------
# Made by clang without optimization, which takes a third of the time that g++ takes with it.
SAN ?=
comma := ,
CXX := $(if $(SAN),clang++,g++)
CC := $(if $(SAN),clang,gcc)
BUILD := build$(if $(SAN),/san-$(subst $(comma),-,$(SAN)))

# --- packages ------------------------------------------------------------------------------------------------------
PACKAGES_BUILD := g++ pkg-config libuv1-dev libmongoc-dev libmsgpack-cxx-dev libsystemd-dev libsqlite3-dev \
  libtomlplusplus-dev libcli11-dev libfmt-dev nlohmann-json3-dev nettle-dev libssl-dev libcurl4-openssl-dev libabsl-dev libboost-dev tzdata
PACKAGES_TEST := catch2 librapidcheck-dev python3 python3-pytest python3-pytest-xdist python3-pymongo python3-msgpack python3-yaml python3-pynvim python3-pip neovim \
  unzip libcurl4 openjdk-17-jre-headless maven liblzma5 libssl3 openssl strace systemd systemd-container \
  e2fsprogs util-linux faketime
PACKAGES_LINT := clang-format clang-tidy shellcheck scdoc systemd
# (llvm has the program that names functions and lines in reports.)
PACKAGES_FUZZ := clang libclang-rt-14-dev llvm
PACKAGES_BUILD += $(if $(SAN),$(PACKAGES_FUZZ))
PACKAGES_BENCH := redis-server
PACKAGES_INSTALL := scdoc

# $(call packages,NAME): a stamp that is made when the packages of the list PACKAGES_NAME are installed. With INSTALL_PACKAGES=no
# nothing is looked for and nothing is installed: where there is no dpkg, or where another tool takes care of it.
INSTALL_PACKAGES ?= yes
packages = build/packages/$(1)-$(firstword $(shell echo '$(PACKAGES_$(1))' | md5sum))
build/packages/%:
	@mkdir -p $(@D)
	@[ '$(INSTALL_PACKAGES)' = no ] || packaging/ensure-packages.sh $(PACKAGES_$(firstword $(subst -, ,$*)))
	@touch $@

# One short line a step; V=1 shows the commands.
V ?= 0
ifeq ($(V),0)
say = @echo '  $(1)  $(2)';
endif

# --- flags ---------------------------------------------------------------------------------------------------------
# (g++ 12 forgets that a precompiled header was one of the system's, and then sees bounds exceeded in std::string.)
# WERROR= lets a compiler that warns about more build it, too.
WERROR ?= -Werror
WARNINGS := -Wall -Wextra -Wpedantic -Wshadow -Wconversion $(if $(SAN),, \
  -Wno-array-bounds -Wno-stringop-overflow -Wno-stringop-overread -Wno-restrict) $(WERROR)
# Control-flow enforcement is one of x86's. The compiler is asked at the first use: this make may have to install it first.
HARDENING = $(eval HARDENING := -fstack-protector-strong -fstack-clash-protection \
  $(if $(filter x86_64-% i%86-%,$(shell $(CXX) -dumpmachine)),-fcf-protection))$(HARDENING)
CPPFLAGS += -I. -DMSGPACK_NO_BOOST \
  -isystem /usr/include/libmongoc-1.0 -isystem /usr/include/libbson-1.0
OPTIMIZE ?= $(if $(SAN),-O0,-O2)
# Line numbers are what a core file needs, and types and locals are a quarter of the time of a build (DEBUG=-g has them, too).
DEBUG ?= -g1
CXXFLAGS += -std=c++20 $(DEBUG) -fPIC -pthread -fno-omit-frame-pointer $(WARNINGS) $(HARDENING) \
  $(if $(SAN),-fsanitize=$(SAN) -fno-sanitize-recover=all -fpch-instantiate-templates \
  -Wno-unused-command-line-argument)
OPTIMIZED := $(OPTIMIZE) $(if $(SAN),,-D_FORTIFY_SOURCE=2)
LDFLAGS += -pthread -Wl,-z,relro,-z,now,-z,noexecstack -Wl,--as-needed $(if $(SAN),-fsanitize=$(SAN))
# Abseil's part that reads time zones is nine shared libraries, which took a quarter of the time of a start.
ABSL_TIME := $(addprefix -labsl_,time civil_time time_zone strings strings_internal base spinlock_wait int128 throw_delegate \
  raw_logging_internal log_severity)
ABSL_LIBS = $(if $(filter /%,$(shell $(CXX) -print-file-name=libabsl_time.a 2>/dev/null)),-Wl$(comma)-Bstatic $(ABSL_TIME) -Wl$(comma)-Bdynamic,\
  -labsl_time -labsl_time_zone)
DAEMON_LIBS = -luv -lsystemd -lsqlite3 -lfmt -lnettle $(ABSL_LIBS)
MODULE_LIBS_mongodb := -lmongoc-1.0 -lbson-1.0 -lfmt -lcrypto
MODULE_LIBS_dynamodb := -lcurl -luv -lfmt -lcrypto
TEST_LIBS := -lrapidcheck

# --- sources -------------------------------------------------------------------------------------------------------
sources = $(filter-out %_test.cc,$(wildcard $(addsuffix /*.cc,$(1))))
tests = $(wildcard $(addsuffix /*_test.cc,$(1)))
objects = $(patsubst %.cc,$(BUILD)/obj/%.o,$(1))

# A folder and its rooms: daemon/core with daemon/core/leasing, daemon/core/text, ...
rooms = $(1) $(patsubst %/,%,$(wildcard $(1)/*/ $(1)/*/*/))
PURE_FOLDERS := $(call rooms,protocol) $(call rooms,daemon/base) $(call rooms,daemon/core) $(call rooms,daemon/rpc) daemon/state
ADAPTER_FOLDERS := $(call rooms,daemon/uv) $(call rooms,daemon/store) $(call rooms,daemon/os) $(call rooms,daemon/main)
CLIENT_FOLDERS := client-lib client-lib/session client-lib/blocks
SEQCTL_FOLDERS := $(call rooms,client-lib/seqctl)
PURE := $(call objects,$(call sources,$(PURE_FOLDERS)))
ADAPTERS := $(call objects,$(filter-out daemon/main/main.cc,$(call sources,$(ADAPTER_FOLDERS))))
CLIENT := $(call objects,$(call sources,$(CLIENT_FOLDERS) $(call rooms,protocol)))
SEQCTL := $(call objects,$(call sources,$(SEQCTL_FOLDERS)))
UNIT_TESTS := $(call objects,$(call tests,$(PURE_FOLDERS)) $(wildcard tests/unit/*.cc) $(addprefix tests/sim/,transcript.cc transcript_test.cc))
ADAPTER_TESTS := $(call objects,$(call tests,$(ADAPTER_FOLDERS) $(CLIENT_FOLDERS) $(SEQCTL_FOLDERS)) \
  $(wildcard $(addsuffix /*.cc,$(call rooms,tests/adapters))))
TOOLS := $(patsubst tests/tools/%.cc,$(BUILD)/tools/%,$(wildcard tests/tools/*.cc))

# Of the adapters, what needs the library of a store in the network. The configuration is checked without: what it asks of
# DynamoDB's names and files is the program's.
MODULE_NAMES := mongodb dynamodb
MODULES := $(MODULE_NAMES:%=$(BUILD)/modules/%.so)
MODULE_mongodb := $(call objects,daemon/main/modules/mongo_module.cc $(call sources,$(call rooms,daemon/store/mongo)))
MODULE_dynamodb := $(call objects,$(addprefix daemon/main/modules/,dynamo_module.cc aws_access.cc) \
  daemon/uv/http/http_client.cc \
  $(filter-out $(addprefix daemon/store/dynamo/,dynamo_names.cc dynamo_options.cc \
    $(addprefix credentials/,aws_address.cc aws_credentials.cc aws_profiles.cc)),$(call sources,$(call rooms,daemon/store/dynamo))))
MODULE_OBJECTS := $(foreach module,$(MODULE_NAMES),$(MODULE_$(module)))
MODULE_BUILD := $(call objects,daemon/os/modules/module_build.cc)

SEQD := $(BUILD)/seqd
SEQCTL_BIN := $(BUILD)/seqctl
LIBSEQD_A := $(BUILD)/libseqd.a
LIBSEQD_SO := $(BUILD)/libseqd.so
# The name by which a program that is linked to it looks for it when it starts.
LIBSEQD_SONAME := libseqd.so.0

.PHONY: all
all: $(SEQD) $(MODULES) $(SEQCTL_BIN) $(LIBSEQD_SO) $(BUILD)/$(LIBSEQD_SONAME) $(LIBSEQD_A) ## build seqd with its modules, seqctl and libseqd

# Headers of others that most sources include are parsed once: build/precompiled/common.h.gch, and test.h.gch with Catch2. The
# tests beside the code are not optimized: what they test is, and they are most of the text to compile. With PRECOMPILE=no each
# source parses what it includes: with a precompiled header, g++ 12 writes debug information that depends on where its memory lies.
PRECOMPILE ?= yes
TEST_HEADERS := $(if $(SAN),world,test)
if_precompiled = $(if $(filter yes,$(PRECOMPILE)),$(1))
precompiled = $(call if_precompiled,$(BUILD)/precompiled/$(1).h.gch)
define compile
	@mkdir -p $(@D)
	$(call say,CXX,$<)$(CXX) $(CPPFLAGS) $(CXXFLAGS) $(2) $(call if_precompiled,-include $(BUILD)/precompiled/$(1).h) -MMD -MP -c -o $@ $<
endef

$(BUILD)/precompiled/common.h.gch: | $(call packages,BUILD)
$(BUILD)/precompiled/$(TEST_HEADERS).h.gch: | $(call packages,BUILD) $(call packages,TEST)
# The header beside it is what the compiler reads where the precompiled one was made with other flags.
$(BUILD)/precompiled/%.h.gch: packaging/make/precompiled/%.h
	@mkdir -p $(@D)
	@echo '#include "$<"' >$(basename $@)
	$(call say,PRE,$<)$(CXX) $(CPPFLAGS) $(CXXFLAGS) $(if $(filter common,$*),$(OPTIMIZED),-O0) -x c++-header -MMD -MP -o $@ $<

$(BUILD)/obj/%.o: %.cc | $(call packages,BUILD) $(call precompiled,common)
	$(call compile,common,$(OPTIMIZED))

$(BUILD)/obj/tests/%.o: tests/%.cc | $(call packages,BUILD) $(call packages,TEST) $(call precompiled,common)
	$(call compile,common,$(OPTIMIZED))

$(BUILD)/obj/%_test.o: %_test.cc | $(call packages,BUILD) $(call packages,TEST) $(call precompiled,$(TEST_HEADERS))
	$(call compile,$(TEST_HEADERS),-O0)

$(BUILD)/obj/%.o: %.c | $(call packages,BUILD)
	@mkdir -p $(@D)
	$(call say,CC ,$<)$(CC) $(CPPFLAGS) -std=c11 $(OPTIMIZE) $(DEBUG) -fPIC $(WARNINGS) -MMD -MP -c -o $@ $<

# The modules are whole where the program is.
$(SEQD): $(call objects,daemon/main/main.cc) $(filter-out $(MODULE_OBJECTS),$(ADAPTERS)) $(PURE) $(BUILD)/modules/exports | $(MODULES)
	$(call say,LD ,$@)$(CXX) $(CXXFLAGS) $(LDFLAGS) -pie -Wl,--dynamic-list=$(BUILD)/modules/exports -o $@ $(filter %.o,$^) $(DAEMON_LIBS)

$(SEQCTL_BIN): $(SEQCTL) $(LIBSEQD_A)
	$(call say,LD ,$@)$(CXX) $(CXXFLAGS) $(LDFLAGS) -pie -o $@ $^

$(LIBSEQD_A): $(CLIENT)
	$(call say,AR ,$@)rm -f $@; $(AR) rcs $@ $^

$(LIBSEQD_SO): $(CLIENT) client-lib/libseqd.map
	$(call say,LD ,$@)$(CXX) $(CXXFLAGS) $(LDFLAGS) -shared -Wl,-soname,$(LIBSEQD_SONAME) -Wl,--version-script=client-lib/libseqd.map -o $@ $(CLIENT)

$(BUILD)/$(LIBSEQD_SONAME): $(LIBSEQD_SO)
	$(call say,LN ,$@)ln -sf $(notdir $<) $@

# --- modules: stores in the network ----------------------------------------------------------------------------------
# What needs the library of such a store is no part of the program but of a shared object, which the daemon loads where a
# configuration names a store of that type (daemon/os/modules/module.h). The parts that both use are the program's.
$(BUILD)/modules/%.so: packaging/make/module.map
	@mkdir -p $(@D)
	$(call say,LD ,$@)$(CXX) $(CXXFLAGS) $(LDFLAGS) -shared -Wl,--version-script=$< -o $@ $(filter %.o,$^) $(MODULE_LIBS_$*)

$(foreach module,$(MODULE_NAMES),$(eval $(BUILD)/modules/$(module).so: $(MODULE_$(module)) $(MODULE_BUILD)))

# What modules want of the program, and so it exports: no more, as each name costs time at a start.
$(BUILD)/modules/exports: $(MODULE_OBJECTS)
	@mkdir -p $(@D)
	@set -eo pipefail; { echo '{'; $$($(CXX) -print-prog-name=nm) -uP $^ | sed -n 's/^\(_Z[^ ]*4seqd[^ ]*\) .*/  \1;/p' | LC_ALL=C sort -u; echo '};'; } >$@

# Program and modules are of one build where the version, all headers and the tables of codes (.def) are the same.
SHARED_HEADERS := $(sort $(wildcard $(foreach kind,h def,$(addsuffix /*.$(kind),$(PURE_FOLDERS) $(ADAPTER_FOLDERS)))))
$(BUILD)/modules/build: $(SHARED_HEADERS)
	@mkdir -p $(@D)
	@echo '$(VERSION)' $$(cat $(SHARED_HEADERS) packaging/make/module.map | sha256sum | cut -c 1-16)$(addprefix -,$(SAN)) >$@

$(MODULE_BUILD): daemon/os/modules/module_build.cc $(BUILD)/modules/build | $(call packages,BUILD) $(call precompiled,common)
	$(call compile,common,$(OPTIMIZED) -DSEQD_MODULE_BUILD='"$(shell cat $(BUILD)/modules/build)"')

# --- tests ---------------------------------------------------------------------------------------------------------
# Core, protocol, rpc and state without libuv and libmongoc: that it links is part of the proof.
# The product's objects come first: of a function that a header defines the linker takes the first, optimized one.
$(BUILD)/unit-tests: $(PURE) $(UNIT_TESTS)
	$(call say,LD ,$@)$(CXX) $(CXXFLAGS) $(LDFLAGS) -o $@ $^ $(TEST_LIBS)

$(BUILD)/adapter-tests: $(PURE) $(ADAPTERS) $(ADAPTER_TESTS) $(LIBSEQD_A)
	$(call say,LD ,$@)$(CXX) $(CXXFLAGS) $(LDFLAGS) -o $@ $^ $(DAEMON_LIBS) $(foreach module,$(MODULE_NAMES),$(MODULE_LIBS_$(module))) $(TEST_LIBS)

$(BUILD)/tools/%: $(BUILD)/obj/tests/tools/%.o $(LIBSEQD_A)
	@mkdir -p $(@D)
	$(call say,LD ,$@)$(CXX) $(CXXFLAGS) $(LDFLAGS) -o $@ $^

# --- the rest lives in fragments, each about one thing ---------------------------------------------------------------
-include $(wildcard packaging/make/*.mk)

.PHONY: clean
clean: ## remove build/
	rm -rf build

.PHONY: help
help: ## this list
	@sed -nE 's/^([a-z][a-z-]*):[^#]*## (.*)/  \1\t\2/p' Makefile packaging/make/*.mk | expand -t 18

-include $(shell find $(BUILD)/obj $(BUILD)/precompiled -name '*.d' 2>/dev/null)
