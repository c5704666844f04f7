// What is too old, or was told by another clock, leaves the history, and who took IDs leaves no
// byte.
#include "daemon/store/history/history_pruning.h"

#include <sqlite3.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "daemon/store/history/history_file.h"
#include "tests/adapters/sqlite/kept_history.h"

#include <catch2/catch.hpp>

namespace seqd {
namespace {

using namespace testing;

// What the file and its write-ahead log have, as bytes.
bool has_bytes(const KeptHistory& kept, const std::string& what) {
  for (const char* end : {"", "-wal"}) {
    std::ifstream file(kept.path + end, std::ios::binary);
    const std::string all((std::istreambuf_iterator<char>(file)), {});
    if (all.find(what) != std::string::npos) return true;
  }
  return false;
}

HistoryRows named(LogPosition at, std::int64_t now_ms, std::int64_t id, const std::string& name) {
  HistoryRows batch(at, now_ms);
  batch.lease(id, id + 1).issue(id, id + 1);
  batch.callers[0].name = name;
  return batch;
}

TEST_CASE("WhatIsOlderThanIsKeptIsDroppedAndCountedButGapsStay") {
  KeptHistory kept;
  kept.limits.keep_ms = 60'000;
  REQUIRE(
      kept.write(HistoryRows(1, kNowMs - 100'000).lease(1, 101).issue(1, 41).gap(90, 101)).ok());
  REQUIRE(kept.write(HistoryRows(2, kNowMs).lease(101, 201).issue(101, 111)).ok());
  const SumsAnswer sums = kept.sums();
  CHECK(sums.rows == SequenceTotals{0, 100, 10, 0, 11, 0});
  CHECK(sums.dropped == SequenceTotals{0, 100, 40, 0, 0, 0});
  CHECK(sums.recorded == SequenceTotals{0, 200, 50, 0, 11, 0});
  const IdAnswer old = kept.id(20);
  CHECK((!old.issue && !old.lease));
  CHECK(old.issues_forgotten_below == 41);
  CHECK(old.leases_forgotten_below == 101);
  CHECK(kept.id(95).gap);
}

TEST_CASE("AFileThatIsFullDropsTheOldestIssuesFirstAndGapsLast") {
  KeptHistory kept;
  kept.limits.size = std::int64_t{1} << 20;
  REQUIRE(kept.write(HistoryRows(1).lease(1, 1'000'001).gap(999'000, 1'000'001)).ok());
  std::int64_t id = 1;
  LogPosition position = 2;
  for (int round = 0; round < 30; ++round) {
    HistoryRows batch(position++);
    for (int at = 0; at < 2'000; ++at, id += 3) batch.issue(id, id + 3, at % 2 == 0 ? 1 : 2);
    REQUIRE(kept.write(batch).ok());
    const Result<std::int64_t> size = history_used_bytes(kept.opened->database);
    REQUIRE(size.ok());
    CHECK(*size <= kept.limits.size);
  }
  const SumsAnswer sums = kept.sums();
  CHECK(sums.rows.issued > 0);
  CHECK(sums.dropped.issued > 0);
  CHECK(sums.rows.issued + sums.dropped.issued == id - 1);
  CHECK(sums.rows.gaps == 1'001);
  CHECK(kept.id(id - 1).issue);
  CHECK_FALSE(kept.id(1).issue);
  CHECK(kept.id(1).issues_forgotten_below > 1);
  // The file itself stays near the bound, its log included.
  CHECK(std::filesystem::file_size(kept.path) < std::uint64_t{3} << 20);
  // Even gaps go when there is nothing else, and are counted.
  for (int round = 0; round < 40; ++round) {
    HistoryRows batch(position++);
    for (std::int64_t at = 0; at < 1'000; ++at) batch.gap(2'000'000 + at * 10, 2'000'005 + at * 10);
    REQUIRE(kept.write(batch).ok());
  }
  const SumsAnswer later = kept.sums();
  CHECK(later.dropped.gaps > 0);
  CHECK(later.rows.gaps + later.dropped.gaps == later.recorded.gaps);
  CHECK(kept.gaps().dropped.gaps == later.dropped.gaps);
}

TEST_CASE("WhatIsTooOldIsDroppedWithoutAWriteAndOverwritten") {
  KeptHistory kept;
  kept.limits.keep_ms = kHourMs;
  REQUIRE(kept.write(named(1, kNowMs, 1, "a-distinctive-caller")).ok());
  REQUIRE(has_bytes(kept, "a-distinctive-caller"));
  CHECK_FALSE(prune(kept, kNowMs + kHourMs));
  CHECK(kept.id(1).issue);
  CHECK_FALSE(prune(kept, kNowMs + kHourMs + 1));
  CHECK_FALSE(kept.id(1).issue);
  CHECK_FALSE(kept.id(1).lease);
  CHECK(kept.id(1).issues_forgotten_below == 2);
  CHECK(rows(kept, "caller") == 0);
  CHECK_FALSE(has_bytes(kept, "a-distinctive-caller"));
}

TEST_CASE("AHistoryThatIsNotThereIsNotMadeToBePruned") {
  KeptHistory kept;
  CHECK_FALSE(prune(kept, kNowMs));
  CHECK_FALSE(std::filesystem::exists(kept.path));
}

TEST_CASE("WhatWasWrittenByAClockThatWasAheadGoesInItsTimeToo") {
  KeptHistory kept;
  kept.limits.keep_ms = kHourMs;
  // A year ahead for one batch.
  REQUIRE(kept.write(named(1, kNowMs + 8'760 * kHourMs, 1, "ahead")).ok());
  REQUIRE(kept.write(named(2, kNowMs, 2, "behind it")).ok());
  CHECK_FALSE(prune(kept, kNowMs + kHourMs / 2));
  CHECK((kept.id(1).issue && kept.id(2).issue));
  CHECK_FALSE(prune(kept, kNowMs + kHourMs + kHourMs / 30 + 1));
  CHECK_FALSE(kept.id(1).issue);
  CHECK_FALSE(kept.id(2).issue);
  CHECK(rows(kept, "caller") == 0);
}

TEST_CASE("OfAnIdleDaemonTooAndAClockThatWasBehindDropsNothingElse") {
  KeptHistory kept;
  kept.limits.keep_ms = kHourMs;
  REQUIRE(kept.write(named(1, kNowMs + 8'760 * kHourMs, 1, "ahead")).ok());
  CHECK_FALSE(prune(kept, kNowMs));
  CHECK(kept.id(1).issue);
  // Without any other row.
  CHECK_FALSE(prune(kept, kNowMs + kHourMs + 1));
  CHECK_FALSE(kept.id(1).issue);
  // 1970, as a machine without a battery says.
  REQUIRE(kept.write(named(2, kNowMs, 2, "well dated")).ok());
  CHECK_FALSE(prune(kept, 1'000));
  REQUIRE(kept.write(named(3, 2'000, 3, "in 1970")).ok());
  CHECK_FALSE(prune(kept, 100'000));
  CHECK_FALSE(prune(kept, kNowMs + 1));
  CHECK(kept.id(2).issue);
  CHECK(kept.id(2).issue->callers.at(0).name == "well dated");
}

TEST_CASE("ACallerStaysAsLongAsASpanOfHisAndNoLonger") {
  KeptHistory kept;
  kept.limits.keep_ms = kHourMs;
  REQUIRE(kept.write(named(1, kNowMs, 1, "shop")).ok());
  HistoryRows second(2, kNowMs + kHourMs / 2);
  second.issue(2, 3, 2);
  second.callers[0].name = "desk";
  REQUIRE(kept.write(second).ok());
  CHECK_FALSE(prune(kept, kNowMs + kHourMs + 1));
  CHECK(rows(kept, "caller") == 1);
  CHECK(kept.id(2).issue->callers.at(0).name == "desk");
  CHECK_FALSE(has_bytes(kept, "shop"));
}

TEST_CASE("CallersThatAreNotRecordedAreNotThereAndThoseThatWereAreRemoved") {
  KeptHistory kept;
  REQUIRE(kept.write(named(1, kNowMs, 1, "a-distinctive-caller")).ok());
  kept.limits.callers = false;
  REQUIRE(kept.write(named(2, kNowMs, 2, "another-caller")).ok());
  CHECK_FALSE(prune(kept, kNowMs));
  CHECK(rows(kept, "caller") == 0);
  CHECK((kept.id(1).issue->callers.empty() &&
         kept.id(1).issue->caller_missing == CallerMissing::dropped));
  CHECK((kept.id(2).issue->callers.empty() &&
         kept.id(2).issue->caller_missing == CallerMissing::off));
  CHECK_FALSE((has_bytes(kept, "a-distinctive-caller") || has_bytes(kept, "another-caller")));
  // Their numbers are not given to others.
  kept.limits.callers = true;
  kept.open();
  REQUIRE(kept.write(named(3, kNowMs, 3, "somebody else")).ok());
  CHECK(kept.id(3).issue->callers.at(0).name == "somebody else");
  CHECK(kept.id(1).issue->callers.empty());
}

// A connection of another program: a shell, a backup.
class Outsider {
 public:
  explicit Outsider(const std::string& path) {
    REQUIRE(sqlite3_open(path.c_str(), &handle_) == SQLITE_OK);
  }
  ~Outsider() { sqlite3_close(handle_); }
  Outsider(const Outsider&) = delete;
  Outsider& operator=(const Outsider&) = delete;
  void run(const char* sql) {
    REQUIRE(sqlite3_exec(handle_, sql, nullptr, nullptr, nullptr) == SQLITE_OK);
  }

 private:
  sqlite3* handle_ = nullptr;
};

TEST_CASE("WhatWasDroppedWhileAnotherProgramReadIsOverwrittenBehindIt") {
  KeptHistory kept;
  REQUIRE(kept.write(named(1, kNowMs, 1, "a-distinctive-caller")).ok());
  kept.limits.callers = false;
  {
    Outsider reader(kept.path);
    reader.run("BEGIN; SELECT count(*) FROM caller");
    CHECK_FALSE(prune(kept, kNowMs));
    CHECK(has_bytes(kept, "a-distinctive-caller"));
    reader.run("COMMIT");
  }
  CHECK_FALSE(prune(kept, kNowMs));
  CHECK_FALSE(has_bytes(kept, "a-distinctive-caller"));
}

TEST_CASE("WhatAKilledProcessDroppedIsOverwrittenByTheNextOne") {
  KeptHistory kept;
  REQUIRE(kept.write(named(1, kNowMs, 1, "a-distinctive-caller")).ok());
  kept.limits.callers = false;
  // As long as it is open nobody who closes the file moves its write-ahead log.
  Outsider idle(kept.path);
  idle.run("SELECT count(*) FROM caller");
  CHECK_FALSE(kept.opened->file.prune(kept.limits, kNowMs, true).value());
  REQUIRE(has_bytes(kept, "a-distinctive-caller"));
  kept.open();
  CHECK_FALSE(prune(kept, kNowMs));
  CHECK_FALSE(has_bytes(kept, "a-distinctive-caller"));
}

TEST_CASE("WhyACallerIsMissingIsTold") {
  KeptHistory kept;
  HistoryRows batch(1);
  batch.issue(1, 2, 0).issue(2, 3, 1);
  batch.issue(3, 4, 1);
  batch.spans[2].callers[1] = 0;
  batch.spans[2].caller_count = 2;
  REQUIRE(kept.write(batch).ok());
  CHECK(kept.id(1).issue->caller_missing == CallerMissing::lost);
  CHECK(kept.id(2).issue->caller_missing == CallerMissing::no);
  // Named, and perhaps somebody else.
  CHECK(kept.id(3).issue->callers.size() == 1);
  CHECK(kept.id(3).issue->span.others);
}

TEST_CASE("AFileThatWasSetAsideGoesWithWhatItHas") {
  KeptHistory kept;
  const std::string aside = kept.path + HistoryDatabase::kSetAside;
  const auto written = [&](std::int64_t wall_ms) {
    std::ofstream(aside) << "personal";
    std::ofstream(aside + "-wal") << "data";
    const auto at = std::chrono::time_point_cast<std::filesystem::file_time_type::duration>(
        std::filesystem::file_time_type::clock::from_sys(
            std::chrono::system_clock::time_point(std::chrono::milliseconds(wall_ms))));
    std::filesystem::last_write_time(aside, at);
    std::filesystem::last_write_time(aside + "-wal", at);
  };
  const auto is_there = [&] {
    return std::filesystem::exists(aside) || std::filesystem::exists(aside + "-wal");
  };
  kept.limits.keep_ms = kHourMs;
  written(kNowMs);
  CHECK_FALSE(prune(kept, kNowMs + kHourMs));
  CHECK(is_there());
  CHECK_FALSE(prune(kept, kNowMs + kHourMs + 1'000));
  CHECK_FALSE(is_there());
  written(kNowMs + 8'760 * kHourMs);
  CHECK_FALSE(prune(kept, kNowMs));
  CHECK_FALSE(prune(kept, kNowMs + kHourMs + 1'000));
  CHECK_FALSE(is_there());
}

TEST_CASE("ASequenceThatEndedGoesWithItsLastRow") {
  KeptHistory kept;
  kept.limits.keep_ms = kHourMs;
  REQUIRE(kept.write(HistoryRows(1).lease(1, 11).issue(1, 11)).ok());
  HistoryRows end(2, kNowMs + 10);
  end.orders().ended = true;
  REQUIRE(kept.write(end).ok());
  CHECK(kept.sums().ended);
  CHECK(kept.sums().recorded.issued == 10);
  // A start does not hear of it any more.
  CHECK(kept.opened->file.read_mark().sequences.empty());
  CHECK_FALSE(prune(kept, kNowMs + kHourMs + 1));
  CHECK(rows(kept, "sequence") == 0);
  // One that goes on stays without any row.
  REQUIRE(kept.write(HistoryRows(3).lease(1, 11)).ok());
  CHECK_FALSE(prune(kept, kNowMs + kHourMs + 1));
  CHECK(rows(kept, "sequence") == 1);
  // And one that ends without a row goes at once.
  HistoryRows last(4);
  last.orders().ended = true;
  REQUIRE(kept.write(last).ok());
  CHECK(rows(kept, "sequence") == 0);
}

TEST_CASE("ASequenceThatIsUsedAgainIsBalancedAgain") {
  KeptHistory kept;
  REQUIRE(kept.write(HistoryRows(1).lease(1, 11).issue(1, 11)).ok());
  HistoryRows end(2);
  end.orders().ended = true;
  REQUIRE(kept.write(end).ok());
  REQUIRE(kept.write(HistoryRows(3).lease(101, 111)).ok());
  const SumsAnswer sums = kept.sums();
  CHECK_FALSE(sums.ended);
  CHECK(sums.recorded.leased + sums.adjust.leased == 10);
  CHECK(sums.recorded.issued + sums.adjust.issued == 0);
}

TEST_CASE("WhenTheOldestLeaseThatIsKeptWasGrantedIsTold") {
  KeptHistory kept;
  kept.limits.keep_ms = kHourMs;
  REQUIRE(kept.write(HistoryRows(1).lease(1, 11)).ok());
  CHECK(kept.id(5).oldest_lease_ms == kNowMs);
  REQUIRE(kept.write(HistoryRows(2, kNowMs + 2 * kHourMs).lease(11, 21)).ok());
  CHECK_FALSE(prune(kept, kNowMs + 2 * kHourMs));
  CHECK(kept.id(5).leases_forgotten_below == 11);
  CHECK(kept.id(5).oldest_lease_ms == kNowMs + 2 * kHourMs);
  CHECK_FALSE(prune(kept, kNowMs + 4 * kHourMs));
  CHECK_FALSE(kept.id(5).oldest_lease_ms);
}

TEST_CASE("WhoAdvancedIsKeptAsLongAsCallersAre") {
  KeptHistory kept;
  kept.limits.keep_ms = 60'000;
  HistoryRows batch(1, kNowMs);
  batch.lease(1, 11).issue(1, 11);
  batch.advances.push_back({1, 11, 1'000, kNowMs, 1'000, 4'711});
  REQUIRE(kept.write(batch).ok());
  const IdAnswer passed = kept.id(500);
  REQUIRE(passed.advance);
  CHECK((passed.advance->begin == 11 && passed.advance->end == 1'000));
  CHECK((passed.advance->uid == 1'000U && passed.advance->pid == 4'711));
  CHECK_FALSE(kept.id(10).advance);
  CHECK_FALSE(kept.id(1'000).advance);
  CHECK(kept.sums().rows.gaps == 0);
  kept.limits.callers = false;
  CHECK_FALSE(prune(kept, kNowMs));
  REQUIRE(kept.id(500).advance);
  CHECK_FALSE(kept.id(500).advance->uid);
  CHECK_FALSE(prune(kept, kNowMs + 60'001));
  CHECK(rows(kept, "advance") == 0);
}

}  // namespace
}  // namespace seqd
