#include "daemon/rpc/history/audit.h"

#include <catch2/catch.hpp>

namespace seqd {
namespace {

// 1,000 leased: 600 issued, 300 available, 100 in gaps; 200 of the issues are not kept any more.
AuditFacts balanced() {
  AuditFacts facts;
  facts.totals = {1, 1'000, 600, 0, 100, 0};
  facts.available = 300;
  facts.high_water = 1'001;
  facts.history.known = true;
  facts.history.recorded = {0, 1'000, 600, 0, 100, 0};
  facts.history.rows = {0, 1'000, 400, 0, 100, 0};
  facts.history.dropped = {0, 0, 200, 0, 0, 0};
  facts.counter.emplace();
  facts.counter->exists = true;
  facts.counter->next_id = 1'001;
  return facts;
}

TEST_CASE("WhatAddsUpHasNoProblems") {
  const Audit result = audit(balanced());
  CHECK(result.problems.empty());
  CHECK(result.unaccounted == 0);
}

TEST_CASE("WhatWentBeforeTheHistoryIsNoProblem") {
  AuditFacts facts = balanced();
  facts.history.recorded = {0, 400, 300, 0, 0, 0};
  facts.history.rows = {0, 400, 300, 0, 0, 0};
  facts.history.dropped = {};
  facts.history.adjust = {0, 600, 300, 0, 100, 0};
  CHECK(audit(facts).problems.empty());
}

TEST_CASE("AnIdThatTheLogCannotAccountForIsAProblem") {
  AuditFacts facts = balanced();
  facts.available = 299;
  CHECK(audit(facts).unaccounted == 1);
  CHECK(audit(facts).problems.size() == 1);
}

TEST_CASE("AGapThatTheHistoryNeverHeardOfIsAProblem") {
  AuditFacts facts = balanced();
  facts.history.recorded.gaps = 60;
  facts.history.rows.gaps = 60;
  const Audit result = audit(facts);
  CHECK(result.missing.gaps == 40);
  REQUIRE(result.problems.size() == 1);
  CHECK(result.problems[0].find("40 IDs in gaps") != std::string::npos);
}

TEST_CASE("ARowThatIsGoneIsAProblem") {
  AuditFacts facts = balanced();
  facts.history.rows.issued -= 10;
  CHECK(audit(facts).problems.size() == 1);
  facts = balanced();
  facts.history.rows.gaps = 0;
  CHECK(audit(facts).problems.size() == 1);
}

TEST_CASE("AnIdThatStandsInTwoIssuesIsAProblem") {
  AuditFacts facts = balanced();
  facts.history.issued_twice = 1;
  CHECK(audit(facts).problems.size() == 1);
}

TEST_CASE("ACounterBehindWhatWasGrantedIsAProblem") {
  AuditFacts facts = balanced();
  facts.counter->next_id = 1'000;
  CHECK(audit(facts).problems.size() == 1);
  *facts.counter = CounterReading{};
  REQUIRE(audit(facts).problems.size() == 1);
  CHECK(audit(facts).problems[0].find("missing") != std::string::npos);
  // Of a period that is over for long enough it may have been removed, and not set back.
  facts.may_be_removed = true;
  CHECK(audit(facts).problems.empty());
  facts.counter->exists = true;
  facts.counter->next_id = 1'000;
  CHECK(audit(facts).problems.size() == 1);
  facts.counter.reset();
  CHECK(audit(facts).problems.empty());
}

TEST_CASE("AStoreThatLeasedMoreThanItsCounterMovedIsAProblem") {
  AuditFacts facts = balanced();
  facts.counter->totals = CounterReading::Totals{1, {10, 1'000}, {10, 1'000}};
  CHECK(audit(facts).problems.empty());
  facts.counter->totals->all.ids = 1'001;
  CHECK(audit(facts).problems.size() == 1);
}

TEST_CASE("WhatIsOnItsWayBackOrReturnedIsAccountedFor") {
  AuditFacts facts = balanced();
  facts.available = 100;
  facts.returning = 50;
  facts.totals.returned = facts.history.recorded.returned = 150;
  CHECK(audit(facts).problems.empty());
  facts.returning = 0;
  CHECK(audit(facts).unaccounted == 50);
}

TEST_CASE("AReturnThatTheHistoryNeverHeardOfIsAProblem") {
  AuditFacts facts = balanced();
  facts.available = 150;
  facts.totals.returned = 150;
  CHECK(audit(facts).missing.returned == 150);
  CHECK_FALSE(audit(facts).problems.empty());
}

}  // namespace
}  // namespace seqd
