#include "daemon/core/history/history_catch_up.h"

#include <algorithm>
#include <utility>

#include <catch2/catch.hpp>

namespace seqd {
namespace {

class StoppedClock final : public Clock {
 public:
  std::int64_t monotonic_ms() const override { return 9'000; }
  std::int64_t wall_ms() const override { return 9'000; }
};

constexpr Token kInstance{7};
constexpr Token kLease{1};
constexpr Token kOther{2};

// A history and a log that were written, and a start that reads both.
struct Restart {
  // [1, 101) was leased; the history knows that IDs below `issued_below` were issued.
  Restart() {
    image_.next_numbers.sequence = 2;
    log(0, DefineScope{1, "default", kInstance, 1, ScopeState::owned, {}});
    log(0, DefineSequence{1, 1, "orders", "", 0});
  }
  void knows(std::int64_t issued_below, LogPosition position) {
    mark.exists = true;
    mark.position = position;
    mark.wall_ms = 5'000;
    HistoryMark::Known known;
    known.totals = {0, 100, issued_below - 1, 0, 0, 0};
    known.available = {{kLease, issued_below, 101}};
    mark.sequences = {{"orders", known}};
  }
  // An entry of the log, which the start has applied.
  void log(LogPosition position, const LogEntry& entry) {
    REQUIRE(image_.apply(entry).ok());
    entries_.emplace_back(position, entry);
  }
  // The same, but it was in a segment that is gone: the image has it, and nobody reads it.
  void forgotten(const LogEntry& entry) { REQUIRE(image_.apply(entry).ok()); }
  void lease(LogPosition position) {
    log(position, LeaseIntended{1, kLease, 100, 1});
    log(position, LeaseGranted{1, kLease, 1, 101, 2});
    log(position, Reserved{1, 101});
  }
  HistoryBatch start(const std::vector<GapMade>& gaps = {},
                     const std::vector<LeaseIntended>& dropped = {}) {
    catch_up.segment_begins();
    for (const auto& [position, entry] : entries_) catch_up.entry(position, entry);
    for (const GapMade& gap : gaps) REQUIRE(image_.apply(gap).ok());
    for (const LeaseIntended& lost : dropped)
      REQUIRE(image_.apply(LeaseClosed{1, lost.lease, LeaseEnd::untraceable, 3}).ok());
    catch_up.finish(image_, gaps, dropped, 9'000);
    return recorder.take(99, [](HistorySequence&) {});
  }

  HistoryMark mark;
  StoppedClock clock;
  HistoryRecorder recorder{clock, {64, 64}};
  HistoryCatchUp catch_up{recorder, [this] { return mark; }};
  StateImage image_;
  std::vector<std::pair<LogPosition, LogEntry>> entries_;
};

const SequenceTotals& added(const HistoryBatch& batch) {
  REQUIRE(batch.sequences.size() == 1);
  return batch.sequences[0].added;
}

TEST_CASE("WhatTheHistoryHasIsNotReportedAgain") {
  Restart here;
  here.lease(3);
  here.log(4, Issued{1, 1, 11, 0, 0, IssueKind::single});
  here.knows(11, 4);
  CHECK(here.start().sequences.empty());
}

TEST_CASE("IssuesAfterTheLastBatchAreReportedWithoutACaller") {
  Restart here;
  here.lease(3);
  here.log(4, Issued{1, 1, 11, 0, 0, IssueKind::single});
  here.log(5, Issued{1, 11, 21, 0, 0, IssueKind::single});
  here.log(6, Issued{1, 21, 31, 0, 0, IssueKind::batch});
  here.knows(11, 4);
  const HistoryBatch batch = here.start();
  REQUIRE(batch.spans.size() == 1);
  CHECK((batch.spans[0].begin == 11 && batch.spans[0].end == 31));
  CHECK(batch.spans[0].callers[0] == 0);
  // Some time between the last batch and this start.
  CHECK((batch.spans[0].first_ms == 5'000 && batch.spans[0].last_ms == 9'000));
  CHECK(added(batch).issued == 20);
  CHECK_FALSE(batch.sequences[0].balances);
}

// Of a block the history hears when it is over; what is out was not issued, and is not lost.
TEST_CASE("WhatWasTakenOfABlockAfterTheLastBatchIsReported") {
  Restart here;
  here.lease(3);
  here.log(4, Issued{1, 1, 11, 0, 0, IssueKind::single});
  here.log(4, DefineClient{1, Token{8}});
  here.log(5, BlockGranted{1, 1, 0, 7, 11, 31});
  here.log(5, BlockGranted{1, 1, 1, 8, 31, 41});
  here.log(6, BlockEnded{1, 1, 0, 11, 21});
  here.knows(11, 4);
  const HistoryBatch batch = here.start();
  REQUIRE(batch.spans.size() == 1);
  CHECK((batch.spans[0].begin == 11 && batch.spans[0].end == 21));
  CHECK(batch.gaps.empty());
  CHECK(added(batch) == SequenceTotals{0, 0, 10, 0, 0, 0});
}

TEST_CASE("LeasesAndGapsAfterTheLastBatchAreReportedAsTheyWere") {
  Restart here;
  here.lease(3);
  here.knows(1, 3);
  here.log(4, LeaseIntended{1, kOther, 50, 4});
  here.log(4, LeaseGranted{1, kOther, 201, 251, 4});
  here.log(5, GapMade{1, 1, 101, GapCause::epoch_lost, 5});
  here.log(6, LeaseIntended{1, Token{3}, 70, 6});
  here.log(6, LeaseClosed{1, Token{3}, LeaseEnd::untraceable, 6});
  const HistoryBatch batch = here.start();
  REQUIRE(batch.leases.size() == 1);
  CHECK(batch.leases[0].lease == kOther);
  CHECK(batch.leases[0].instance == kInstance);
  REQUIRE(batch.gaps.size() == 2);
  CHECK((batch.gaps[0].cause == "epoch_lost" && batch.gaps[0].lease == kLease));
  CHECK((batch.gaps[1].cause == "untraceable" && batch.gaps[1].end == 70));
  CHECK(added(batch) == SequenceTotals{0, 50, 0, 0, 100, 1});
  CHECK_FALSE(batch.sequences[0].balances);
}

TEST_CASE("WhatTheStartDiscardedIsReportedWithItsLeaseAndFormerInstance") {
  Restart here;
  here.lease(3);
  here.knows(1, 3);
  here.log(3, LeaseIntended{1, kOther, 40, 3});
  const HistoryBatch batch =
      here.start({{1, 1, 101, GapCause::no_witness, 8}}, {{1, kOther, 40, 3}});
  REQUIRE(batch.gaps.size() == 2);
  CHECK((batch.gaps[0].lease == kLease && batch.gaps[0].instance == kInstance));
  CHECK(batch.gaps[1].cause == "untraceable");
  CHECK(here.catch_up.found().empty());
  CHECK_FALSE(batch.sequences[0].balances);
}

TEST_CASE("WhenTheLogHasRotatedTheSumsTellWhatWasIssued") {
  Restart here;
  here.forgotten(LeaseIntended{1, kLease, 100, 1});
  here.forgotten(LeaseGranted{1, kLease, 1, 101, 2});
  here.forgotten(Reserved{1, 101});
  here.forgotten(Issued{1, 1, 61, 0, 0, IssueKind::single});
  here.knows(11, 4);
  const HistoryBatch batch = here.start();
  REQUIRE(batch.spans.size() == 1);
  CHECK((batch.spans[0].begin == 11 && batch.spans[0].end == 61));
  CHECK(batch.gaps.empty());
}

TEST_CASE("GapsOfAStartThatWasKilledAreFound") {
  Restart here;
  here.forgotten(LeaseIntended{1, kLease, 100, 1});
  here.forgotten(LeaseGranted{1, kLease, 1, 101, 2});
  here.forgotten(Reserved{1, 101});
  here.forgotten(Issued{1, 1, 31, 0, 0, IssueKind::single});
  here.forgotten(GapMade{1, 31, 101, GapCause::no_witness, 2});
  here.knows(11, 4);
  const HistoryBatch batch = here.start();
  // Issued first, as they are from the front; the rest is the gap.
  REQUIRE(batch.spans.size() == 1);
  CHECK((batch.spans[0].begin == 11 && batch.spans[0].end == 31));
  REQUIRE(batch.gaps.size() == 1);
  CHECK((batch.gaps[0].begin == 31 && batch.gaps[0].end == 101));
  CHECK(batch.gaps[0].cause == "unrecorded");
  CHECK(here.catch_up.found().size() == 1);
}

TEST_CASE("ANewHistoryBeginsWithWhatIsAvailable") {
  Restart here;
  here.forgotten(LeaseIntended{1, kLease, 100, 1});
  here.forgotten(LeaseGranted{1, kLease, 1, 101, 2});
  here.forgotten(Reserved{1, 101});
  here.forgotten(Issued{1, 1, 31, 0, 0, IssueKind::single});
  const HistoryBatch batch = here.start();
  CHECK(batch.spans.empty());
  REQUIRE(batch.leases.size() == 1);
  CHECK((batch.leases[0].begin == 31 && batch.leases[0].end == 101));
  CHECK_FALSE(batch.leases[0].whole);
  CHECK(batch.sequences[0].balances);
}

TEST_CASE("WhatTheHistoryKnowsBetterThanALogThatLostItIsAccepted") {
  Restart here;
  here.lease(3);
  here.log(4, Issued{1, 1, 11, 0, 0, IssueKind::single});
  here.knows(31, 6);  // 11 .. 30 were issued in turns that the power took
  const HistoryBatch batch = here.start({{1, 11, 101, GapCause::power_loss, 8}});
  CHECK(batch.spans.empty());
  REQUIRE(batch.gaps.size() == 1);
  CHECK(batch.gaps[0].begin == 11);
  CHECK(batch.sequences[0].balances);
}

TEST_CASE("ALeaseThatTheLogLostAndWillAskForAgainIsNoGap") {
  Restart here;
  here.log(3, LeaseIntended{1, kLease, 100, 1});
  here.knows(1, 4);  // it was granted in a turn that the power took
  const HistoryBatch batch = here.start();
  CHECK(batch.gaps.empty());
  CHECK(batch.sequences.at(0).balances);
}

TEST_CASE("ALeaseThatTheLogHasLostIsAGap") {
  Restart here;
  here.log(3, LeaseIntended{1, kLease, 100, 1});
  here.knows(1, 4);
  const HistoryBatch batch = here.start({}, {{1, kLease, 100, 1}});
  REQUIRE(batch.gaps.size() == 2);
  CHECK(batch.gaps[0].cause == "untraceable");
  CHECK((batch.gaps[1].cause == "corrupt" && batch.gaps[1].begin == 1));
}

TEST_CASE("WhatWasAvailableOfALogThatIsGoneIsAGap") {
  Restart here;
  HistoryMark::Known known;
  known.totals = {0, 100, 10, 0, 0, 0};
  known.available = {{kLease, 11, 101}};
  here.mark.exists = true;
  here.mark.position = 50;
  here.mark.sequences = {{"invoices", known}};
  const HistoryBatch batch = here.start();
  REQUIRE(batch.gaps.size() == 1);
  CHECK((batch.gaps[0].begin == 11 && batch.gaps[0].end == 101));
  CHECK(batch.gaps[0].cause == "corrupt");
  REQUIRE(here.catch_up.found().size() == 1);
  CHECK(here.catch_up.lost_name(here.catch_up.found()[0].sequence) == "invoices");
  bool found = false;
  for (const HistorySequence& sequence : batch.sequences)
    found = found || (sequence.name == "invoices" && sequence.ended);
  CHECK(found);
}

TEST_CASE("ASegmentThatIsReadAndRejectedLeavesNothing") {
  Restart here;
  here.knows(1, 3);
  here.lease(3);
  here.catch_up.segment_begins();
  here.catch_up.entry(9, Issued{1, 500, 600, 0, 0, IssueKind::single});
  const HistoryBatch batch = here.start();
  CHECK(batch.spans.empty());
}

TEST_CASE("AHistoryThatCannotBeReadNowReceivesNothingTwice") {
  Restart here;
  here.lease(3);
  here.log(4, Issued{1, 1, 11, 0, 0, IssueKind::single});
  here.mark.exists = true;
  here.mark.position = ~LogPosition{0};
  const HistoryBatch batch = here.start();
  CHECK(batch.spans.empty());
  CHECK(batch.sequences.at(0).balances);
}

TEST_CASE("AReturnInTheLogIsReportedAndAnOpenOneIsNeitherIssuedNorLost") {
  Restart here;
  here.knows(31, 4);
  here.lease(1);
  here.log(2, Issued{1, 1, 31, 0, 0, IssueKind::batch});
  here.log(5, ReturnOpened{1, kOther, 31, 101, Reuse::parked, 6});
  const bool ended = GENERATE(true, false);
  if (ended) here.log(6, ReturnClosed{1, kOther, ReturnEnd::returned, GapCause::drained, 7});
  const HistoryBatch batch = here.start();
  CHECK(batch.spans.empty());
  REQUIRE(batch.gaps.size() == (ended ? 1 : 0));
  if (!ended) return;
  CHECK(batch.gaps[0].cause == kReturned);
  CHECK(batch.gaps[0].begin == 31);
  CHECK(batch.gaps[0].end == 101);
  CHECK(batch.sequences.at(0).added.returned == 70);
  CHECK(batch.sequences.at(0).added.gaps == 0);
}

TEST_CASE("AReturnThatCannotBeReadAnyMoreIsFoundByTheSums") {
  Restart here;
  here.knows(31, 4);
  here.lease(1);
  here.log(2, Issued{1, 1, 31, 0, 0, IssueKind::batch});
  here.forgotten(ReturnOpened{1, kOther, 31, 101, Reuse::parked, 6});
  here.forgotten(ReturnClosed{1, kOther, ReturnEnd::returned, GapCause::drained, 7});
  const HistoryBatch batch = here.start();
  REQUIRE(batch.gaps.size() == 1);
  CHECK(batch.gaps[0].cause == kReturned);
  CHECK(batch.gaps[0].end - batch.gaps[0].begin == 70);
}

TEST_CASE("AReturnThatWasKeptIsAGap") {
  Restart here;
  here.knows(31, 4);
  here.lease(1);
  here.log(2, Issued{1, 1, 31, 0, 0, IssueKind::batch});
  here.log(5, ReturnOpened{1, kOther, 31, 101, Reuse::tail, 6});
  here.log(6, ReturnClosed{1, kOther, ReturnEnd::kept, GapCause::drained, 7});
  const HistoryBatch batch = here.start();
  REQUIRE(batch.gaps.size() == 1);
  CHECK(batch.gaps[0].cause == "drained");
  CHECK(batch.sequences.at(0).added.gaps == 70);
}

TEST_CASE("ASequenceThatWasForgottenBehindTheLastBatchEndsWithItsGapAndIsNotLost") {
  Restart here;
  here.knows(31, 4);
  here.lease(1);
  here.log(2, Issued{1, 1, 31, 0, 0, IssueKind::batch});
  here.log(5, GapMade{1, 31, 101, GapCause::period_end, 6});
  here.log(6, ForgetSequence{1});
  const HistoryBatch batch = here.start();
  REQUIRE(batch.gaps.size() == 1);
  CHECK(batch.gaps[0].cause == "period_end");
  CHECK(batch.gaps[0].instance == kInstance);
  REQUIRE(batch.sequences.size() == 1);
  CHECK(batch.sequences[0].name == "orders");
  CHECK(batch.sequences[0].ended);
  CHECK_FALSE(batch.sequences[0].balances);
  CHECK(here.catch_up.found().empty());
}

TEST_CASE("AForgottenNameThatIsUsedAgainEndsFirstAndStartsAgain") {
  Restart here;
  here.knows(31, 4);
  here.lease(1);
  here.log(2, Issued{1, 1, 31, 0, 0, IssueKind::batch});
  here.log(5, GapMade{1, 31, 101, GapCause::period_end, 6});
  here.log(6, ForgetSequence{1});
  here.log(7, DefineSequence{2, 1, "orders", "", 0});
  here.log(8, LeaseIntended{2, kOther, 50, 9});
  here.log(8, LeaseGranted{2, kOther, 101, 151, 9});
  const HistoryBatch batch = here.start();
  REQUIRE(batch.sequences.size() == 2);
  CHECK((batch.sequences[0].id == 1 && batch.sequences[0].ended));
  CHECK((batch.sequences[1].id == 2 && !batch.sequences[1].ended));
  CHECK(batch.sequences[1].name == "orders");
}

TEST_CASE("WhatTheLogLostEnds") {
  Restart here;
  HistoryMark::Known known;
  known.totals = {0, 100, 100, 0, 0, 0};
  here.mark.exists = true;
  here.mark.position = 50;
  here.mark.sequences = {{"invoices", known}};
  const HistoryBatch batch = here.start();
  CHECK(std::any_of(batch.sequences.begin(), batch.sequences.end(), [](const auto& sequence) {
    return sequence.name == "invoices" && sequence.ended;
  }));
  CHECK(batch.gaps.empty());
}

}  // namespace
}  // namespace seqd
