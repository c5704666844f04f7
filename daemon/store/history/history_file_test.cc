#include "daemon/store/history/history_file.h"

#include <sys/resource.h>
#include <sys/stat.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <thread>

#include "daemon/store/sqlite/sqlite_connection.h"
#include "tests/adapters/kept_history.h"

#include <catch2/catch.hpp>

namespace seqd {
namespace {

using namespace testing;

TEST_CASE("AHistoryThatIsNotThereKnowsNothingAndIsNotMade") {
  KeptHistory kept;
  CHECK_FALSE(kept.opened->file.read_mark().exists);
  CHECK_FALSE(kept.id(5).known);
  CHECK_FALSE(kept.sums().known);
  CHECK_FALSE(std::filesystem::exists(kept.path));
}

// It has the users who took IDs.
TEST_CASE("AHistoryIsTheDaemonsAloneWhateverTheUmaskIs") {
  KeptHistory kept;
  const mode_t before = umask(0);
  const Status written = kept.write(HistoryRows(1).lease(1, 11));
  umask(before);
  REQUIRE(written.ok());
  CHECK((std::filesystem::status(kept.path).permissions() & std::filesystem::perms::all) ==
        (std::filesystem::perms::owner_read | std::filesystem::perms::owner_write));
}

// Under the thread sanitizer this is what notices a handle that is used after it was closed.
TEST_CASE("AConnectionIsInterruptedWhileAnotherThreadClosesIt") {
  KeptHistory kept;
  REQUIRE(kept.write(HistoryRows(1).lease(1, 11)).ok());
  HistoryDatabase audited(kept.path, HistoryDatabase::Access::read);
  for (int round = 0; round < 20; ++round) {
    REQUIRE(audited.open().ok());
    std::jthread auditor([&] {
      static_cast<void>(audited.number("SELECT count(*) FROM lease").ok());
      audited.close();
    });
    for (int times = 0; times < 200; ++times) audited.interrupt();
  }
}

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
    const Result<std::int64_t> size = history_max_size(kept.opened->database);
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

TEST_CASE("AFileThatIsNoneIsSetAsideAndANewOneIsBegun") {
  KeptHistory kept;
  SECTION("text") {
    std::ofstream(kept.path) << std::string(5'000, 'x');
  }
  SECTION("another program's") {
    HistoryDatabase other(kept.path);
    REQUIRE(other.open().ok());
    REQUIRE(other.run("PRAGMA application_id = 77").ok());
  }
  SECTION("another version's") {
    HistoryDatabase newer(kept.path);
    REQUIRE(newer.open().ok());
    REQUIRE(newer.run("PRAGMA user_version = 3").ok());
  }
  SECTION("ours without its tables") {
    HistoryDatabase holed(kept.path);
    REQUIRE(holed.open().ok());
    REQUIRE(holed.run("DROP TABLE span; DROP TABLE about").ok());
  }
  const std::string before = [&] {
    std::ifstream in(kept.path, std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(in), {});
  }();
  kept.open();
  CHECK_FALSE(kept.opened->file.read_mark().exists);
  Status written = kept.write(HistoryRows(1).lease(1, 101).issue(1, 11));
  if (!written.ok()) written = kept.write(HistoryRows(1).lease(1, 101).issue(1, 11));
  REQUIRE(written.to_string() == "OK");
  CHECK(kept.id(5).issue);
  CHECK(kept.opened->database.take_warnings().size() == 1);
  CHECK(std::filesystem::exists(kept.path + HistoryDatabase::kSetAside));
}

TEST_CASE("DamageInTheMiddleIsFoundWhenItIsMetAndANewHistoryBegins") {
  KeptHistory kept;
  HistoryRows batch(1);
  for (std::int64_t id = 1; id < 4'000; id += 2) batch.issue(id, id + 1);
  REQUIRE(kept.write(batch).ok());
  kept.opened.reset();
  {
    std::fstream file(kept.path, std::ios::in | std::ios::out | std::ios::binary);
    for (std::streamoff at = 4'096; at < 80'000; at += 64) {
      file.seekp(at);
      file.write("damage", 6);
    }
  }
  kept.open();
  static_cast<void>(kept.opened->file.read_mark());
  Status written;
  for (LogPosition attempt = 2; attempt < 5; ++attempt) {
    written = kept.write(HistoryRows(attempt).issue(10'001, 10'011));
    if (written.ok()) break;
  }
  REQUIRE(written.to_string() == "OK");
  CHECK(kept.id(10'005).issue);
  CHECK(std::filesystem::exists(kept.path + HistoryDatabase::kSetAside));
}

TEST_CASE("AFullDiskRefusesABatchAndTheNextTryWritesIt") {
  KeptHistory kept;
  REQUIRE(kept.write(HistoryRows(1).lease(1, 101)).ok());
  std::signal(SIGXFSZ, SIG_IGN);
  rlimit before{};
  REQUIRE(getrlimit(RLIMIT_FSIZE, &before) == 0);
  rlimit small = before;
  small.rlim_cur = 100'000;
  HistoryRows batch(2);
  for (std::int64_t id = 1; id < 6'000; id += 2) batch.issue(id, id + 1);
  REQUIRE(setrlimit(RLIMIT_FSIZE, &small) == 0);
  const Status refused = kept.write(batch);
  REQUIRE(setrlimit(RLIMIT_FSIZE, &before) == 0);
  CHECK(refused.code() == ErrorCode::STATE_IO);
  CHECK(kept.sums().rows == SequenceTotals{0, 100, 0, 0, 0, 0});
  REQUIRE(kept.write(batch).to_string() == "OK");
  CHECK(kept.sums().rows.issued == batch.orders().added.issued);
  CHECK(kept.opened->database.take_warnings().empty());
}

TEST_CASE("AFileThatSomebodyHoldsLockedIsNotReadAsEmpty") {
  KeptHistory kept;
  REQUIRE(kept.write(HistoryRows(9).lease(1, 101)).ok());
  kept.open();
  HistoryDatabase other(kept.path);
  REQUIRE(other.open().ok());
  REQUIRE(other.run("PRAGMA locking_mode = EXCLUSIVE; BEGIN IMMEDIATE").ok());
  const Status refused = kept.write(HistoryRows(10).issue(1, 2));
  CHECK(refused.code() == ErrorCode::STATE_IO);
  REQUIRE(other.run("COMMIT; PRAGMA locking_mode = NORMAL; SELECT count(*) FROM span").ok());
  other.close();
  CHECK(kept.write(HistoryRows(10).issue(1, 2)).to_string() == "OK");
  CHECK(kept.opened->file.read_mark().position == 10);
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

TEST_CASE("AHistoryOfTheFormerVersionGoesOn") {
  KeptHistory kept;
  {
    sqlite3* handle = nullptr;
    REQUIRE(sqlite3_open(kept.path.c_str(), &handle) == SQLITE_OK);
    constexpr char kFormer[] = R"(
      PRAGMA journal_mode = WAL;
      CREATE TABLE about(position INTEGER NOT NULL, wall_ms INTEGER NOT NULL, began_ms INTEGER);
      CREATE TABLE host(id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
      CREATE TABLE sequence(
        id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, in_hand TEXT NOT NULL DEFAULT '',
        leased INTEGER NOT NULL DEFAULT 0, issued INTEGER NOT NULL DEFAULT 0,
        returned INTEGER NOT NULL DEFAULT 0, gaps INTEGER NOT NULL DEFAULT 0,
        unknown INTEGER NOT NULL DEFAULT 0,
        more_leased INTEGER NOT NULL DEFAULT 0, more_issued INTEGER NOT NULL DEFAULT 0,
        more_returned INTEGER NOT NULL DEFAULT 0, more_gaps INTEGER NOT NULL DEFAULT 0,
        more_unknown INTEGER NOT NULL DEFAULT 0,
        dropped_leased INTEGER NOT NULL DEFAULT 0, dropped_issued INTEGER NOT NULL DEFAULT 0,
        dropped_gaps INTEGER NOT NULL DEFAULT 0, dropped_unknown INTEGER NOT NULL DEFAULT 0,
        issues_below INTEGER NOT NULL DEFAULT 0, leases_below INTEGER NOT NULL DEFAULT 0);
      CREATE TABLE span(
        id INTEGER PRIMARY KEY, sequence INTEGER NOT NULL, first INTEGER NOT NULL,
        count INTEGER NOT NULL, began_ms INTEGER NOT NULL, lasted_ms INTEGER NOT NULL,
        caller INTEGER NOT NULL, others TEXT);
      CREATE INDEX span_by_first ON span(sequence, first);
      CREATE TABLE caller(
        id INTEGER PRIMARY KEY, uid INTEGER NOT NULL, pid INTEGER NOT NULL, name TEXT NOT NULL,
        used_ms INTEGER NOT NULL);
      CREATE TABLE lease(
        id INTEGER PRIMARY KEY, sequence INTEGER NOT NULL, first INTEGER NOT NULL,
        count INTEGER NOT NULL, at_ms INTEGER NOT NULL, token BLOB NOT NULL, instance BLOB NOT NULL,
        host INTEGER NOT NULL, whole INTEGER NOT NULL);
      CREATE INDEX lease_by_first ON lease(sequence, first);
      CREATE TABLE gap(
        id INTEGER PRIMARY KEY AUTOINCREMENT, sequence INTEGER NOT NULL, first INTEGER,
        count INTEGER NOT NULL, at_ms INTEGER NOT NULL, cause TEXT NOT NULL, token BLOB,
        instance BLOB NOT NULL, host INTEGER NOT NULL);
      CREATE INDEX gap_by_sequence ON gap(sequence, id); CREATE INDEX gap_by_first ON gap(sequence, first);
      INSERT INTO about VALUES(7, 1700000000000, 1600000000000);
      INSERT INTO sequence(id, name, issued) VALUES(1, 'orders', 1);
      INSERT INTO span VALUES(5, 1, 4, 1, 1700000000000, 0, 9, NULL);
      INSERT INTO host VALUES(1, 'here'); INSERT INTO caller VALUES(9, 1000, 77, 'former', 1700000000000);
      INSERT INTO gap VALUES(
        1, 1, 20, 5, 1700000000000, 'given_back', NULL, x'00000000000000000000000000000007', 1);
      PRAGMA application_id = 1936028008; PRAGMA user_version = 1;
    )";
    REQUIRE(sqlite3_exec(handle, kFormer, nullptr, nullptr, nullptr) == SQLITE_OK);
    sqlite3_close(handle);
  }
  CHECK(kept.opened->file.read_mark().position == 7);
  CHECK(kept.opened->database.take_warnings().empty());
  CHECK(kept.id(22).gap.value().gap.cause == kReturned);
  CHECK(kept.id(4).issue->callers.at(0).name == "former");
  REQUIRE(kept.write(HistoryRows(8).issue(5, 6)).ok());
  CHECK(kept.id(5).issue->callers.at(0).name == "shop");
  CHECK(kept.id(4).issue->callers.at(0).name == "former");
  kept.limits.keep_ms = kHourMs;
  CHECK_FALSE(prune(kept, kNowMs + kHourMs + 1));
  CHECK(rows(kept, "caller") == 0);
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

TEST_CASE("AHistoryThatIsSwitchedOffIsRemoved") {
  KeptHistory kept;
  REQUIRE(kept.write(HistoryRows(1).issue(1, 5)).ok());
  std::ofstream(kept.path + HistoryDatabase::kSetAside) << "personal";
  REQUIRE(kept.opened->file.remove().ok());
  CHECK(std::filesystem::is_empty(kept.directory.path("")));
  REQUIRE(kept.opened->file.remove().ok());
}

}  // namespace
}  // namespace seqd
