// A sequence that is configured for another counter: with nothing left it goes on there, never
// below what was leased here; with a remainder it waits until that is drained. At every moment it
// may be killed, and begin again with either configuration.
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "daemon/core/settings/counter_identity.h"
#include "tests/unit/mover.h"

namespace seqd {
namespace {

TEST_CASE("SequenceOfWhichNothingIsLeftMovesWithItsNumber", "[moves]") {
  const bool clean = GENERATE(false, true);
  Mover mover;
  mover.drain();
  mover.settings().store = "central";
  mover.restart(clean);
  CHECK(mover.orders().scope().store_name() == "central");
  // Nobody has made the new counter: it does not begin at 1.
  CHECK(mover.code() == ErrorCode::SEQ_REGRESSED);
  CHECK(mover.world().events.count(EventKind::sequence_moved) == 1);
  const Result<std::int64_t> reached = mover.advance();
  REQUIRE(reached.ok());
  CHECK(*reached == 11);
  CHECK(mover.take() == 11);
  CHECK(mover.world().sequence("orders").totals().issued == 4);
}

TEST_CASE("MovedSequenceGoesOnByItselfWhereTheCounterStandsHigher", "[moves]") {
  Mover mover;
  mover.drain();
  mover.central.next_id["orders"] = 500;
  mover.settings().store = "central";
  mover.restart();
  CHECK(mover.take() == 500);
  CHECK(mover.recorded().scope == mover.orders().scope().id());
  mover.restart();
  CHECK(mover.take() == 501);
  CHECK(mover.world().events.count(EventKind::sequence_moved) == 1);
}

TEST_CASE("RemainderOfTheFormerCounterIsDrainedWithoutItsStore", "[moves]") {
  const bool running = GENERATE(false, true);
  Mover mover;
  mover.settings().store = "central";
  mover.settings().reuse = GENERATE(Reuse::never, Reuse::parked);
  if (!running) mover.world().stores.erase("default");
  mover.restart();
  CHECK(mover.code() == ErrorCode::SEQ_CHANGED);
  CHECK(mover.world().status.text().find("seqctl drain") != std::string::npos);
  CHECK(mover.advance().status().code() == ErrorCode::SEQ_CHANGED);
  const DrainReport report = mover.drain();
  REQUIRE(report.gaps.size() == 1);
  CHECK(report.gaps.front().begin == 4);
  CHECK(report.gaps.front().end == 11);
  CHECK(mover.world().store.return_calls.empty());
  CHECK(mover.code() == ErrorCode::SEQ_CHANGED);
  mover.restart();
  CHECK(mover.code() == ErrorCode::SEQ_REGRESSED);
  CHECK(*mover.advance(100) == 100);
  CHECK(mover.take() == 100);
}

TEST_CASE("NothingMovesWhileALeaseOrAReturnOfTheFormerCounterIsOpen", "[moves]") {
  const bool of_return = GENERATE(false, true);
  Mover mover;
  if (of_return) {
    mover.settings().reuse = Reuse::parked;
    mover.restart();
    REQUIRE(mover.world().table->orders().drain(1, 10'000, [](const DrainReport&) {}).ok());
  } else {
    REQUIRE(mover.world().range("orders", 7));
    static_cast<void>(mover.world().next("orders"));
  }
  mover.world().turn();
  mover.world().flush();
  REQUIRE(mover.world().store.pending() == 1);
  REQUIRE(mover.orders().available() == 0);
  mover.settings().store = "central";
  mover.restart();
  CHECK(mover.code() == ErrorCode::SEQ_CHANGED);
  // The former configuration: nothing is missing.
  mover.settings().store = "default";
  mover.restart();
  CHECK(mover.orders().totals().gaps == 0);
  CHECK(mover.take() > 0);
}

// With the former configuration again it is as if nothing had been tried; after the first lease it
// moves back, and not below what it got in the meantime.
TEST_CASE("MoveIsInTheLogWithTheFirstUseOfTheNewCounter", "[moves]") {
  Mover mover;
  mover.drain();
  const DefineSequence former = mover.recorded();
  mover.settings().store = "central";
  mover.restart();
  mover.restart(true);
  CHECK(mover.recorded() == former);
  CHECK(mover.world().events.count(EventKind::sequence_moved) == 0);
  mover.settings().store = "default";
  mover.restart();
  CHECK(mover.take() == 11);
  mover.drain();
  mover.settings().store = "central";
  mover.restart();
  CHECK(*mover.advance(1'000) == 1'000);
  CHECK(mover.take() == 1'000);
  mover.drain();
  mover.settings().store = "default";
  mover.restart();
  CHECK(mover.code() == ErrorCode::SEQ_REGRESSED);
  CHECK(*mover.advance() == 1'010);
  CHECK(mover.take() == 1'010);
}

TEST_CASE("OtherPartsOfTheCounterMoveInTheSameWay", "[moves]") {
  const auto change = GENERATE(
      as<std::function<void(CounterBinding&)>>(),
      [](CounterBinding& binding) { binding.collection = "other"; },
      [](CounterBinding& binding) { binding.counter_field = "count"; },
      [](CounterBinding& binding) { binding.key_type = KeyType::integer; },
      [](CounterBinding& binding) { binding.key = "invoices"; });
  Mover mover;
  mover.drain();
  change(mover.settings().binding);
  // The counter in the scripted store is that of the key, wherever it is.
  mover.world().store.next_id.clear();
  mover.restart();
  CHECK(mover.code() == ErrorCode::SEQ_REGRESSED);
  CHECK(*mover.advance() == 11);
  CHECK(mover.take() == 11);
}

// It would be the same number of another ID, or another number of the same.
TEST_CASE("OtherMeaningOrProgressionDoesNotMove", "[moves]") {
  const bool of_meaning = GENERATE(false, true);
  Mover mover;
  mover.drain();
  if (of_meaning) {
    mover.settings().binding.meaning = Meaning::last;
    mover.restart();
    REQUIRE(mover.take() == 11);  // it was not configured before
    mover.drain();
    mover.settings().store = "central";
    mover.restart();
    REQUIRE(*mover.advance() == 21);
    REQUIRE(mover.take() == 21);
    mover.drain();
    mover.settings().store = "default";
    mover.settings().binding.meaning = Meaning::next;
  } else {
    mover.settings().store = "central";
    mover.settings().progression.increment = 2;
    mover.settings().progression.compiled =
        std::make_shared<IdProgression>(IdProgression::Form{1, 2, 1, 1'000'000, false});
  }
  mover.restart();
  CHECK(mover.code() == ErrorCode::SEQ_CHANGED);
  CHECK(mover.world().table->orders().drain(1, 10'000, [](const DrainReport&) {}).code() ==
        ErrorCode::SEQ_CHANGED);
}

// Two names of one counter: it was leased up to 21 here, whichever of them comes first.
TEST_CASE("SequencesOfOneCounterMoveBehindAllOfThem", "[moves]") {
  Mover mover({"orders", "invoices"});
  mover.world().settings.by_name["invoices"].binding.key = "shared";
  mover.settings().binding.key = "shared";
  mover.drain();
  REQUIRE(mover.world().table->orders().drain(2, 10'000, [](const DrainReport&) {}).ok());
  mover.settle();
  mover.restart();
  REQUIRE(mover.code() == ErrorCode::SEQ_REGRESSED);
  REQUIRE(*mover.advance() == 11);
  REQUIRE(mover.take() == 11);
  REQUIRE(mover.take("invoices") == 21);
  mover.drain();
  REQUIRE(mover.world().table->orders().drain(2, 10'000, [](const DrainReport&) {}).ok());
  mover.settle();
  mover.settings().store = "central";
  mover.world().settings.by_name["invoices"].store = "central";
  mover.restart();
  REQUIRE(mover.code() == ErrorCode::SEQ_REGRESSED);
  CHECK(*mover.advance() == 31);
  CHECK(mover.take() == 31);
}

// Killed in every turn of the way, and once more in every turn after that.
TEST_CASE("MoveThatIsKilledAnywhereIssuesNothingTwice", "[moves]") {
  // What is parked at the new counter, an older copy, was issued here.
  const Reuse reuse = GENERATE(Reuse::never, Reuse::parked);
  const auto with_reuse = [reuse](SequenceSettings& settings) { settings.reuse = reuse; };
  for (int first = 0; first < 12; ++first) {
    for (int second = 0; second < 12; ++second) {
      INFO(first << ", " << second);
      Mover mover({"orders"}, with_reuse);
      mover.drain();
      mover.settings().store = "central";
      if (reuse == Reuse::parked) {
        mover.central.next_id["orders"] = 11;
        mover.central.parked["orders"] = {{1, 4}};
      }
      mover.kill();
      for (const int turns : {first, second}) {
        mover.world().start();
        std::optional<Result<std::int64_t>> reached;
        static_cast<void>(mover.world().next("orders"));
        for (int turn = 0; turn < turns; ++turn) {
          mover.world().turn();
          if (mover.world().log.flush_due()) mover.world().flush();
          static_cast<void>(mover.central.deliver());
          static_cast<void>(mover.world().store.deliver());
          if (turn != 6) continue;
          const auto keep = [&reached](const Result<std::int64_t>& result) { reached = result; };
          mover.world().table->orders().advance(1, 0, false, keep);
        }
        mover.world().time.advance(0);
        mover.kill();
      }
      for (const Answer& answer : mover.world().answers.sent) {
        for (const Run& run : answer.runs) mover.issued["orders"].insert(run.first);
      }
      mover.start();
      if (mover.take() == 0) {
        REQUIRE(mover.advance().ok());
        REQUIRE(mover.take() >= 11);
      }
      REQUIRE(mover.orders().totals().unknown == 0);
    }
  }
}

}  // namespace
}  // namespace seqd
