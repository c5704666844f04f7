// Many sequences: their names, their settings, reload; starts and stops are in
// sequence_table_restart_test.cc.
#include "daemon/core/table/sequence_table.h"

#include "tests/unit/core_daemon.h"

#include <catch2/catch.hpp>

namespace seqd {
namespace {

TEST_CASE("SequenceIsOpenedOnceAndFoundByName", "[sequence_table]") {
  CoreDaemon daemon({"orders", "bills"});
  REQUIRE(daemon.world.table->find("orders") == 0);
  const SequenceId id = *daemon.world.table->open("orders");
  REQUIRE(*daemon.world.table->open("orders") == id);
  REQUIRE(daemon.world.table->find("orders") == id);
  REQUIRE(*daemon.world.table->open("bills") != id);
  const auto list = daemon.world.table->sequences().list("", 3);
  REQUIRE(list.size() == 2);
  REQUIRE(list[0]->name() == "bills");
  daemon.world.turn();
}

TEST_CASE("UnknownNameIsNoSequence", "[sequence_table]") {
  CoreDaemon daemon;
  REQUIRE(daemon.error_of("others") == ErrorCode::NO_SEQUENCE);
  REQUIRE(daemon.world.status.text().find("others") != std::string::npos);
}

TEST_CASE("SequencesAreLimited", "[sequence_table]") {
  CoreWorld world;
  world.limits.sequences = 2;
  for (const char* name : {"a", "b", "c"}) world.settings.add(name);
  world.start();
  REQUIRE(world.table->open("a").ok());
  REQUIRE(world.table->open("b").ok());
  REQUIRE(world.table->open("c").status().code() == ErrorCode::BUSY);
  REQUIRE(world.table->open("a").ok());
  world.turn();
}

// Whoever may connect can make names that a pattern or daemon.allow_unlisted allows, and no one can
// take them back.
TEST_CASE("NamesThatAnyUserCanCreateLeaveRoomForConfiguredOnes", "[sequence_table]") {
  CoreWorld world;
  world.limits.sequences = 8;
  for (int i = 1; i <= 8; ++i) world.settings.add("x" + std::to_string(i)).named = false;
  for (const char* name : {"orders", "bills", "users"}) world.settings.add(name);
  world.start();
  for (int i = 1; i <= 6; ++i) REQUIRE(world.table->open("x" + std::to_string(i)).ok());
  const Status refused = world.table->open("x7").status();
  CHECK(refused.code() == ErrorCode::BUSY);
  CHECK(refused.text().find("a table of their own") != std::string::npos);
  CHECK(world.table->open("x1").ok());
  CHECK(world.table->open("orders").ok());
  CHECK(world.table->open("bills").ok());
  CHECK(world.table->open("users").status().code() == ErrorCode::BUSY);
  world.turn();
}

TEST_CASE("NamesThatAnybodyCanMakeLeaveRoomInTheLog", "[sequence_table]") {
  CoreWorld world;
  world.limits.state_bytes = 8 * 640;
  const std::string long_name(120, 'x');
  for (int i = 1; i <= 30; ++i) world.settings.add(long_name + std::to_string(i)).named = false;
  world.settings.add("orders");
  world.start();
  int made = 0;
  while (made < 30 && world.table->open(long_name + std::to_string(made + 1)).ok()) ++made;
  REQUIRE(made > 0);
  REQUIRE(made < 30);
  CHECK(world.table->open("orders").ok());
  world.turn();
}

TEST_CASE("OneUserGetsAShareOfTheNamesThatAreInNoTable", "[sequence_table]") {
  constexpr UserId kGreedy = 1'001, kOther = 1'002;
  CoreWorld world;
  world.limits.sequences = 160;
  for (int i = 1; i <= 200; ++i) world.settings.add("s" + std::to_string(i)).named = false;
  world.settings.add("orders");
  world.start();
  int at = 0;
  const auto make = [&](UserId user) {
    while (at < 200 && world.table->open("s" + std::to_string(at + 1), user).ok()) ++at;
    return at;
  };
  // Of 120 three quarters, of what is left again.
  CHECK(make(kGreedy) == 90);
  CHECK(world.table->open("s150", kGreedy).status().code() == ErrorCode::BUSY);
  CHECK(world.events.count(EventKind::limit_reached) == 2);
  CHECK(world.events.newest.fields ==
        decltype(world.events.newest.fields){{"LIMIT", "limits.max_sequences"},
                                             {"CLIENT_UID", "1001"}});
  CHECK(make(kOther) == 112);
  CHECK(world.table->open("s112", kGreedy).ok());  // it is there
  CHECK(world.table->open("orders", kGreedy).ok());
  CHECK(world.table->open("s199").ok());  // an administrator
  // Who made a sequence is not in the log: what is left now is shared.
  world.turn();
  world.restart();
  CHECK(make(kGreedy) > 114);
}

TEST_CASE("LongNamesOfOneUserLeaveRoomInTheLogForAnother", "[sequence_table]") {
  CoreWorld world;
  world.limits.state_bytes = 40 * 640;
  const std::string long_name(120, 'x');
  for (int i = 1; i <= 60; ++i) world.settings.add(long_name + std::to_string(i)).named = false;
  world.start();
  int made = 0;
  const auto make = [&](UserId user) {
    while (made < 60 && world.table->open(long_name + std::to_string(made + 1), user).ok()) ++made;
    return made;
  };
  const int greedy = make(1'001);
  REQUIRE((greedy > 3 && greedy < 60));
  CHECK(make(1'002) > greedy);
  world.turn();
}

TEST_CASE("ASequenceOfWhichNothingIsLeftIsRemoved", "[sequence_table]") {
  CoreDaemon daemon({"orders", "bills"});
  CoreWorld& world = daemon.world;
  REQUIRE(daemon.one("orders") == 1);
  REQUIRE(daemon.one("bills") == 1);
  const SequenceId orders = world.sequence("orders").id();
  std::optional<Status> removed;
  const auto remove = [&] {
    removed.reset();
    world.table->orders().remove(orders, [&](const Status& status) { removed = status; });
    while (!removed) {
      world.advance(5);
      world.settle();
    }
    return removed->code();
  };
  const std::int64_t bytes = world.table->budgets().state_bytes();
  CHECK(remove() == ErrorCode::UNAVAILABLE);
  CHECK(removed->text().find("IDs are available") != std::string::npos);
  REQUIRE(world.table->orders().drain(orders, 1'000, [](const DrainReport&) {}).ok());
  world.settle();
  static_cast<void>(world.next("orders", {7, 1, 0}, 60'000));  // it waits, and leases again
  CHECK(remove() == ErrorCode::UNAVAILABLE);
  REQUIRE(world.table->orders().drain(orders, 1'000, [](const DrainReport&) {}).ok());
  world.settle();
  CHECK(remove() == ErrorCode::OK);
  CHECK_FALSE(world.table->sequences().contains(orders));
  CHECK(world.table->find("orders") == 0);
  CHECK(world.log.image.names.size() == 1);
  CHECK(world.table->budgets().state_bytes() < bytes);
  world.turn();
  world.restart();
  world.settle();
  CHECK(world.table->sequences().size() == 1);
  // Its counter stands where it stood: nothing is issued again.
  CHECK(daemon.one("orders") > 10);
  CHECK(world.sequence("orders").id() != orders);
}

TEST_CASE("NothingIsRemovedWhileAllIsDrained", "[sequence_table]") {
  CoreDaemon daemon;
  CoreWorld& world = daemon.world;
  REQUIRE(daemon.one("orders") == 1);
  const SequenceId orders = world.sequence("orders").id();
  REQUIRE(world.table->orders().drain(orders, 1'000, [](const DrainReport&) {}).ok());
  world.settle();
  world.table->refuse_requests({ErrorCode::UNAVAILABLE, "it is decommissioned"});
  world.settle();
  std::optional<Status> removed;
  world.table->orders().remove(orders, [&](const Status& status) { removed = status; });
  world.advance(5);
  world.settle();
  REQUIRE(removed);
  CHECK(removed->code() == ErrorCode::UNAVAILABLE);
  CHECK(world.table->sequences().contains(orders));
}

// Its table was removed for good.
TEST_CASE("ASequenceThatIsNotConfiguredAnyMoreIsRemovedWithWhatIsLeft", "[sequence_table]") {
  CoreDaemon daemon({"orders", "bills"});
  CoreWorld& world = daemon.world;
  REQUIRE(daemon.one("orders") == 1);
  world.kill();
  world.settings.by_name.erase("orders");
  world.start();
  world.settle();
  const SequenceId orders = world.table->find("orders");
  const auto ignore = [](const DrainReport&) {};
  CHECK(world.table->orders().drain(orders, 1'000, ignore).code() == ErrorCode::NO_SEQUENCE);
  REQUIRE(world.table->at(orders).available() > 0);
  REQUIRE(world.table->orders().drain(orders, 1'000, ignore, true).ok());
  world.settle();
  CHECK(world.table->at(orders).totals().gaps == 9);
  std::optional<Status> removed;
  world.table->orders().remove(orders, [&](const Status& status) { removed = status; });
  world.advance(5);
  world.settle();
  REQUIRE(removed);
  CHECK(removed->ok());
  CHECK_FALSE(world.table->sequences().contains(orders));
}

TEST_CASE("SequenceOfAStoreThatDoesNotRunIsAConfigurationError", "[sequence_table]") {
  CoreDaemon daemon;
  daemon.world.settings.add("far").store = "elsewhere";
  REQUIRE(daemon.world.table->open("far").status().code() == ErrorCode::CONFIG);
}

TEST_CASE("SequencesDoNotShareIds", "[sequence_table]") {
  CoreDaemon daemon({"orders", "bills"});
  REQUIRE(daemon.one("orders") == 1);
  REQUIRE(daemon.one("bills") == 1);
  REQUIRE(daemon.one("orders") == 2);
}

TEST_CASE("CancelReachesEverySequence", "[sequence_table]") {
  CoreDaemon daemon({"orders", "bills"});
  static_cast<void>(daemon.world.next("orders", {7, 1, 0}));
  static_cast<void>(daemon.world.next("bills", {7, 2, 0}));
  static_cast<void>(daemon.world.next("bills", {8, 1, 0}));
  REQUIRE(daemon.world.table->budgets().waiting() == 3);
  daemon.world.table->cancel(7);
  REQUIRE(daemon.world.table->budgets().waiting() == 1);
  daemon.world.settle();
  REQUIRE(daemon.world.answers.sent.size() == 1);
}

TEST_CASE("OneCommitCarriesTheIssuesOfOneTurnMerged", "[sequence_table]") {
  CoreDaemon daemon;
  daemon.one("orders");
  const std::size_t before = daemon.world.log.history.size();
  for (int at = 0; at < 5; ++at) REQUIRE(daemon.world.next("orders"));
  daemon.world.turn();
  int issues = 0;
  for (std::size_t at = before; at < daemon.world.log.history.size(); ++at) {
    const auto* issue = std::get_if<Issued>(&daemon.world.log.history[at]);
    if (issue == nullptr) continue;
    ++issues;
    REQUIRE(issue->end - issue->begin == 5);
  }
  REQUIRE(issues == 1);
}

TEST_CASE("ChangedCounterIsRefusedAndTheRemainderKept", "[sequence_table]") {
  const int what = GENERATE(0, 1, 2, 3, 4);
  CoreDaemon daemon;
  daemon.one("orders");
  daemon.world.kill();
  SequenceSettings& settings = daemon.world.settings.by_name["orders"];
  const SequenceSettings before = settings;
  if (what == 0) settings.binding.key = "other";
  if (what == 1) settings.binding.collection = "other";
  if (what == 2) settings.binding.counter_field = "other";
  if (what == 3) settings.binding.key_field = "other";
  if (what == 4) settings.store = "other";
  daemon.world.start();
  daemon.world.settle();
  REQUIRE(daemon.error_of("orders") == ErrorCode::SEQ_CHANGED);
  REQUIRE(daemon.world.sequence("orders").available() == 9);
  daemon.world.kill();
  settings = before;
  daemon.world.start();
  daemon.world.settle();
  REQUIRE(daemon.one("orders") == 2);
}

TEST_CASE("MeaningThatIsSaidLaterIsNoChange", "[sequence_table]") {
  CoreDaemon daemon;
  daemon.one("orders");
  daemon.world.kill();
  daemon.world.settings.by_name["orders"].binding.meaning = Meaning::last;
  daemon.world.start();
  daemon.world.settle();
  REQUIRE(daemon.one("orders") == 2);
}

TEST_CASE("RemovedSequenceKeepsItsRemainderUntilItIsBack", "[sequence_table]") {
  CoreDaemon daemon;
  daemon.one("orders");
  daemon.world.kill();
  const SequenceSettings settings = daemon.world.settings.by_name["orders"];
  daemon.world.settings.by_name.clear();
  daemon.world.start();
  daemon.world.settle();
  REQUIRE(daemon.error_of("orders") == ErrorCode::NO_SEQUENCE);
  daemon.leave_clean();
  daemon.world.settings.by_name["orders"] = settings;
  daemon.world.start();
  daemon.world.settle();
  REQUIRE(daemon.one("orders") == 2);
}

TEST_CASE("ReloadAppliesWhatCanBeAppliedAndNamesTheRest", "[sequence_table]") {
  CoreDaemon daemon({"a", "b", "c", "d"});
  for (const char* name : {"a", "b", "c", "d"}) daemon.one(name);
  daemon.world.settings.by_name["a"].max_waiters = 0;
  daemon.world.settings.by_name["b"].binding.key = "other";
  daemon.world.settings.by_name["c"].store = "other";
  daemon.world.settings.by_name.erase("d");
  REQUIRE(daemon.world.table->apply_settings(daemon.world.limits) ==
          std::vector<std::string>{"b", "c", "d"});
  REQUIRE(daemon.world.sequence("a").settings().max_waiters == 0);
  REQUIRE(daemon.world.sequence("b").definition().key() == "b");
  daemon.world.settle();
  // What is not applied goes on as it was.
  REQUIRE(daemon.one("b") == 2);
  REQUIRE(daemon.one("d") == 2);
}

TEST_CASE("ReloadedLimitsApply", "[sequence_table]") {
  CoreDaemon daemon({"a", "b"});
  daemon.one("a");
  TableLimits limits;
  limits.sequences = 1;
  static_cast<void>(daemon.world.table->apply_settings(limits));
  REQUIRE(daemon.error_of("b") == ErrorCode::BUSY);
}

TEST_CASE("ReloadedLeaseBoundsApplyToTheNextLease", "[sequence_table]") {
  CoreDaemon daemon;
  daemon.one("orders");
  daemon.world.settings.by_name["orders"].lease_min = 77;
  daemon.world.settings.by_name["orders"].lease_max = 77;
  static_cast<void>(daemon.world.table->apply_settings(daemon.world.limits));
  static_cast<void>(daemon.world.range("orders", 20, {1, 1, 0}));
  daemon.world.settle();
  REQUIRE(daemon.world.store.lease_calls.back().count == 77);
}

TEST_CASE("AfterAFailedFlushANewSequenceIsRefusedWithTheCause", "[table]") {
  CoreWorld world;
  world.settings.add("orders");
  world.settings.add("users");
  world.start();
  world.settle();
  world.next("orders");
  world.turn();
  world.log.fail_flush(*world.table);
  world.turn();
  REQUIRE_FALSE(world.next("users"));
  REQUIRE(world.status.code() == ErrorCode::STATE_IO);
}

// Each name takes a number, and none is given again.
TEST_CASE("LastNumberOfASequenceIsFollowedByAnError", "[sequence_table]") {
  CoreWorld world;
  world.log.image.next_numbers.sequence = kLastSequence;
  for (const char* name : {"a", "b"}) world.settings.add(name);
  world.start();
  world.settle();
  REQUIRE(*world.table->open("a") == kLastSequence);
  REQUIRE(world.table->open("b").status().code() == ErrorCode::EXHAUSTED);
  REQUIRE_FALSE(world.next("a"));
  world.settle();
  REQUIRE(world.answers.sent.size() == 1);
  world.restart();
  world.settle();
  REQUIRE(world.table->open("b").status().code() == ErrorCode::EXHAUSTED);
  REQUIRE_FALSE(world.next("a"));  // its floor is read first
  world.settle();
  REQUIRE(world.answers.sent.back().runs.front().first == 2);
}

// Ranges above two of a sequence are counted one by one, those being leased too.
TEST_CASE("RangeThatTheLogHasNoRoomForIsNotLeased", "[sequence_table]") {
  const std::int64_t room = GENERATE(0, 1, 2);
  CAPTURE(room);
  CoreWorld world;
  SequenceSettings& settings = world.settings.add("a");
  settings.lease_min = settings.lease_max = 10;
  world.start();
  world.settle();
  REQUIRE(world.table->open("a").ok());
  world.turn();
  const std::int64_t bytes = world.table->budgets().state_bytes();
  world.limits.state_bytes = bytes + room * StateBounds::kRangeBytes;
  world.table->apply_settings(world.limits);
  REQUIRE_FALSE(world.range("a", 40));
  REQUIRE(world.status.ok());
  world.settle();
  REQUIRE(world.answers.sent.size() == 1);
  CHECK((world.answers.sent[0].status.code() == ErrorCode::BUSY) == (room < 2));
  if (room < 2) CHECK(world.store.lease_calls.size() == static_cast<std::size_t>(2 + room));
  CHECK(world.table->budgets().state_bytes() <= world.limits.state_bytes);
}

}  // namespace
}  // namespace seqd
