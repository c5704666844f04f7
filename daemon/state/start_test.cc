// start() on a MemoryDisk with a small daemon behind it: kills, copies, put-back copies, damage.
#include "daemon/state/start.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstring>
#include <memory>
#include <string>

#include "daemon/state/crc32c.h"
#include "tests/unit/small_daemon.h"

namespace seqd {
namespace {

using Process = std::unique_ptr<SmallDaemon>;

Process begin(World& world, const std::string& state = "state", const std::string& run = "run",
              AfterPowerLoss after = AfterPowerLoss::forfeit) {
  auto process = std::make_unique<SmallDaemon>(world, state, run);
  process->start(after);
  return process;
}

Process run(World& world, std::int64_t count) {
  Process process = begin(world);
  REQUIRE(process->status.ok());
  process->claim();
  process->issue(count);
  return process;
}

void kill(World& world, Process& process) {
  process.reset();
  world.kill();
}

// Everything that is still in hand is issued, and then some; nobody gets an ID twice.
void use_up(World& world, Process& process) {
  process->claim();
  process->issue_all_in_hand();
  process->issue(5);
  CHECK(process->status.ok());
  CHECK(process->conserves());
  CHECK(world.twice == 0);
}

bool starts_with(const std::string& text, const std::string& start) {
  return text.compare(0, start.size(), start) == 0;
}

TEST_CASE("AnEmptyDirectoryStartsFresh") {
  World world;
  Process process = begin(world);
  REQUIRE(process->status.ok());
  CHECK(process->started.how == "fresh");
  CHECK(process->started.warnings.empty());
  CHECK(process->image == StateImage());
  use_up(world, process);
}

TEST_CASE("AfterAKillTheWitnessLetsTheDaemonGoOnAtTheCursor") {
  World world;
  Process process = run(world, 11);
  const StateImage before = process->image;
  kill(world, process);
  process = begin(world);
  CHECK(process->started.how == "witness");
  CHECK(process->started.gaps.empty());
  CHECK(process->image.scopes == before.scopes);
  CHECK(process->image.clients == before.clients);
  const RangeInHand& range = process->image.sequences.at(1).ranges.front();
  CHECK(range.begin == 12);
  CHECK(range.reserved_end == 12);
  process->issue(29);
  CHECK(world.issued.size() == 40);
  CHECK(*world.issued.rbegin() == 40);
  CHECK(world.twice == 0);
}

TEST_CASE("AClaimInFlightKeepsItsNonceAfterAKill") {
  World world;
  Process process = begin(world);
  process->append(DefineScope{1, "default", Token{5}, 3, ScopeState::claiming, Token{6}});
  process->commit();
  kill(world, process);
  process = begin(world);
  CHECK(process->image.scopes.at(1).state == ScopeState::claiming);
  CHECK(process->image.scopes.at(1).nonce == Token{6});
  world.cut_power([] { return true; });
  process.reset();
  process = begin(world);
  CHECK(process->started.how == "clean");
  CHECK(process->image.scopes.at(1).state == ScopeState::clean);
  CHECK(process->image.scopes.at(1).nonce == Token{});
  CHECK(process->image.scopes.at(1).epoch == 3);
}

TEST_CASE("AnOrderlyStopAndARebootLoseNothing") {
  World world;
  Process process = run(world, 11);
  process->stop();
  CHECK(process->status.ok());
  process.reset();
  world.cut_power([] { return false; });
  process = begin(world);
  CHECK(process->started.how == "clean");
  CHECK(process->in_hand() == 29);
  CHECK(process->image.clients.size() == 1);
  process->claim();
  process->issue(29);
  CHECK(world.issued.size() == 40);
  CHECK(world.twice == 0);
}

TEST_CASE("APowerLossForfeitsWhatWasInHandAndSaysSo") {
  World world;
  Process process = run(world, 11);
  process.reset();
  world.cut_power([] { return false; });
  process = begin(world);
  CHECK(starts_with(process->started.how, "forfeited: "));
  REQUIRE(process->started.gaps.size() == 1);
  CHECK(process->started.gaps[0].end == 41);
  CHECK(process->started.gaps[0].cause == GapCause::power_loss);
  CHECK(process->in_hand() == 0);
  CHECK(process->image.scopes.at(1).state == ScopeState::clean);
  CHECK(process->image.scopes.at(1).epoch == 0);
  CHECK(process->image.clients.empty());
  use_up(world, process);
}

TEST_CASE("AfterAPowerLossResumeLosesTheReservationOnly") {
  World world;
  Process process = run(world, 11);
  process.reset();
  world.cut_power([] { return false; });
  process = begin(world, "state", "run", AfterPowerLoss::resume);
  CHECK(starts_with(process->started.how, "resumed"));
  // 16 are reserved; that 9 and 10 were issued is not on the medium.
  REQUIRE(process->started.gaps.size() == 1);
  CHECK(process->started.gaps[0].end == 17);
  CHECK(process->in_hand() == 24);
  use_up(world, process);
  CHECK(world.issued.count(17) == 1);
}

TEST_CASE("ResumeIsForPowerLossOnlyNotForAMissingWitness") {
  World world;
  Process process = run(world, 11);
  kill(world, process);
  world.disk.folder("run").names.clear();
  process = begin(world, "state", "run", AfterPowerLoss::resume);
  CHECK(starts_with(process->started.how, "forfeited: there is no witness"));
  CHECK(process->started.gaps[0].cause == GapCause::no_witness);
  use_up(world, process);
}

TEST_CASE("AWitnessThatIsNotOnATmpfsProvesNothing") {
  World world;
  world.disk.set_kind("run", FileSystemKind::local);
  Process process = run(world, 11);
  CHECK(process->started.warnings.size() == 1);
  kill(world, process);
  process = begin(world);
  CHECK(starts_with(process->started.how, "forfeited: "));
  use_up(world, process);
}

TEST_CASE("ASecondDaemonOnTheDirectoryIsRefused") {
  World world;
  Process first = run(world, 3);
  Process second = begin(world);
  CHECK(second->status.code() == ErrorCode::FENCED);
  second.reset();
  use_up(world, first);
}

TEST_CASE("ADirectoryOnANetworkIsRefused") {
  World world;
  world.disk.set_kind("state", FileSystemKind::remote);
  CHECK(begin(world)->status.code() == ErrorCode::STATE_IO);
}

TEST_CASE("ACopyOfARunningDirectoryForfeitsAndTheOriginalGoesOn") {
  for (const bool same_run : {true, false}) {
    World world;
    Process original = run(world, 11);
    world.disk.copy("state", "copy");
    original->issue(3);
    Process copy = begin(world, "copy", same_run ? "run" : "run2");
    REQUIRE(copy->status.ok());
    CHECK(starts_with(copy->started.how, "forfeited: "));
    use_up(world, copy);
    use_up(world, original);
    kill(world, original);
    original = begin(world);
    CHECK(original->started.how == "witness");
    use_up(world, original);
  }
}

TEST_CASE("ACopyThatForfeitsTakesNeitherTheInstanceNorTheRepeatsOfTheOriginal") {
  World world;
  Process original = run(world, 11);
  world.disk.copy("state", "copy");
  Process copy = begin(world, "copy");
  CHECK(copy->image.clients.empty());
  use_up(world, copy);
  // The copy has claimed; had it done so as the original's instance, this start would lose its
  // claim.
  original->stop();
  kill(world, original);
  original = begin(world);
  CHECK(original->started.how == "clean");
  original->claim();
  CHECK(original->in_hand() == 29);
  CHECK(original->image.sequences.at(1).totals.gaps == 0);
  use_up(world, original);
}

TEST_CASE("ACopyMadeDuringALeaseDoesNotTakeTheLeaseOver") {
  World world;
  Process original = run(world, 0);
  const Token token{42};
  original->append(LeaseIntended{1, token, 40, 0});
  original->commit_durably();
  world.lease(token, 40);
  world.disk.copy("state", "copy");
  Process copy = begin(world, "copy");
  REQUIRE(copy->started.dropped.size() == 1);
  CHECK(copy->started.dropped[0].lease == token);
  CHECK(copy->image.sequences.at(1).totals.unknown == 1);
  use_up(world, copy);
  use_up(world, original);
}

TEST_CASE("OfManyCopiesOfACleanDirectoryOneKeepsTheRemainder") {
  World world;
  Process process = run(world, 11);
  process->stop();
  kill(world, process);
  for (int number = 0; number < 10; ++number) {
    world.disk.copy("state", "copy" + std::to_string(number));
  }
  int keepers = 0;
  for (int number = 0; number < 10; ++number) {
    Process copy = begin(world, "copy" + std::to_string(number), "run" + std::to_string(number));
    CHECK(copy->started.how == "clean");
    copy->claim();
    keepers += copy->in_hand() > 0 ? 1 : 0;
    use_up(world, copy);
  }
  CHECK(keepers == 1);
}

TEST_CASE("ACopyMadeDuringAClaimClaimsWithANonceOfItsOwn") {
  World world;
  Process original = run(world, 11);
  original->stop();
  kill(world, original);
  original = begin(world);
  DefineScope scope = original->image.scopes.at(1);
  scope.state = ScopeState::claiming;
  scope.nonce = Token{7};
  original->append(scope);
  REQUIRE(original->commit_durably());
  world.disk.copy("state", "copy");
  use_up(world, original);
  // With the nonce it found it would hear that it has won: it was the original.
  Process copy = begin(world, "copy");
  CHECK(copy->started.how == "clean");
  use_up(world, copy);
  CHECK(copy->image.sequences.at(1).totals.gaps == 29);
}

TEST_CASE("AnOlderStatePutBackInPlaceIsForfeited") {
  for (const bool stopped : {false, true}) {
    World world;
    Process process = run(world, 11);
    if (stopped) process->stop();
    kill(world, process);
    world.disk.copy("state", "backup");
    process = begin(world);
    process->claim();
    process->issue(5);
    kill(world, process);
    world.disk.copy_over("backup", "state");
    process = begin(world);
    REQUIRE(process->status.ok());
    use_up(world, process);
    CHECK(world.issued.count(17) == 0);
  }
}

TEST_CASE("DeletedFilesStartFreshWithAWarning") {
  World world;
  Process process = run(world, 11);
  kill(world, process);
  world.disk.folder("state").names.clear();
  process = begin(world);
  CHECK(process->started.how == "fresh");
  CHECK(process->started.warnings.size() == 1);
  use_up(world, process);
}

TEST_CASE("OneDeletedFileIsNotMadeUpForByTheOther") {
  for (const std::string name : {"log.0", "log.1"}) {
    for (const AfterPowerLoss after : {AfterPowerLoss::forfeit, AfterPowerLoss::resume}) {
      for (const bool rebooted : {false, true}) {
        World world;
        Process process = run(world, 11);
        kill(world, process);
        process = begin(world);
        process->issue(3);
        process.reset();
        rebooted ? world.cut_power([] { return true; }) : world.kill();
        world.disk.folder("state").names.erase(name);
        process = begin(world, "state", "run", after);
        REQUIRE(process->status.ok());
        use_up(world, process);
      }
    }
  }
}

TEST_CASE("AnUnknownVersionIsRefusedAndNotTouched") {
  World world;
  Process process = run(world, 11);
  kill(world, process);
  std::vector<std::uint8_t>& bytes = world.disk.content("state", "log.0");
  bytes[8] = 2;
  // As a later version would write it: with a sum that is right.
  Sector sector{};
  std::copy_n(bytes.begin(), sector.size(), sector.begin());
  const std::uint32_t sum = crc32c(0, std::span(sector).first(80));
  for (unsigned byte = 0; byte < 4; ++byte) {
    bytes[80 + byte] = static_cast<std::uint8_t>(sum >> (8 * byte));
  }
  const std::vector<std::uint8_t> before = bytes;
  process = begin(world);
  CHECK(process->status.code() == ErrorCode::STATE_CORRUPT);
  CHECK(process->status.text().find("version 2") != std::string::npos);
  CHECK(world.disk.content("state", "log.0") == before);
}

TEST_CASE("TwoDamagedFilesAreKeptAsideAndForfeited") {
  World world;
  Process process = run(world, 11);
  kill(world, process);
  process = begin(world);
  kill(world, process);
  for (const std::string name : {"log.0", "log.1"}) world.disk.content("state", name)[20] ^= 1;
  process = begin(world);
  REQUIRE(process->status.ok());
  CHECK(process->started.how == "forfeited: neither log file can be read");
  CHECK(world.disk.folder("state").names.count("log.0.damaged") == 1);
  CHECK(world.disk.folder("state").names.count("log.1.damaged") == 1);
  use_up(world, process);
  kill(world, process);
  process = begin(world);
  CHECK(process->started.how == "witness");
  use_up(world, process);
}

TEST_CASE("AStateThatIsWholeButMakesNoSenseIsRefused") {
  World world;
  Process process = run(world, 3);
  process->started.log->append(Issued{1, 39, 40, 0, 0, IssueKind::single});
  process->commit();
  kill(world, process);
  process = begin(world);
  CHECK(process->status.code() == ErrorCode::STATE_CORRUPT);
  CHECK(process->status.text().find("state: log.0 at byte ") != std::string::npos);
}

TEST_CASE("AfterAFailedSyncTheNextStartRewritesTheNewestFile") {
  World world;
  Process process = run(world, 5);
  world.disk.faults.fail_syncs_from = world.disk.operations + 1;
  process->issue(20);
  CHECK(process->status.code() == ErrorCode::STATE_IO);
  CHECK(world.issued.size() == 8);  // to the end of what was durably reserved
  kill(world, process);
  process = begin(world);
  CHECK(process->started.how == "witness");
  // Dead before the new segment is on the medium: what was read is there now all the same.
  process.reset();
  world.cut_power([] { return false; });
  world.disk.content("state", "log.1")[0] ^= 1;
  world.disk.content("state", "log.0")[seal_offset] = 0;
  process = begin(world);
  CHECK(process->image.sequences.at(1).totals.issued == 8);
  use_up(world, process);
}

TEST_CASE("TheTurnsOfTheTailOutliveAnyNumberOfKills") {
  World world;
  for (std::int64_t kills = 0; kills < 39; ++kills) {
    Process process = begin(world);
    CHECK(process->started.how == (kills == 0 ? "fresh" : "witness"));
    process->claim();
    process->issue(1);
    kill(world, process);
  }
  Process process = begin(world);
  CHECK(process->in_hand() == 1);
  CHECK(*world.issued.rbegin() == 39);
  use_up(world, process);
}

// A tail as a hostile or damaged witness may hold it.
void forge_tail(World& world, std::uint64_t used, std::uint64_t salt_change, std::uint64_t offset) {
  auto& memory = world.disk.folder("run").names.begin()->second->mapped;
  const std::uint64_t words[3] = {used, 0, offset};
  std::uint64_t salt = 0;
  std::memcpy(&salt, memory.data() + Witness::size + 8, 8);
  salt += salt_change;
  std::memcpy(memory.data() + Witness::size, &words[0], 8);
  std::memcpy(memory.data() + Witness::size + 8, &salt, 8);
  std::memcpy(memory.data() + Witness::size + 16, &words[2], 8);
}

TEST_CASE("ATailThatCannotBeTrueIsNotWritten") {
  struct Forged {
    std::uint64_t used, salt_change, offset;
  };
  for (const Forged forged : {Forged{1, 0, 1'100},
                              {60'000, 0, 1'100},
                              {~0ULL, 0, 1'100},
                              {100, 1, 1'100},
                              {100, 0, 10},
                              {100, 0, ~0ULL},
                              {100, 0, 1 << 20}}) {
    World world;
    Process process = run(world, 11);
    process->commit_durably();
    kill(world, process);
    auto& memory = world.disk.folder("run").names.begin()->second->mapped;
    std::fill(memory.begin() + Witness::size + 64, memory.end(), std::uint8_t{0x5a});
    forge_tail(world, forged.used, forged.salt_change, forged.offset);
    process = begin(world);
    REQUIRE(process->status.ok());
    // Over the log's records, which are all in the file.
    CHECK(process->started.how == "witness");
    CHECK(process->in_hand() == 29);
    use_up(world, process);
  }
}

TEST_CASE("PagesLostByAFailedSyncAreNotResumedFrom") {
  World world;
  Process process = run(world, 5);
  world.disk.faults.fail_syncs_from = world.disk.operations + 1;
  process->issue(20);
  kill(world, process);
  world.disk.evict_lost();
  process = begin(world);
  CHECK(starts_with(process->started.how, "forfeited: the log is older than its witness"));
  use_up(world, process);
}

// Goes on in the other file, by a rotation or by a restart.
void change_files(World& world, Process& process, bool by_rotation) {
  if (by_rotation) {
    while (process->started.log->statistics().rotations == 0) process->fill(50'000);
  } else {
    kill(world, process);
    process = begin(world);
  }
}

TEST_CASE("WhenTheNewerFileRotsTheOlderIsNotResumedFrom") {
  for (const bool by_rotation : {true, false}) {
    World world;
    Process process = run(world, 5);
    change_files(world, process, by_rotation);
    process->issue(20);
    process.reset();
    world.cut_power([] { return true; });
    world.disk.content("state", "log.1")[records_offset + 20] ^= 1;
    process = begin(world, "state", "run", AfterPowerLoss::resume);
    CHECK(process->started.how == "forfeited: the newest part of the log is damaged");
    CHECK(process->started.gaps.at(0).cause == GapCause::corrupt);
    use_up(world, process);
  }
}

}  // namespace
}  // namespace seqd
