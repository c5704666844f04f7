// KeptHistory: a history file in a scratch directory, with the writer and the reader that a process
// has of it, and batches whose sums follow from their rows. For the tests of daemon/store/history.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "daemon/store/history/history_pruning.h"
#include "daemon/store/history/history_reader.h"
#include "tests/adapters/store_fixtures.h"

#include <catch2/catch.hpp>

namespace seqd::testing {

inline constexpr std::int64_t kHourMs = 3'600'000;
inline constexpr std::int64_t kNowMs = 1'700'000'000'000;

// A process's view of one history file.
struct OpenedHistory {
  explicit OpenedHistory(const std::string& path) : database(path) {}
  HistoryDatabase database;
  HistoryFile file{database, "here"};
  HistoryReader reader{database};
};

struct KeptHistory {
  KeptHistory() { open(); }
  void open() {
    opened.reset();
    opened.emplace(path);
  }
  Status write(const HistoryBatch& batch) { return opened->file.write(batch, limits); }
  IdAnswer id(std::int64_t id, const std::string& name = "orders") {
    Result<IdAnswer> answer = opened->reader.id(name, id);
    REQUIRE(answer.status().to_string() == "OK");
    return *answer;
  }
  SumsAnswer sums(const std::string& name = "orders") {
    Result<SumsAnswer> answer = opened->reader.sums(name);
    REQUIRE(answer.status().to_string() == "OK");
    return *answer;
  }
  GapsAnswer gaps(std::int64_t after = 0, std::int64_t limit = 100) {
    Result<GapsAnswer> answer = opened->reader.gaps({"orders", after, limit});
    REQUIRE(answer.status().to_string() == "OK");
    return *answer;
  }
  ScratchDirectory directory;
  const std::string path = directory.path("history.db");
  HistoryLimits limits;
  std::optional<OpenedHistory> opened;
};

// A batch of sequence 1, "orders", whose sums follow from its rows.
struct HistoryRows : HistoryBatch {
  explicit HistoryRows(LogPosition at, std::int64_t now_ms = kNowMs) {
    position = at;
    wall_ms = now_ms;
    sequences.push_back({1, "orders", {}, {}, {}, {}, false, false});
  }
  HistorySequence& orders() { return sequences[0]; }
  HistoryRows& issue(std::int64_t begin, std::int64_t end, CallerNumber caller = 1) {
    IssueSpan span;
    span.sequence = 1;
    span.begin = begin;
    span.end = end;
    span.first_ms = wall_ms - 10;
    span.last_ms = wall_ms;
    span.callers[0] = caller;
    spans.push_back(span);
    if (caller != 0) callers.push_back({caller, 1'000, 70 + static_cast<int>(caller), "shop"});
    orders().added.issued += end - begin;
    orders().totals.issued += end - begin;
    return *this;
  }
  HistoryRows& lease(std::int64_t begin, std::int64_t end) {
    leases.push_back({1, Token{1}, Token{2}, begin, end, wall_ms, true});
    orders().added.leased += end - begin;
    orders().totals.leased += end - begin;
    return *this;
  }
  HistoryRows& gap(std::int64_t begin, std::int64_t end) {
    gaps.push_back({1, begin, end, true, "no_witness", {}, Token{2}, wall_ms});
    orders().added.gaps += end - begin;
    orders().totals.gaps += end - begin;
    return *this;
  }
};

inline std::int64_t rows(KeptHistory& kept, const std::string& table) {
  REQUIRE(kept.opened->database.open().ok());
  return kept.opened->database.number(("SELECT count(*) FROM " + table).c_str()).value();
}

// Whether there is more to drop.
inline bool prune(KeptHistory& kept, std::int64_t now_ms) {
  const Result<bool> more = kept.opened->file.prune(kept.limits, now_ms, false);
  REQUIRE(more.status().to_string() == "OK");
  return *more;
}

}  // namespace seqd::testing
