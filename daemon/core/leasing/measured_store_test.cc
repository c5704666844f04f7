#include "daemon/core/leasing/measured_store.h"

#include <memory>
#include <optional>

#include "tests/unit/scripted_store.h"

#include <catch2/catch.hpp>

namespace seqd {
namespace {

using Script = ScriptedStore::LeaseScript;
using Look = ScriptedStore::ResolveScript;

struct SetClock final : FineClock {
  std::int64_t monotonic_us() const override { return now_us; }
  std::int64_t now_us = 0;
};

struct Measured {
  LeaseOutcome lease(const Script& script, std::int64_t took_ms = 0) {
    store.leases = {script};
    LeaseRequest request;
    request.token = Token{++number};
    request.count = 10;
    request.max_value = 1'000'000;
    std::optional<LeaseOutcome> answer;
    measured.lease(request, [&](LeaseOutcome outcome) { answer = std::move(outcome); });
    clock.now_us += took_ms * 1'000;
    REQUIRE(store.deliver());
    return *answer;
  }
  Resolution look_up(const Look& script, bool granted) {
    if (granted) {
      static_cast<void>(lease({Script::Kind::unknown_applied}));
    } else {
      ++number;
    }
    store.resolutions = {script};
    LeaseRequest request;
    request.token = Token{number};
    std::optional<Resolution> answer;
    measured.resolve(request, [&](Resolution resolution) { answer = std::move(resolution); });
    REQUIRE(store.deliver());
    return *answer;
  }
  std::uint64_t of(LeaseResult result) const {
    return measured.figures().ended.at(static_cast<std::size_t>(result));
  }
  SetClock clock;
  ScriptedStore store;
  MeasuredStore measured{store, clock, 5'000};
  std::uint8_t number = 0;
};

TEST_CASE("TheAnswersToLeasesAreCountedAndHandedOn", "[measured_store]") {
  Measured here;
  const LeaseOutcome granted = here.lease({});
  CHECK((granted.kind == LeaseOutcome::Kind::granted && granted.end - granted.begin == 10));
  Script refused{Script::Kind::refuse};
  CHECK(here.lease(refused).error.text() == "the store is away");
  CHECK(here.lease(refused).kind == LeaseOutcome::Kind::refused);
  refused.contended = true;
  CHECK(here.lease(refused).contended);
  CHECK(here.lease({Script::Kind::unknown_lost}).kind == LeaseOutcome::Kind::unknown);
  CHECK(here.of(LeaseResult::granted) == 1);
  CHECK(here.of(LeaseResult::refused) == 2);
  CHECK(here.of(LeaseResult::contended) == 1);
  CHECK(here.of(LeaseResult::unknown) == 1);
}

TEST_CASE("TheEndsOfLookUpsAreCounted", "[measured_store]") {
  Measured here;
  CHECK(here.look_up({}, true).kind == Resolution::Kind::granted);
  CHECK(here.look_up({}, false).kind == Resolution::Kind::absent);
  CHECK(here.look_up({Look::Kind::untraceable}, false).kind == Resolution::Kind::untraceable);
  CHECK(here.look_up({Look::Kind::failed}, false).kind == Resolution::Kind::failed);
  CHECK(here.of(LeaseResult::found) == 1);
  CHECK(here.of(LeaseResult::absent) == 1);
  CHECK(here.of(LeaseResult::untraceable) == 1);
  CHECK(here.of(LeaseResult::unknown) == 1);  // the lease of the first
  CHECK(here.of(LeaseResult::refused) == 0);
}

TEST_CASE("ALeaseTakesFromItsRequestToItsAnswer", "[measured_store]") {
  Measured here;
  static_cast<void>(here.lease({}, 3));
  static_cast<void>(here.lease({Script::Kind::refuse}, 700));
  const DurationHistogram& durations = here.measured.figures().durations;
  CHECK(durations.sum_us() == 703'000);
  CHECK(durations.within(5) == 1);   // above 2.5 ms, within 5 ms
  CHECK(durations.within(12) == 1);  // above 0.5 s, within 1 s
}

TEST_CASE("AStoreIsSilentWhenACallTakesLongerThanItMay", "[measured_store]") {
  Measured here;
  here.clock.now_us = 1'000'000;
  CHECK(here.measured.silent_ms() == 0);  // it was not asked
  LeaseRequest request;
  request.count = 10;
  request.max_value = 1'000'000;
  const auto ask = [&] {
    request.token = Token{++here.number};
    here.measured.lease(request, [](const LeaseOutcome&) {});
  };
  const auto pass = [&](std::int64_t ms) { here.clock.now_us += ms * 1'000; };
  ask();
  pass(5'000);
  CHECK(here.measured.silent_ms() == 0);
  pass(1);
  CHECK(here.measured.silent_ms() == 5'001);
  // Others that were asked later do not make it shorter, nor does an error of the driver.
  ask();
  here.store.leases = {{Script::Kind::unknown_lost}};
  ask();
  REQUIRE(here.store.deliver());
  CHECK(here.measured.silent_ms() == 0);  // that was a grant
  pass(5'001);
  CHECK(here.measured.silent_ms() == 5'001);
  here.store.leases = {};
  REQUIRE(here.store.deliver());
  CHECK(here.measured.silent_ms() == 0);
  REQUIRE(here.store.deliver());  // the driver gave it up
  CHECK(here.measured.silent_ms() == 0);
  pass(60'000);
  CHECK(here.measured.silent_ms() == 60'000);  // nor was it of use
}

TEST_CASE("AnErrorThatMayPassIsNoAnswer", "[measured_store]") {
  Measured here;
  static_cast<void>(here.lease({Script::Kind::refuse}, 3'000));
  static_cast<void>(here.lease({Script::Kind::unknown_lost}, 3'000));
  CHECK(here.measured.silent_ms() == 6'000);
  Script refused{Script::Kind::refuse};
  refused.error = {ErrorCode::EXHAUSTED, "at its end"};
  static_cast<void>(here.lease(refused, 3'000));
  CHECK(here.measured.silent_ms() == 0);
  static_cast<void>(here.lease({Script::Kind::refuse}, 6'000));
  CHECK(here.measured.silent_ms() == 6'000);
  refused = {Script::Kind::refuse};
  refused.contended = true;
  static_cast<void>(here.lease(refused));
  CHECK(here.measured.silent_ms() == 0);
}

// A store in plain mode says it without asking anybody.
TEST_CASE("ALookUpThatNeedsNoStoreIsNoAnswerOfIt", "[measured_store]") {
  Measured here;
  static_cast<void>(here.look_up({Look::Kind::untraceable}, false));
  here.clock.now_us += 60'000'000;
  CHECK(here.measured.silent_ms() == 0);  // and nothing waits for one
  static_cast<void>(here.lease({Script::Kind::refuse}, 6'000));
  CHECK(here.measured.silent_ms() == 6'000);
  static_cast<void>(here.look_up({Look::Kind::untraceable}, false));
  CHECK(here.measured.silent_ms() == 6'000);
  static_cast<void>(here.look_up({}, false));
  CHECK(here.measured.silent_ms() == 0);
}

TEST_CASE("AnAnswerMayComeAfterTheEndOfWhoMeasures", "[measured_store]") {
  const SetClock clock;
  ScriptedStore store;
  auto measured = std::make_unique<MeasuredStore>(store, clock, 5'000);
  LeaseRequest request;
  request.count = 1;
  request.max_value = 10;
  bool answered = false;
  measured->lease(request, [&answered](const LeaseOutcome&) { answered = true; });
  measured.reset();
  REQUIRE(store.deliver());
  CHECK(answered);
}

}  // namespace
}  // namespace seqd
