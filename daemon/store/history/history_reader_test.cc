// What a history answers of IDs, gaps and sums, to the process that writes it and to an audit
// beside it.
#include "daemon/store/history/history_reader.h"

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "tests/adapters/sqlite/kept_history.h"

#include <catch2/catch.hpp>

namespace seqd {
namespace {

using namespace testing;

TEST_CASE("WhatWasWrittenIsFoundByTheNextProcess") {
  KeptHistory kept;
  HistoryRows batch(42);
  batch.lease(1, 101).issue(1, 11, 1).issue(11, 21, 2).gap(91, 101);
  batch.orders().available = {{Token{1}, 21, 91}, {Token{3}, 200, 300}};
  REQUIRE(kept.write(batch).ok());
  kept.open();
  const HistoryMark mark = kept.opened->file.read_mark();
  CHECK(mark.exists);
  CHECK(mark.position == 42);
  CHECK(mark.wall_ms == kNowMs);
  REQUIRE(mark.sequences.size() == 1);
  CHECK(mark.sequences[0].first == "orders");
  CHECK(mark.sequences[0].second.totals == SequenceTotals{0, 100, 20, 0, 10, 0});
  CHECK(mark.sequences[0].second.available == batch.orders().available);
  const IdAnswer issued = kept.id(15);
  REQUIRE(issued.issue);
  REQUIRE(issued.issue->callers.size() == 1);
  CHECK(issued.issue->callers[0].pid == 72);
  CHECK(issued.issue->callers[0].name == "shop");
  CHECK((issued.issue->span.begin == 11 && issued.issue->span.end == 21));
  REQUIRE(issued.lease);
  CHECK(issued.lease->lease.lease == Token{1});
  CHECK(issued.lease->host == "here");
  // A gap is told with the lease it came from.
  const IdAnswer gap = kept.id(95);
  REQUIRE(gap.gap);
  CHECK(gap.gap->gap.lease == Token{1});
  CHECK(gap.gap->gap.instance == Token{2});
  const IdAnswer available = kept.id(50);
  CHECK((available.lease && !available.issue && !available.gap));
  const IdAnswer nobodys = kept.id(150);
  CHECK((!nobodys.lease && !nobodys.issue && !nobodys.gap));
}

TEST_CASE("TheNumbersOfCallersOfTwoProcessesDoNotMix") {
  KeptHistory kept;
  REQUIRE(kept.write(HistoryRows(1).issue(1, 2, 1)).ok());
  kept.open();
  HistoryRows second(2);
  second.issue(2, 3, 1);
  second.callers[0].pid = 999;
  REQUIRE(kept.write(second).ok());
  CHECK(kept.id(1).issue->callers.at(0).pid == 71);
  CHECK(kept.id(2).issue->callers.at(0).pid == 999);
}

TEST_CASE("ASpanOfSeveralCallersNamesThem") {
  KeptHistory kept;
  HistoryRows batch(1);
  batch.issue(1, 100, 1).issue(100, 101, 2).issue(101, 102, 3);
  batch.spans.resize(1);
  batch.spans[0].callers = {1, 0, 3, 2};
  batch.spans[0].caller_count = 4;
  batch.spans[0].others = true;
  REQUIRE(kept.write(batch).ok());
  const IdAnswer answer = kept.id(50);
  REQUIRE(answer.issue);
  CHECK(answer.issue->span.others);
  REQUIRE(answer.issue->callers.size() == 3);
  CHECK(answer.issue->callers[1].pid == 73);
  CHECK(answer.issue->callers[2].pid == 72);
}

TEST_CASE("GapsComeInPagesInTheOrderTheyWereMade") {
  KeptHistory kept;
  HistoryRows batch(1);
  for (std::int64_t at = 0; at < 5; ++at) batch.gap(at * 10 + 1, at * 10 + 3);
  batch.gaps.push_back({1, 0, 70, false, "untraceable", Token{9}, Token{2}, kNowMs});
  REQUIRE(kept.write(batch).ok());
  const GapsAnswer first = kept.gaps(0, 4);
  REQUIRE(first.rows.size() == 4);
  CHECK(first.more);
  const GapsAnswer rest = kept.gaps(first.rows.back().number, 4);
  REQUIRE(rest.rows.size() == 2);
  CHECK_FALSE(rest.more);
  CHECK(rest.rows[0].gap.begin == 41);
  CHECK_FALSE(rest.rows[1].gap.place_known);
  CHECK(rest.rows[1].gap.end == 70);
}

TEST_CASE("TheSumsAreAddedUpRowByRow") {
  KeptHistory kept;
  HistoryRows batch(1);
  batch.lease(1, 101).issue(1, 11).issue(11, 21).gap(21, 31);
  batch.orders().unwritten.issued = 5;
  batch.orders().added.issued += 5;
  // 700 leased and 300 issued before there was a history.
  batch.orders().totals = {1, 800, 325, 0, 10, 0};
  REQUIRE(kept.write(batch).ok());
  const SumsAnswer sums = kept.sums();
  CHECK(sums.rows == SequenceTotals{0, 100, 20, 0, 10, 0});
  CHECK(sums.dropped == SequenceTotals{0, 0, 5, 0, 0, 0});
  CHECK(sums.recorded == SequenceTotals{0, 100, 25, 0, 10, 0});
  CHECK(sums.adjust == SequenceTotals{0, 700, 300, 0, 0, 0});
  CHECK(sums.issued_twice == 0);
  CHECK(sums.began_ms == kNowMs);
}

TEST_CASE("AnIdThatStandsInTwoIssuesIsSeen") {
  KeptHistory kept;
  REQUIRE(kept.write(HistoryRows(1).issue(1, 101).issue(201, 301)).ok());
  REQUIRE(kept.write(HistoryRows(2).issue(91, 106).issue(150, 160)).ok());
  CHECK(kept.sums().issued_twice == 10);
}

TEST_CASE("WhatWasIssuedAndGivenUpIsCounted") {
  KeptHistory kept;
  REQUIRE(kept.write(HistoryRows(1).issue(1, 51).issue(51, 61).gap(41, 101).gap(200, 300)).ok());
  CHECK(kept.sums().issued_and_gap == 20);
}

TEST_CASE("AvailableRangesAreReadBackAndNonsenseIsNone") {
  const std::vector<HeldSpan> spans = {{Token{1, 0xfe}, 1, 10},
                                       {Token{}, 5, 9'223'372'036'854'775'806}};
  CHECK(read_spans(spans_text(spans)) == spans);
  CHECK(read_spans("").empty());
  CHECK(read_spans("xyz").empty());
  CHECK(read_spans(spans_text(spans) + " 00").empty());
  CHECK(read_spans(to_hex(Token{1}) + ":10-5").empty());
}

TEST_CASE("WhatWasReturnedIsFoundByItsIdsAndIsNoGap") {
  KeptHistory kept;
  HistoryRows batch(1);
  batch.leases.push_back({1, Token{1}, Token{7}, 1, 101, kNowMs, true});
  batch.gaps.push_back({1, 31, 101, true, std::string(kReturned), Token{2}, Token{7}, kNowMs + 1});
  batch.orders().added = {1, 100, 0, 70, 0, 0};
  batch.orders().totals = {1, 100, 0, 70, 0, 0};
  REQUIRE(kept.write(batch).ok());
  REQUIRE(kept.id(50).gap.has_value());
  CHECK(kept.id(50).gap->gap.cause == kReturned);
  CHECK(kept.gaps().rows.empty());
  CHECK(kept.sums().rows.gaps == 0);
  CHECK(kept.sums().recorded.returned == 70);
  // Leased again, and lost then: the youngest row is the last word.
  HistoryRows later(2, kNowMs + 10);
  later.leases.push_back({1, Token{3}, Token{7}, 31, 101, kNowMs + 5, true});
  later.gaps.push_back({1, 31, 101, true, "drained", Token{3}, Token{7}, kNowMs + 9});
  later.orders().added = {1, 70, 0, 0, 70, 0};
  later.orders().totals = {1, 170, 0, 70, 70, 0};
  REQUIRE(kept.write(later).ok());
  CHECK(kept.id(50).gap->gap.cause == "drained");
  CHECK(kept.id(50).lease->lease.lease == Token{3});
  CHECK(kept.gaps().rows.size() == 1);
  CHECK(kept.sums().rows.gaps == 70);
}

TEST_CASE("AnAuditSeesTheFileAsItWasAndNobodyWaitsForIt") {
  KeptHistory kept;
  REQUIRE(kept.write(HistoryRows(1).lease(1, 11).issue(1, 5)).ok());
  HistoryDatabase beside(kept.path, HistoryDatabase::Access::read);
  HistoryReader auditor(beside);
  REQUIRE(auditor.begin().ok());
  REQUIRE(kept.write(HistoryRows(2).lease(11, 21).issue(5, 10)).ok());
  CHECK(auditor.sums("orders")->recorded.issued == 4);
  CHECK(kept.sums().recorded.issued == 9);
  // What is pruned meanwhile is there for it.
  kept.limits.keep_ms = kHourMs;
  const Result<bool> more = kept.opened->file.prune(kept.limits, kNowMs + kHourMs + 1, true);
  REQUIRE(more.ok());
  CHECK(auditor.sums("orders")->rows.issued == 4);
  auditor.end();
  REQUIRE(auditor.begin().ok());
  CHECK(auditor.sums("orders")->rows.issued == 0);
}

TEST_CASE("AnAuditOfAHistoryThatIsNotThereKnowsNothingAndOneThatIsNoneIsAnError") {
  KeptHistory kept;
  HistoryDatabase beside(kept.path, HistoryDatabase::Access::read);
  HistoryReader auditor(beside);
  REQUIRE(auditor.begin().ok());
  CHECK_FALSE(auditor.sums("orders")->known);
  auditor.end();
  std::ofstream(kept.path) << std::string(5'000, 'x');
  CHECK(auditor.begin().code() == ErrorCode::STATE_IO);
  // The one that writes sets it aside.
  CHECK(std::filesystem::exists(kept.path));
  CHECK_FALSE(std::filesystem::exists(kept.path + HistoryDatabase::kSetAside));
}

}  // namespace
}  // namespace seqd
