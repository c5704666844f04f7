#include "daemon/core/history/history_recorder.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>

#include <catch2/catch.hpp>

namespace seqd {
namespace {

class TurnedClock final : public Clock {
 public:
  std::int64_t monotonic_ms() const override { return now_ms; }
  std::int64_t wall_ms() const override { return now_ms; }
  std::int64_t now_ms = 1'000;
};

struct Recording {
  explicit Recording(std::size_t spans = 64, std::size_t events = 16)
      : recorder(clock, {spans, events}) {
    recorder.logged(DefineScope{1, "default", Token{9}, 0, ScopeState::owned, {}});
    define(1, "orders");
  }
  void define(SequenceId id, const std::string& name) {
    recorder.logged(DefineSequence{id, 1, name, "", 0});
  }
  // As the core does it: the history and the log hear of the same IDs.
  void issue(SequenceId sequence, std::int64_t begin, std::int64_t end, SessionId session) {
    recorder.issued(sequence, begin, end, session);
    recorder.logged(Issued{sequence, begin, end, 0, 0, IssueKind::single});
  }
  HistoryBatch take() {
    recorder.turn_over();
    return recorder.take(7, [](HistorySequence&) {});
  }
  TurnedClock clock;
  HistoryRecorder recorder;
};

std::int64_t ids_of(const HistoryBatch& batch) {
  std::int64_t sum = 0;
  for (const IssueSpan& span : batch.spans) sum += span.end - span.begin;
  return sum;
}

TEST_CASE("WhatWasTakenOfABlockIsIssuedWhenItIsOver") {
  Recording here;
  here.recorder.opened(5, 1'000, 77);
  here.recorder.logged(BlockGranted{1, 1, 0, 7, 10, 40});
  CHECK(here.take().sequences.empty());
  here.recorder.issued(1, 10, 25, 5);
  here.recorder.logged(BlockEnded{1, 1, 0, 10, 25});
  const HistoryBatch batch = here.take();
  CHECK(ids_of(batch) == 15);
  REQUIRE(batch.sequences.size() == 1);
  CHECK(batch.sequences[0].added.issued == 15);
}

TEST_CASE("WhatOneCallerTakesInARowIsOneSpan") {
  Recording here;
  here.recorder.opened(5, 1'000, 77);
  here.recorder.named(5, "shop");
  here.issue(1, 10, 11, 5);
  here.recorder.turn_over();
  here.clock.now_ms = 1'400;
  here.issue(1, 11, 40, 5);
  const HistoryBatch batch = here.take();
  REQUIRE(batch.spans.size() == 1);
  const IssueSpan& span = batch.spans[0];
  CHECK((span.begin == 10 && span.end == 40));
  CHECK((span.first_ms == 1'000 && span.last_ms == 1'400));
  REQUIRE(batch.callers.size() == 1);
  CHECK(batch.callers[0].number == span.callers[0]);
  CHECK((batch.callers[0].uid == 1'000 && batch.callers[0].pid == 77));
  CHECK(batch.callers[0].name == "shop");
  CHECK(batch.position == 7);
  CHECK(here.recorder.empty());
}

// More of them than the recorder finds by the last bits of their numbers, which some share.
TEST_CASE("ManySequencesThatIssueInTurnAreKeptApart") {
  constexpr SequenceId kSequences = 40'000;
  Recording here(2 * kSequences);
  here.recorder.opened(5, 1'000, 77);
  for (std::int64_t batches = 1; batches <= 2; ++batches) {
    for (SequenceId id = 1; id <= kSequences; ++id) {
      here.issue(id, batches * 10, batches * 10 + 1, 5);
      const SequenceId other = id % 7 * (SequenceId{1} << 14) + 1;
      if (other != id) here.issue(other, 1'000 * batches + id, 1'000 * batches + id + 1, 5);
    }
    const HistoryBatch batch = here.take();
    std::map<SequenceId, std::int64_t> issued;
    for (const IssueSpan& span : batch.spans) issued[span.sequence] += span.end - span.begin;
    std::size_t wrong = 0;
    for (const HistorySequence& sequence : batch.sequences)
      wrong += sequence.added.issued == issued[sequence.id] ? 0 : 1;
    CHECK(wrong == 0);
    CHECK(batch.sequences.size() == issued.size());
    CHECK(issued.size() >= kSequences);
    CHECK(issued.at(2) == 1);
    CHECK(issued.at(kSequences) == 1);
    CHECK(issued.at(1) > kSequences / 8);
    if (batches == 1) here.recorder.logged(ForgetSequence{2});  // its place is another's afterwards
    if (batches == 1) CHECK(here.take().sequences.at(0).ended);
  }
}

TEST_CASE("ConnectionsOfOneProcessAreOneCaller") {
  Recording here;
  here.recorder.opened(5, 1'000, 77);
  here.recorder.opened(6, 1'000, 77);
  here.recorder.opened(7, 1'000, 78);
  here.issue(1, 10, 11, 5);
  here.issue(1, 11, 12, 6);
  here.issue(1, 12, 13, 7);
  const HistoryBatch batch = here.take();
  REQUIRE(batch.spans.size() == 2);
  CHECK(batch.spans[0].end == 12);
  CHECK(batch.callers.size() == 2);
}

TEST_CASE("IssuesReportedAfterTheSessionClosedAreStillItsOwn") {
  Recording here;
  here.recorder.opened(5, 1'000, 77);
  here.recorder.closed(5);
  here.issue(1, 10, 11, 5);
  const HistoryBatch batch = here.take();
  REQUIRE(batch.callers.size() == 1);
  CHECK(batch.callers[0].pid == 77);
  // The next one with that number is nobody known.
  here.issue(1, 11, 12, 5);
  CHECK(here.take().callers.empty());
}

TEST_CASE("LeasesGapsAndSumsComeFromTheLogsEntries") {
  Recording here;
  here.recorder.logged(LeaseIntended{1, Token{3}, 100, 5});
  here.recorder.logged(LeaseGranted{1, Token{3}, 10, 110, 6});
  here.recorder.logged(GapMade{1, 10, 30, GapCause::epoch_lost, 7});
  here.recorder.logged(LeaseIntended{1, Token{4}, 50, 8});
  here.recorder.logged(LeaseClosed{1, Token{4}, LeaseEnd::untraceable, 9});
  here.recorder.logged(LeaseClosed{1, Token{5}, LeaseEnd::refused, 9});
  CHECK(here.recorder.urgent());
  const HistoryBatch batch = here.take();
  REQUIRE(batch.leases.size() == 1);
  CHECK(batch.leases[0].instance == Token{9});
  REQUIRE(batch.gaps.size() == 2);
  CHECK((batch.gaps[0].cause == "epoch_lost" && batch.gaps[0].place_known));
  CHECK((batch.gaps[1].cause == "untraceable" && !batch.gaps[1].place_known));
  CHECK(batch.gaps[1].end == 50);
  REQUIRE(batch.sequences.size() == 1);
  CHECK(batch.sequences[0].name == "orders");
  CHECK(batch.sequences[0].added == SequenceTotals{0, 100, 0, 0, 20, 1});
}

TEST_CASE("ManyCallersInTurnAreMergedCoarserAndNoneIsLost") {
  Recording here(64);
  for (SessionId session = 1; session <= 8; ++session)
    here.recorder.opened(session, 1'000, static_cast<std::int32_t>(session));
  constexpr std::int64_t kIds = 10'000;
  for (std::int64_t id = 1; id <= kIds; ++id)
    here.issue(1, id, id + 1, static_cast<SessionId>(id % 8 + 1));
  const HistoryBatch batch = here.take();
  CHECK(batch.spans.size() <= 64);
  CHECK(ids_of(batch) == kIds);
  CHECK(batch.sequences[0].unwritten == SequenceTotals{});
  for (std::size_t at = 1; at < batch.spans.size(); ++at)
    CHECK(batch.spans[at - 1].end == batch.spans[at].begin);
  // What took turns for long is named as far as there is room, and that there were more is said.
  CHECK(batch.spans.front().caller_count == IssueSpan::kNamed);
  CHECK(batch.spans.front().others);
  CHECK(batch.callers.size() == 8);
}

TEST_CASE("WhatCannotBeMergedIsCountedWhenThereIsNoRoom") {
  Recording here(8);
  for (SequenceId sequence = 2; sequence < 30; ++sequence) {
    here.define(sequence, "s" + std::to_string(sequence));
    here.issue(sequence, 100, 110, 0);
  }
  const HistoryBatch batch = here.take();
  CHECK(batch.spans.size() == 8);
  std::int64_t unwritten = 0;
  std::int64_t issued = 0;
  for (const HistorySequence& sequence : batch.sequences) {
    unwritten += sequence.unwritten.issued;
    issued += sequence.added.issued;
  }
  CHECK(issued == 280);
  CHECK(ids_of(batch) + unwritten == issued);
}

TEST_CASE("LeasesAndGapsAboveTheLimitAreCounted") {
  Recording here(8, 4);
  for (std::int64_t at = 0; at < 10; ++at) {
    here.recorder.logged(LeaseGranted{1, Token{1}, at * 10 + 1, at * 10 + 11, 1});
    here.recorder.logged(GapMade{1, at * 10 + 1, at * 10 + 11, GapCause::corrupt, 1});
  }
  const HistoryBatch batch = here.take();
  CHECK(batch.leases.size() == 4);
  CHECK(batch.gaps.size() == 4);
  CHECK(batch.sequences[0].added == SequenceTotals{0, 100, 0, 0, 100, 0});
  CHECK(batch.sequences[0].unwritten == SequenceTotals{0, 60, 0, 0, 60, 0});
}

TEST_CASE("ABatchThatComesBackGoesInFrontAndKeepsItsSums") {
  Recording here(16);
  here.recorder.opened(5, 1'000, 77);
  here.recorder.opened(6, 1'000, 78);
  here.recorder.logged(LeaseGranted{1, Token{1}, 1, 1'000, 1});
  here.issue(1, 1, 50, 5);
  HistoryBatch failed = here.take();
  here.issue(1, 50, 60, 5);
  here.issue(1, 60, 70, 6);
  here.recorder.take_back(std::move(failed));
  const HistoryBatch batch = here.take();
  REQUIRE(batch.spans.size() == 2);
  CHECK((batch.spans[0].begin == 1 && batch.spans[0].end == 60));
  CHECK(batch.leases.size() == 1);
  CHECK(batch.callers.size() == 2);
  CHECK(batch.sequences[0].added == SequenceTotals{0, 999, 69, 0, 0, 0});
}

TEST_CASE("BatchesThatComeBackForeverTakeBoundedRoom") {
  Recording here(16);
  std::int64_t id = 1;
  for (SessionId session = 1; session <= 2'000; ++session) {
    here.recorder.opened(session, 1'000, static_cast<std::int32_t>(session));
    here.issue(1, id, id + 10, session);
    id += 10;
    here.recorder.closed(session);
    HistoryBatch failed = here.take();
    CHECK(failed.spans.size() <= 16);
    CHECK(failed.callers.size() <= 16 * IssueSpan::kNamed);
    here.recorder.take_back(std::move(failed));
  }
  const HistoryBatch batch = here.take();
  CHECK(ids_of(batch) + batch.sequences[0].unwritten.issued == id - 1);
  CHECK(batch.sequences[0].added.issued == id - 1);
}

TEST_CASE("LeasesAndGapsThatComeBackForeverTakeBoundedRoom") {
  constexpr std::size_t kEvents = 8;
  Recording here(16, kEvents);
  std::int64_t id = 1;
  const auto record_some = [&] {
    for (int i = 0; i < 20; ++i, ++id) {
      here.recorder.logged(LeaseGranted{1, {}, id, id + 1, 1});
      here.recorder.logged(GapMade{1, id, id + 1, GapCause::corrupt, 1});
    }
  };
  for (int round = 0; round < 50; ++round) {
    record_some();
    HistoryBatch failed = here.take();
    CHECK(failed.leases.size() <= kEvents);
    CHECK(failed.gaps.size() <= kEvents);
    record_some();
    here.recorder.take_back(std::move(failed));
  }
  const HistoryBatch batch = here.take();
  const SequenceTotals& unwritten = batch.sequences[0].unwritten;
  CHECK(unwritten.leased + static_cast<std::int64_t>(batch.leases.size()) == id - 1);
  CHECK(unwritten.gaps + static_cast<std::int64_t>(batch.gaps.size()) == id - 1);
}

// The numbers of sequences rise as long as the state directory lives.
TEST_CASE("WhatIsForgottenTakesNoRoom") {
  Recording here;
  SequenceId id = 4'000'000'000;
  for (int period = 0; period < 1'000; ++period, ++id) {
    here.define(id, "orders@" + std::to_string(period));
    here.issue(id, 1, 11, 0);
    here.recorder.logged(ForgetSequence{id});
    HistoryBatch batch = here.take();
    REQUIRE(batch.sequences.size() == 1);
    CHECK(batch.sequences[0].ended);
    if (period % 2 == 0) continue;
    here.recorder.take_back(std::move(batch));
    batch = here.take();
    REQUIRE(batch.sequences.size() == 1);
    CHECK(batch.sequences[0].ended);
    CHECK(batch.sequences[0].name == "orders@" + std::to_string(period));
    CHECK(batch.sequences[0].added.issued == 10);
    CHECK(ids_of(batch) == 10);
  }
  here.issue(1, 1, 2, 0);
  CHECK(here.take().sequences[0].name == "orders");
  CHECK(here.recorder.sequences() == 1);
}

TEST_CASE("CallersAreNumberedOnBehindThirtyTwoBits") {
  constexpr CallerNumber kFirst = 0xffff'ffff;
  TurnedClock clock;
  HistoryRecorder recorder(clock, {64, 16, kFirst});
  recorder.logged(DefineSequence{1, 1, "orders", "", 0});
  std::set<CallerNumber> numbers;
  for (SessionId session = 1; session <= 3; ++session) {
    recorder.opened(session, 1'000, static_cast<std::int32_t>(session));
    recorder.issued(1, static_cast<std::int64_t>(session), static_cast<std::int64_t>(session) + 1,
                    session);
    const HistoryBatch batch = recorder.take(1, [](HistorySequence&) {});
    REQUIRE(batch.spans.size() == 1);
    CHECK(batch.spans[0].callers[0] >= kFirst);
    numbers.insert(batch.spans[0].callers[0]);
  }
  CHECK(numbers.size() == 3);
}

TEST_CASE("ASequenceThatIsForgottenHasEnded") {
  TurnedClock clock;
  HistoryRecorder recorder(clock, {64, 64});
  recorder.logged(DefineSequence{1, 1, "orders", "", 0});
  recorder.logged(ForgetSequence{1});
  HistoryBatch batch = recorder.take(1, [](HistorySequence&) {});
  REQUIRE(batch.sequences.size() == 1);
  CHECK(batch.sequences[0].ended);
  // A batch that could not be written is not lost.
  recorder.take_back(std::move(batch));
  CHECK(recorder.take(2, [](HistorySequence&) {}).sequences.at(0).ended);
  recorder.issued(1, 1, 2, 0);
  CHECK_FALSE(recorder.take(3, [](HistorySequence&) {}).sequences.at(0).ended);
}

}  // namespace
}  // namespace seqd
