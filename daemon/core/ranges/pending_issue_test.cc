#include "daemon/core/ranges/pending_issue.h"

#include <tuple>
#include <vector>

#include <catch2/catch.hpp>

namespace seqd {
namespace {

using Told = std::vector<std::tuple<std::int64_t, std::int64_t, SessionId>>;

class Listener final : public HistorySink {
 public:
  void issued(SequenceId, std::int64_t begin, std::int64_t end, SessionId session) override {
    told.emplace_back(begin, end, session);
  }
  Told told;
};

Issued one(std::int64_t id) {
  return {1, id, id + 1, 0, 0, IssueKind::single};
}

TEST_CASE("ConsecutiveIssuesOfOneSessionAreReportedOnce") {
  Listener history;
  PendingIssue pending(&history);
  CHECK_FALSE(pending.merge(one(10), 100, 7));
  pending.begin(one(10), 100, 7);
  CHECK(pending.merge(one(11), 100, 7));
  CHECK(pending.merge(one(12), 100, 7));
  CHECK(history.told.empty());
  CHECK(pending.take() == Issued{1, 10, 13, 0, 0, IssueKind::single});
  CHECK(pending.empty());
  CHECK(history.told == Told{{10, 13, 7}});
}

TEST_CASE("AnotherSessionIsAnotherPieceForTheHistoryAndTheSameEntryForTheLog") {
  Listener history;
  PendingIssue pending(&history);
  pending.begin(one(10), 100, 7);
  CHECK(pending.merge(one(11), 100, 8));
  CHECK(pending.merge(one(12), 100, 8));
  CHECK(pending.merge(one(13), 100, 7));
  CHECK(pending.take().end == 14);
  CHECK(history.told == Told{{10, 11, 7}, {11, 13, 8}, {13, 14, 7}});
}

TEST_CASE("TextsOfOneSecondAreOneEntryAndOthersAreNot") {
  const auto text = [](std::int64_t id, std::int64_t wall_s) {
    return Issued{1, id, id + 1, 3, static_cast<std::uint32_t>(id), IssueKind::text, 2, wall_s};
  };
  PendingIssue pending(nullptr);
  pending.begin(text(10, 500), 100, 7);
  CHECK(pending.merge(text(11, 500), 100, 7));
  CHECK_FALSE(pending.merge(text(12, 501), 100, 7));
  Issued other = text(12, 500);
  other.form = 3;
  CHECK_FALSE(pending.merge(other, 100, 7));
  Issued number = text(12, 0);
  number.kind = IssueKind::single;
  CHECK_FALSE(pending.merge(number, 100, 7));
  CHECK(pending.take() == Issued{1, 10, 12, 3, 10, IssueKind::text, 2, 500});
}

TEST_CASE("AnotherRangeOrClientOrKindIsAnotherEntry") {
  PendingIssue pending(nullptr);
  pending.begin(one(10), 100, 7);
  CHECK_FALSE(pending.merge(one(12), 100, 7));
  CHECK_FALSE(pending.merge(one(11), 200, 7));
  Issued other = one(11);
  other.kind = IssueKind::batch;
  CHECK_FALSE(pending.merge(other, 100, 7));
  other = one(11);
  other.client = 3;
  CHECK_FALSE(pending.merge(other, 100, 7));
  CHECK(pending.merge(one(11), 100, 7));
}

TEST_CASE("RequestsOfAClientMergeWhileTheirNumbersFollow") {
  PendingIssue pending(nullptr);
  pending.begin({1, 10, 11, 3, 41, IssueKind::single}, 100, 7);
  CHECK(pending.merge({1, 11, 12, 3, 42, IssueKind::single}, 100, 7));
  CHECK_FALSE(pending.merge({1, 12, 13, 3, 44, IssueKind::single}, 100, 7));
}

}  // namespace
}  // namespace seqd
