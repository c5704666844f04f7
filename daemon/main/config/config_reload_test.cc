#include "daemon/main/config/config.h"

// Last, so that CHECK is the one of the tests.
#include "tests/unit/configurations.h"

namespace seqd {
namespace {

using Names = std::vector<std::string>;

TEST_CASE("AReloadOfTheSameChangesNothing") {
  const std::string text = "[limits]\nmax_count = 9\n[sequence.a]\nlease_min = 3\n";
  const Configuration running = configuration_of(text);
  REQUIRE(running.find("a") != nullptr);
  Configuration next = configuration_of(text);
  const auto changes = prepare_reload(running, next, {"a"});
  CHECK(changes.applied.empty());
  CHECK(changes.restart_needed.empty());
}

TEST_CASE("LimitsAreAppliedAndWhatNeedsARestartKeepsItsOldValue") {
  const Configuration running = configuration_of("");
  Configuration next = configuration_of(
      "[daemon]\nsocket = \"/other\"\nstop_timeout = \"20s\"\n[limits]\nmax_count = 9\n"
      "[store.default]\ntimeout = \"3s\"\n");
  const auto changes = prepare_reload(running, next, {});
  CHECK(changes.applied == Names{"daemon.stop_timeout", "limits.max_count"});
  CHECK(changes.restart_needed == Names{"daemon.socket", "store.default.timeout"});
  CHECK(next.limits.max_count == 9);
  CHECK(next.daemon.stop_timeout_ms == 20'000);
  CHECK(next.daemon.socket == "/run/seqd.sock");
  CHECK(next.stores.at("default").timeout_ms == 10'000);
}

TEST_CASE("StoresThatComeOrGoNeedARestart") {
  const Configuration running = configuration_of("[store.default]\n[store.old]\npath = \"/old\"\n");
  Configuration next = configuration_of(
      "[store.default]\n[store.new]\npath = \"/new\"\n"
      "[sequence.a]\nstore = \"new\"\n[sequence.b]\nlease_min = 1\n");
  const auto changes = prepare_reload(running, next, {});
  CHECK(changes.restart_needed == Names{"sequence.\"a\".store", "store.new", "store.old"});
  CHECK(changes.applied == Names{"sequence.\"b\""});
  CHECK(next.stores == running.stores);
  // It is not served from another store in the meantime.
  CHECK(next.find("a") == nullptr);
  CHECK(next.find("b")->lease_min == 1);
}

TEST_CASE("ASequenceInUseStaysOnItsCounterAndTakesItsNewLimits") {
  const Configuration running = configuration_of("");
  REQUIRE(running.find("used") != nullptr);
  Configuration next = configuration_of(
      "[sequence.used]\ncollection = \"other\"\nlease_min = 7\n"
      "[sequence.unused]\ncollection = \"other\"\n");
  const auto changes = prepare_reload(running, next, {"used"});
  CHECK(changes.applied == Names{"sequence.\"unused\"", "sequence.\"used\""});
  CHECK(changes.restart_needed == Names{"sequence.\"used\".collection"});
  CHECK(next.find("used")->binding.collection == "counters");
  CHECK(next.find("used")->lease_min == 7);
  CHECK(next.find("unused")->binding.collection == "other");
}

TEST_CASE("ASequenceInUseIsReadByItsOldFormatUntilTheRestart") {
  const Configuration running =
      configuration_of("[sequence.used]\nperiod = \"day\"\nformat = \"{date:%y%m%d}-{number}\"\n");
  REQUIRE(running.find("used") != nullptr);
  Configuration next = configuration_of("[sequence.used]\nlease_min = 7\n");
  prepare_reload(running, next, {"used"});
  CHECK(next.find_format("used") == running.find("used")->text.compiled);
}

TEST_CASE("RightsAreAskedWhileASequenceWaitsForARestart") {
  const Peer mallory{4'000'000'001, 1, {}};
  const Configuration running = configuration_of("[sequence.people]\nallow = [\"root\"]\n");
  REQUIRE(running.find("people") != nullptr);
  Configuration next = configuration_of(
      "[store.default]\n[store.new]\npath = \"/new\"\n"
      "[sequence.people]\nallow = [\"root\"]\nstore = \"new\"\n"
      "[sequence.idle]\nallow = [\"root\"]\nstore = \"new\"\n");
  static_cast<void>(prepare_reload(running, next, {"people"}));
  REQUIRE(next.find("people") != nullptr);  // it goes on being served, from its former store
  for (const char* name : {"people", "idle"}) {
    INFO(name);
    const AccessSettings* access = next.find_access(name);
    REQUIRE(access != nullptr);
    CHECK_FALSE(access->allow.compiled.contains(mallory));
  }
}

TEST_CASE("ANameOfItsOwnIsToldFromOneThatAPatternOrTheDefaultsMake") {
  const Configuration running = configuration_of("[sequence.orders]\n[sequence.\"t-*\"]\n");
  Configuration next = configuration_of("[sequence.orders]\n[sequence.\"t-*\"]\n");
  REQUIRE(running.find("orders") != nullptr);
  static_cast<void>(prepare_reload(running, next, {"orders", "t-1"}));
  for (const Configuration* one : {&running, static_cast<const Configuration*>(&next)}) {
    CHECK(one->find("orders")->named);
    CHECK_FALSE(one->find("t-1")->named);
    CHECK_FALSE(one->find("others")->named);
  }
}

TEST_CASE("AChangedPatternKeepsTheCountersOfTheNamesInUse") {
  const Configuration running = configuration_of("[sequence.\"t-*\"]\ncounter_field = \"n\"\n");
  REQUIRE(running.find("t-1") != nullptr);
  Configuration next =
      configuration_of("[sequence.\"t-*\"]\ncounter_field = \"count\"\nmax_waiters = 5\n");
  const auto changes = prepare_reload(running, next, {"t-1"});
  CHECK(changes.restart_needed == Names{"sequence.\"t-1\".counter_field"});
  CHECK(changes.applied == Names{"sequence.\"t-*\".counter_field", "sequence.\"t-*\".max_waiters"});
  CHECK(next.find("t-1")->binding.counter_field == "n");
  CHECK(next.find("t-1")->max_waiters == 5);
  CHECK(next.find("t-2")->binding.counter_field == "count");
}

TEST_CASE("ANewDefaultStoreIsNotUsedBeforeARestart") {
  const std::string stores = "[store.a]\npath = \"/a\"\n[store.b]\npath = \"/b\"\n";
  const Configuration running = configuration_of("[daemon]\ndefault_store = \"a\"\n" + stores);
  Configuration next = configuration_of("[daemon]\ndefault_store = \"b\"\n" + stores +
                                        "[sequence.x]\nlease_min = 1\n");
  const auto changes = prepare_reload(running, next, {});
  CHECK(changes.restart_needed == Names{"daemon.default_store"});
  CHECK(next.find("x")->store == "a");
  CHECK(next.find("y")->store == "a");
}

TEST_CASE("ANameNoLongerAllowedIsNotFound") {
  const Configuration running = configuration_of("");
  REQUIRE(running.find("gone") != nullptr);
  Configuration next = configuration_of("[daemon]\nallow_unlisted = false\n");
  CHECK(prepare_reload(running, next, {"gone"}).applied == Names{"daemon.allow_unlisted"});
  CHECK(next.find("gone") == nullptr);
}

TEST_CASE("ASecondReloadStillKnowsWhatTheFirstKept") {
  Configuration running = configuration_of("");
  REQUIRE(running.find("used") != nullptr);
  const std::string text = "[sequence.used]\ncollection = \"other\"\n";
  Configuration first = configuration_of(text);
  static_cast<void>(prepare_reload(running, first, {"used"}));
  running = std::move(first);
  Configuration second = configuration_of(text);
  const auto changes = prepare_reload(running, second, {"used"});
  CHECK(changes.applied.empty());
  CHECK(changes.restart_needed == Names{"sequence.\"used\".collection"});
  CHECK(second.find("used")->binding.collection == "counters");
}

TEST_CASE("ASequenceInUseKeepsItsCounterHoweverManyNamesWereLookedUp") {
  Configuration running = configuration_of("");
  Configuration first = configuration_of("[sequence.used]\ncollection = \"other\"\n");
  static_cast<void>(prepare_reload(running, first, {"used"}));
  running = std::move(first);
  for (int i = 0; i < 100'000; ++i) running.find("n" + std::to_string(i));
  CHECK(running.find("used")->binding.collection == "counters");
  Configuration second = configuration_of("[sequence.used]\ncollection = \"other\"\n");
  CHECK(prepare_reload(running, second, {"used"}).restart_needed ==
        Names{"sequence.\"used\".collection"});
  CHECK(second.find("used")->binding.collection == "counters");
}

TEST_CASE("ALongListOfChangesIsCut") {
  Configuration running = configuration_of("");
  std::string text;
  for (int i = 0; i < 300; ++i) text += "[sequence.n" + std::to_string(i) + "]\n";
  Configuration next = configuration_of(text);
  const auto changes = prepare_reload(running, next, {});
  REQUIRE(changes.applied.size() == 201);
  CHECK(changes.applied.back() == "and 100 more");
}

}  // namespace
}  // namespace seqd
