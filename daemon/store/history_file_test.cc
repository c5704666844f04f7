#include "daemon/store/history_file.h"

#include <sys/resource.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <optional>

#include "daemon/store/history_pruning.h"
#include "daemon/store/history_reader.h"
#include "tests/adapters/store_fixtures.h"

// After the project's headers: both define CHECK, and here Catch's is meant.
#include <catch2/catch.hpp>

namespace seqd {
namespace {

using testing::ScratchDirectory;

constexpr std::int64_t kNowMs = 1'700'000'000'000;

// A process's view of one history file.
struct Opened {
  explicit Opened(const std::string& path)
      : database(path), file(database, "here"), reader(database) {}
  HistoryDatabase database;
  HistoryFile file;
  HistoryReader reader;
};

struct Kept {
  Kept() { open(); }
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
  std::optional<Opened> opened;
};

// A batch of sequence 1, "orders", whose sums follow from its rows.
struct Batch : HistoryBatch {
  explicit Batch(LogPosition at, std::int64_t now_ms = kNowMs) {
    position = at;
    wall_ms = now_ms;
    sequences.push_back({1, "orders", {}, {}, {}, {}, false});
  }
  HistorySequence& orders() { return sequences[0]; }
  Batch& issue(std::int64_t begin, std::int64_t end, CallerNumber caller = 1) {
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
  Batch& lease(std::int64_t begin, std::int64_t end) {
    leases.push_back({1, Token{1}, Token{2}, begin, end, wall_ms, true});
    orders().added.leased += end - begin;
    orders().totals.leased += end - begin;
    return *this;
  }
  Batch& gap(std::int64_t begin, std::int64_t end) {
    gaps.push_back({1, begin, end, true, "no_witness", {}, Token{2}, wall_ms});
    orders().added.gaps += end - begin;
    orders().totals.gaps += end - begin;
    return *this;
  }
};

TEST_CASE("AHistoryThatIsNotThereKnowsNothingAndIsNotMade") {
  Kept kept;
  CHECK_FALSE(kept.opened->file.read_mark().exists);
  CHECK_FALSE(kept.id(5).known);
  CHECK_FALSE(kept.sums().known);
  CHECK_FALSE(std::filesystem::exists(kept.path));
}

TEST_CASE("WhatWasWrittenIsFoundByTheNextProcess") {
  Kept kept;
  Batch batch(42);
  batch.lease(1, 101).issue(1, 11, 1).issue(11, 21, 2).gap(91, 101);
  batch.orders().in_hand = {{Token{1}, 21, 91}, {Token{3}, 200, 300}};
  REQUIRE(kept.write(batch).ok());
  kept.open();
  const HistoryMark mark = kept.opened->file.read_mark();
  CHECK(mark.exists);
  CHECK(mark.position == 42);
  CHECK(mark.wall_ms == kNowMs);
  REQUIRE(mark.sequences.size() == 1);
  CHECK(mark.sequences[0].first == "orders");
  CHECK(mark.sequences[0].second.totals == SequenceTotals{0, 100, 20, 0, 10, 0});
  CHECK(mark.sequences[0].second.in_hand == batch.orders().in_hand);
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
  const IdAnswer in_hand = kept.id(50);
  CHECK((in_hand.lease && !in_hand.issue && !in_hand.gap));
  const IdAnswer nobodys = kept.id(150);
  CHECK((!nobodys.lease && !nobodys.issue && !nobodys.gap));
}

TEST_CASE("TheNumbersOfCallersOfTwoProcessesDoNotMix") {
  Kept kept;
  REQUIRE(kept.write(Batch(1).issue(1, 2, 1)).ok());
  kept.open();
  Batch second(2);
  second.issue(2, 3, 1);
  second.callers[0].pid = 999;
  REQUIRE(kept.write(second).ok());
  CHECK(kept.id(1).issue->callers.at(0).pid == 71);
  CHECK(kept.id(2).issue->callers.at(0).pid == 999);
}

TEST_CASE("ASpanOfSeveralCallersNamesThem") {
  Kept kept;
  Batch batch(1);
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
  Kept kept;
  Batch batch(1);
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
  Kept kept;
  Batch batch(1);
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
  Kept kept;
  REQUIRE(kept.write(Batch(1).issue(1, 101).issue(201, 301)).ok());
  REQUIRE(kept.write(Batch(2).issue(91, 106).issue(150, 160)).ok());
  CHECK(kept.sums().issued_twice == 10);
}

TEST_CASE("WhatWasIssuedAndGivenUpIsCounted") {
  Kept kept;
  REQUIRE(kept.write(Batch(1).issue(1, 51).issue(51, 61).gap(41, 101).gap(200, 300)).ok());
  CHECK(kept.sums().issued_and_gap == 20);
}

TEST_CASE("WhatIsOlderThanIsKeptIsDroppedAndCountedButGapsStay") {
  Kept kept;
  kept.limits.keep_ms = 60'000;
  REQUIRE(kept.write(Batch(1, kNowMs - 100'000).lease(1, 101).issue(1, 41).gap(90, 101)).ok());
  REQUIRE(kept.write(Batch(2, kNowMs).lease(101, 201).issue(101, 111)).ok());
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
  Kept kept;
  kept.limits.size = std::int64_t{1} << 20;
  REQUIRE(kept.write(Batch(1).lease(1, 1'000'001).gap(999'000, 1'000'001)).ok());
  std::int64_t id = 1;
  LogPosition position = 2;
  for (int round = 0; round < 30; ++round) {
    Batch batch(position++);
    for (int at = 0; at < 2'000; ++at, id += 3) batch.issue(id, id + 3, at % 2 == 0 ? 1 : 2);
    REQUIRE(kept.write(batch).ok());
    const Result<std::int64_t> size = history_size(kept.opened->database);
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
    Batch batch(position++);
    for (std::int64_t at = 0; at < 1'000; ++at) batch.gap(2'000'000 + at * 10, 2'000'005 + at * 10);
    REQUIRE(kept.write(batch).ok());
  }
  const SumsAnswer later = kept.sums();
  CHECK(later.dropped.gaps > 0);
  CHECK(later.rows.gaps + later.dropped.gaps == later.recorded.gaps);
  CHECK(kept.gaps().dropped.gaps == later.dropped.gaps);
}

TEST_CASE("AFileThatIsNoneIsSetAsideAndANewOneIsBegun") {
  Kept kept;
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
    REQUIRE(newer.run("PRAGMA user_version = 2").ok());
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
  Status written = kept.write(Batch(1).lease(1, 101).issue(1, 11));
  if (!written.ok()) written = kept.write(Batch(1).lease(1, 101).issue(1, 11));
  REQUIRE(written.to_string() == "OK");
  CHECK(kept.id(5).issue);
  CHECK(kept.opened->database.take_warnings().size() == 1);
  CHECK(std::filesystem::exists(kept.path + HistoryDatabase::kSetAside));
}

TEST_CASE("DamageInTheMiddleIsFoundWhenItIsMetAndANewHistoryBegins") {
  Kept kept;
  Batch batch(1);
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
    written = kept.write(Batch(attempt).issue(10'001, 10'011));
    if (written.ok()) break;
  }
  REQUIRE(written.to_string() == "OK");
  CHECK(kept.id(10'005).issue);
  CHECK(std::filesystem::exists(kept.path + HistoryDatabase::kSetAside));
}

TEST_CASE("AFullDiskRefusesABatchAndTheNextTryWritesIt") {
  Kept kept;
  REQUIRE(kept.write(Batch(1).lease(1, 101)).ok());
  std::signal(SIGXFSZ, SIG_IGN);
  rlimit before{};
  REQUIRE(getrlimit(RLIMIT_FSIZE, &before) == 0);
  rlimit small = before;
  small.rlim_cur = 100'000;
  Batch batch(2);
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
  Kept kept;
  REQUIRE(kept.write(Batch(9).lease(1, 101)).ok());
  kept.open();
  HistoryDatabase other(kept.path);
  REQUIRE(other.open().ok());
  REQUIRE(other.run("PRAGMA locking_mode = EXCLUSIVE; BEGIN IMMEDIATE").ok());
  const Status refused = kept.write(Batch(10).issue(1, 2));
  CHECK(refused.code() == ErrorCode::STATE_IO);
  REQUIRE(other.run("COMMIT; PRAGMA locking_mode = NORMAL; SELECT count(*) FROM span").ok());
  other.close();
  CHECK(kept.write(Batch(10).issue(1, 2)).to_string() == "OK");
  CHECK(kept.opened->file.read_mark().position == 10);
}

TEST_CASE("RangesInHandAreReadBackAndNonsenseIsNone") {
  const std::vector<HeldSpan> spans = {{Token{1, 0xfe}, 1, 10},
                                       {Token{}, 5, 9'223'372'036'854'775'806}};
  CHECK(read_in_hand(in_hand_text(spans)) == spans);
  CHECK(read_in_hand("").empty());
  CHECK(read_in_hand("xyz").empty());
  CHECK(read_in_hand(in_hand_text(spans) + " 00").empty());
  CHECK(read_in_hand(to_hex(Token{1}) + ":10-5").empty());
}

TEST_CASE("WhatWasGivenBackIsFoundByItsIdsAndIsNoGap") {
  Kept kept;
  Batch batch(1);
  batch.leases.push_back({1, Token{1}, Token{7}, 1, 101, kNowMs, true});
  batch.gaps.push_back({1, 31, 101, true, std::string(kGivenBack), Token{2}, Token{7}, kNowMs + 1});
  batch.orders().added = {1, 100, 0, 70, 0, 0};
  batch.orders().totals = {1, 100, 0, 70, 0, 0};
  REQUIRE(kept.write(batch).ok());
  REQUIRE(kept.id(50).gap.has_value());
  CHECK(kept.id(50).gap->gap.cause == kGivenBack);
  CHECK(kept.gaps().rows.empty());
  CHECK(kept.sums().rows.gaps == 0);
  CHECK(kept.sums().recorded.returned == 70);
  // Leased again, and lost then: the youngest row is the last word.
  Batch later(2, kNowMs + 10);
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

}  // namespace
}  // namespace seqd
