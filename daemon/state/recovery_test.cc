#include "daemon/state/recovery.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <memory>
#include <vector>

#include "daemon/state/log_format.h"
#include "tests/unit/small_daemon.h"

namespace seqd {
namespace {

// The life of a small log, and what its state was at every position.
struct Recorded {
  Recorded() {
    world.state_log_size = StateLog::smallest_size;
    world.disk.set_kind("run", FileSystemKind::local);  // every turn goes to the file at once
    process = std::make_unique<SmallDaemon>(world);
    REQUIRE(process->start());
    process->claim();
    for (int turn = 0; turn < 12; ++turn) {
      process->issue(1);
      states.push_back(process->image);
    }
    last = process->started.log->statistics().position;
    file = world.disk.content("state", "log.0");
    while (file.back() == 0) file.pop_back();
  }
  bool is_a_state(const StateImage& image) const {
    return std::find(states.begin(), states.end(), image) != states.end();
  }

  World world;
  std::unique_ptr<SmallDaemon> process;
  std::vector<StateImage> states;
  LogPosition last = 0;
  std::vector<std::uint8_t> file;
};

Result<Recovered> recover_bytes(const std::vector<std::uint8_t>& bytes) {
  MemoryDisk disk;
  const auto directory = disk.open("state");
  auto first = directory->open("log.0");
  auto second = directory->open("log.1");
  REQUIRE((*first)->write_at(0, bytes).ok());
  return recover(**first, **second, true);
}

// A whole log with a snapshot of these entries, as only a person would write it.
std::vector<std::uint8_t> log_of(const std::vector<LogEntry>& entries) {
  SegmentHeader header;
  header.number = 1;
  const Sector sector = encode_header(header);
  std::vector<std::uint8_t> bytes(sector.begin(), sector.end());
  bytes.resize(records_offset);
  const std::size_t start = bytes.size();
  begin_record(bytes, RecordKind::snapshot_end, 0, 0);
  for (const LogEntry& entry : entries) encode_entry(bytes, entry);
  end_record(bytes, start, record_seed(header));
  return bytes;
}

TEST_CASE("ALogInWhichAnIdIsTwiceIsRefusedWithTheNameOfItsSequence") {
  std::vector<LogEntry> entries = {DefineScope{1, "default", Token{1}, 2, ScopeState::owned, {}},
                                   DefineSequence{1, 1, "orders", "b", 20},
                                   AvailableRange{1, Token{1}, 10, 15, 10}};
  REQUIRE(recover_bytes(log_of(entries)).ok());
  entries.emplace_back(AvailableRange{1, Token{2}, 14, 20, 14});
  const Status refused = recover_bytes(log_of(entries)).status();
  CHECK(refused.code() == ErrorCode::STATE_CORRUPT);
  CHECK(refused.text().find("\"orders\"") != std::string::npos);
}

TEST_CASE("ALogTruncatedAtAnyByteLoadsTheTurnsBeforeIt") {
  const Recorded recorded;
  LogPosition before = 0;
  std::size_t states = 0;
  for (std::size_t length = 0; length <= recorded.file.size(); ++length) {
    const Result<Recovered> recovered =
        recover_bytes({recorded.file.begin(), recorded.file.begin() + static_cast<long>(length)});
    REQUIRE(recovered.ok());
    if (recovered->file < 0) continue;
    REQUIRE(recovered->position >= before);
    before = recovered->position;
    REQUIRE_FALSE(recovered->rotten);
    states += recorded.is_a_state(recovered->image) ? 1 : 0;
  }
  CHECK(before == recorded.last);
  CHECK(states > 12);
}

TEST_CASE("ALogWithAnyBitFlippedLoadsAPrefixAndNothingElse") {
  const Recorded recorded;
  const StateImage& newest = recorded.states.back();
  for (std::size_t bit = 0; bit < recorded.file.size() * 8; ++bit) {
    std::vector<std::uint8_t> bytes = recorded.file;
    bytes[bit / 8] = static_cast<std::uint8_t>(bytes[bit / 8] ^ (1U << (bit % 8)));
    const Result<Recovered> recovered = recover_bytes(bytes);
    INFO("bit " << bit);
    REQUIRE(recovered.ok());
    if (recovered->file < 0) continue;
    const bool unused = bit / 8 >= 84 && bit / 8 < records_offset;
    REQUIRE((recovered->image == newest) == unused);
    REQUIRE((recovered->position < recorded.last || unused));
    REQUIRE(recovered->sealed == (unused && bit / 8 >= seal_offset));
  }
}

TEST_CASE("DamageBeforeASyncedRecordIsToldFromATornEnd") {
  const Recorded recorded;
  // The first turn behind the snapshot; reservations were synced after it.
  std::vector<std::uint8_t> bytes = recorded.file;
  bytes[records_offset + *record_size(std::span(bytes).subspan(records_offset)) + 9] ^= 1;
  const Result<Recovered> recovered = recover_bytes(bytes);
  REQUIRE(recovered.ok());
  CHECK(recovered->rotten);
}

TEST_CASE("WhatAnEarlierSegmentLeftBehindIsNoDamageHoweverMuchOfItLooksLikeALength") {
  const Recorded recorded;
  // Every third of its numbers is a length of 200,000; with kind 0 a turn before ours begins there.
  for (const std::uint8_t kind : {std::uint8_t{0}, std::uint8_t{0x40}}) {
    std::vector<std::uint8_t> bytes = recorded.file;
    const std::uint8_t left[] = {0x40, 0x0d, 0x03, 0x00, 0x40, 0x0d, 0x03, 0x00, kind, 3, 1, 0x00};
    while (bytes.size() < 512 * 1024) bytes.insert(bytes.end(), std::begin(left), std::end(left));
    const Result<Recovered> recovered = recover_bytes(bytes);
    REQUIRE(recovered.ok());
    CHECK(recovered->position == recorded.last);
    CHECK_FALSE(recovered->rotten);
  }
}

TEST_CASE("AFlippedBitAndARestartNeverRepeatAnId", "[large]") {
  for (const bool rebooted : {false, true}) {
    const std::size_t length = Recorded().file.size();
    for (std::size_t byte = 0; byte < length; ++byte) {
      Recorded recorded;
      recorded.process.reset();
      rebooted ? recorded.world.cut_power([] { return true; }) : recorded.world.kill();
      recorded.world.disk.content("state", "log.0")[byte] ^= 0x10;
      SmallDaemon next(recorded.world);
      INFO("byte " << byte << " rebooted " << rebooted);
      REQUIRE(next.start());
      next.claim();
      next.issue_all_available();
      next.issue(3);
      REQUIRE(recorded.world.twice == 0);
      REQUIRE(next.conserves());
    }
  }
}

}  // namespace
}  // namespace seqd
