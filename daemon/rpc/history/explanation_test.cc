#include "daemon/rpc/history/explanation.h"

#include <catch2/catch.hpp>

namespace seqd {
namespace {

IdFacts known(std::int64_t id) {
  IdFacts facts;
  facts.ordinal = id;
  facts.served = true;
  facts.high_water = 1'000;
  facts.history.known = true;
  return facts;
}

CounterReading counter_at(std::int64_t next) {
  CounterReading reading;
  reading.exists = true;
  reading.next_id = next;
  return reading;
}

TEST_CASE("AnAvailableIdIsAvailableWhateverElseIsKnown") {
  IdFacts facts = known(500);
  facts.available = true;
  facts.history.lease.emplace();
  CHECK_FALSE(needs_store(facts));
  CHECK(explain(facts).fate == IdFate::available);
}

TEST_CASE("AnIssueIsExplainedWithOrWithoutItsCaller") {
  IdFacts facts = known(500);
  IssueRow& issue = facts.history.issue.emplace();
  const auto says = [&facts](CallerMissing why, const char* words) {
    facts.history.issue->caller_missing = why;
    return explain(facts).fate == IdFate::issued &&
           explain(facts).text.find(words) != std::string::npos;
  };
  CHECK(says(CallerMissing::lost, "killed"));
  CHECK(says(CallerMissing::off, "history_callers"));
  CHECK(says(CallerMissing::dropped, "no longer has the caller"));
  CHECK(says(CallerMissing::hidden, "administrators"));
  // Only a kill is blamed for what a kill did.
  for (const CallerMissing why :
       {CallerMissing::off, CallerMissing::dropped, CallerMissing::hidden})
    CHECK_FALSE(says(why, "killed"));
  issue.callers.emplace_back();
  CHECK(explain(facts).text == "issued");
}

TEST_CASE("ALeaseUnderWayMayHaveTheId") {
  IdFacts facts = known(500);
  facts.leasing = true;
  facts.counter = counter_at(501);
  CHECK(explain(facts).fate == IdFate::leasing);
  facts.counter = counter_at(500);
  CHECK(explain(facts).fate == IdFate::not_issued);
  facts.history.lease.emplace();
  facts.history.issue.emplace();
  CHECK(explain(facts).fate == IdFate::issued);
}

TEST_CASE("AForgottenPeriodIsExplainedWithoutTheStore") {
  IdFacts facts = known(500);
  facts.served = false;
  facts.forgotten = true;
  CHECK_FALSE(needs_store(facts));
  CHECK(explain(facts).fate == IdFate::older);
  facts.history.gap.emplace().gap.cause = "period_end";
  CHECK(explain(facts).fate == IdFate::gap);
}

TEST_CASE("FromBeforeTheHistoryBeganThoughNoLeaseIsKept") {
  IdFacts facts = known(500);
  facts.counter = counter_at(2'000);
  facts.history.leased_before = true;
  CHECK(explain(facts).fate == IdFate::older);
  facts.history.first_lease = 500;
  CHECK(explain(facts).fate == IdFate::elsewhere);
}

TEST_CASE("AGapIsExplainedWithItsCause") {
  IdFacts facts = known(500);
  facts.history.lease.emplace();
  facts.history.gap.emplace().gap.cause = "no_witness";
  CHECK(explain(facts).fate == IdFate::gap);
  CHECK(explain(facts).text == "will never be issued: no_witness");
}

TEST_CASE("WhatTheLogForgotAndTheHistoryKnowsWasIssued") {
  IdFacts facts = known(500);
  facts.history.issue.emplace();
  facts.history.gap.emplace().gap.cause = "power_loss";
  CHECK(explain(facts).fate == IdFate::issued);
  CHECK(explain(facts).text.find("power_loss") != std::string::npos);
}

TEST_CASE("ALeasedIdThatIsNeitherAvailableNorAGapWasIssued") {
  IdFacts facts = known(500);
  facts.history.lease.emplace();
  CHECK(explain(facts).fate == IdFate::issued);
  CHECK(explain(facts).text.find("not recorded") != std::string::npos);
  facts.history.issues_forgotten_below = 600;
  CHECK(explain(facts).text.find("older than the history") != std::string::npos);
}

TEST_CASE("BelowTheHistoryTheAnswerIsOlder") {
  IdFacts facts = known(500);
  facts.history.leases_forgotten_below = 501;
  CHECK_FALSE(needs_store(facts));
  CHECK(explain(facts).fate == IdFate::older);
  facts.history.leases_forgotten_below = 500;
  CHECK(needs_store(facts));
}

TEST_CASE("BelowTheCounterAndNeverLeasedHereIsAnotherHosts") {
  IdFacts facts = known(500);
  facts.counter = counter_at(501);
  CHECK(explain(facts).fate == IdFate::elsewhere);
  facts.history.untraceable = 2;
  CHECK(explain(facts).text.find("2 leases") != std::string::npos);
}

TEST_CASE("AtOrAboveTheCounterIsNotIssuedYet") {
  IdFacts facts = known(5'000);
  facts.counter = counter_at(5'000);
  CHECK(explain(facts).fate == IdFate::not_issued);
  facts.counter = CounterReading{};
  CHECK(explain(facts).fate == IdFate::not_issued);
}

TEST_CASE("WithoutTheStoreTheHighestLeaseDecidesAndTheTextSaysWhy") {
  IdFacts facts = known(1'000);
  facts.store = Status(ErrorCode::UNAVAILABLE, "no route");
  CHECK(explain(facts).fate == IdFate::not_issued);
  CHECK(explain(facts).text.find("no route") != std::string::npos);
  facts.ordinal = 999;
  CHECK(explain(facts).fate == IdFate::elsewhere);
}

TEST_CASE("WhatWasLeasedBeforeTheHistoryBeganIsNotSaidToBeAnothers") {
  IdFacts facts = known(50);
  facts.counter = counter_at(5'000);
  facts.history.leased_before = true;
  facts.history.first_lease = 100;
  CHECK(explain(facts).fate == IdFate::older);
  facts.ordinal = 150;
  CHECK(explain(facts).fate == IdFate::elsewhere);
}

TEST_CASE("WhatWasReturnedIsNotThisHostsAnyMoreUntilItIsLeasedAgain") {
  IdFacts facts = known(500);
  facts.history.lease.emplace().lease.wall_ms = 10;
  facts.history.gap.emplace().gap.cause = kReturned;
  facts.history.gap->gap.wall_ms = 20;
  CHECK_FALSE(needs_store(facts));
  CHECK(explain(facts).fate == IdFate::returned);
  CHECK(fate_name(explain(facts).fate) == "returned");
  facts.history.lease->lease.wall_ms = 30;
  CHECK(explain(facts).fate == IdFate::older);
  facts.history.lease->lease.wall_ms = 10;
  facts.history.issue.emplace().callers.emplace_back();
  CHECK(explain(facts).text == "issued");
}

TEST_CASE("WhatWasReturnedLongAgoMayHaveBeenIssuedSince") {
  IdFacts facts = known(500);
  facts.history.gap.emplace().gap.cause = kReturned;
  facts.history.gap->gap.wall_ms = 20;
  facts.history.leases_forgotten_below = 600;
  facts.history.oldest_lease_ms = 30;
  CHECK(explain(facts).fate == IdFate::older);
  // A lease behind the return would still be kept.
  facts.history.oldest_lease_ms = 10;
  CHECK(explain(facts).fate == IdFate::returned);
  facts.history.oldest_lease_ms.reset();
  CHECK(explain(facts).fate == IdFate::older);
  facts.history.leases_forgotten_below = 500;
  CHECK(explain(facts).fate == IdFate::returned);
}

TEST_CASE("WhatIsBeingReturnedIsSaidSo") {
  IdFacts facts = known(500);
  facts.returning = true;
  facts.history.lease.emplace();
  CHECK_FALSE(needs_store(facts));
  CHECK(explain(facts).fate == IdFate::returned);
  CHECK(explain(facts).text.find("being returned") != std::string::npos);
}

TEST_CASE("AnIdThatAnAdvancePassedOverIsExplainedByItAndByWhom") {
  IdFacts facts = known(1'500);
  facts.counter = counter_at(5'000);
  facts.history.advance = HistoryAdvance{1, 1'000, 2'000, 7, 1'000, 4'711};
  CHECK(explain(facts).fate == IdFate::elsewhere);
  CHECK(explain(facts).text ==
        "never leased by this host: user 1000 (process 4711) advanced the counter here to 2000, "
        "above it; before that, another host or program may have taken it");
  facts.history.advance->uid.reset();
  CHECK(explain(facts).text.find(": an administrator advanced") != std::string::npos);
  facts.counter.reset();  // the store is away
  CHECK(explain(facts).fate == IdFate::elsewhere);
  // What became of it since says more.
  facts.available = true;
  CHECK(explain(facts).fate == IdFate::available);
}

}  // namespace
}  // namespace seqd
