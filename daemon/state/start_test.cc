// start() on a MemoryDisk with a small daemon behind it: kills, reboots, the witness and its tail.
#include "daemon/state/start.h"

#include <algorithm>
#include <cstring>

#include "tests/unit/starting.h"

namespace seqd {
namespace {

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
  const AvailableRange& range = process->image.sequences.at(1).ranges.front();
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
  CHECK(process->available() == 29);
  CHECK(process->image.clients.size() == 1);
  process->claim();
  process->issue(29);
  CHECK(world.issued.size() == 40);
  CHECK(world.twice == 0);
}

// The newest log file is damaged, so the older one is read, whose end is an orderly stop; and the
// store that would refuse the claim was restored to that time, or never heard of it: the newer
// turns forfeited that instance, and had another one.
TEST_CASE("ACleanLogThatIsOlderThanItsWitnessIsForfeited") {
  const bool reboots = GENERATE(false, true);
  World world;
  Process process = run(world, 11);
  process->stop();
  process.reset();
  const auto copy = world.epochs;
  process = begin(world);
  REQUIRE(process->started.how == "clean");
  process->claim();
  process->issue(9);
  process->stop();
  process.reset();
  if (reboots) world.cut_power([] { return true; });
  std::uint64_t numbers[2] = {};
  for (int file = 0; file < 2; ++file)
    std::memcpy(&numbers[file], &world.disk.content("state", segment_names[file])[16], 8);
  const int newest = numbers[1] > numbers[0] ? 1 : 0;
  world.disk.content("state", segment_names[newest])[20] ^= 0x10;
  world.epochs = copy;
  process = begin(world);
  CHECK(starts_with(process->started.how, "forfeited: "));
  CHECK(process->available() == 0);
  use_up(world, process);
}

// The witness that is found is that of an earlier start, and the log has everything since.
TEST_CASE("ACleanLogThatIsNewerThanAStaleWitnessKeepsItsRanges") {
  World world;
  world.disk.set_kind("run2", FileSystemKind::memory);
  Process process = run(world, 11);
  process->stop();
  process.reset();
  process = begin(world, "state", "run2");
  REQUIRE(process->started.how == "clean");
  process->claim();
  process->issue(9);
  process->stop();
  process.reset();
  process = begin(world);
  CHECK(process->started.how == "clean");
  CHECK(process->started.gaps.empty());
  CHECK(process->available() == 20);
  use_up(world, process);
  CHECK(world.issued.count(40) == 1);
}

TEST_CASE("APowerLossForfeitsWhatWasAvailableAndSaysSo") {
  World world;
  Process process = run(world, 11);
  process.reset();
  world.cut_power([] { return false; });
  process = begin(world);
  CHECK(starts_with(process->started.how, "forfeited: "));
  REQUIRE(process->started.gaps.size() == 1);
  CHECK(process->started.gaps[0].end == 41);
  CHECK(process->started.gaps[0].cause == GapCause::power_loss);
  CHECK(process->available() == 0);
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
  CHECK(process->available() == 24);
  use_up(world, process);
  CHECK(world.issued.count(17) == 1);
}

// Where its client cannot be asked any more: the page went with the boot, or is that of another
// directory. Nobody takes back what a program may have used.
TEST_CASE("ABlockOutlivesAKillAndNothingElse") {
  World world;
  Process process = run(world, 11);
  process->append(BlockGranted{1, 1, 0, 7, 12, 15});  // 16 are reserved
  process->append(BlockGranted{1, 1, 1, 8, 15, 16});
  REQUIRE(process->commit_durably());
  SECTION("a kill") {
    kill(world, process);
    process = begin(world);
    CHECK(process->started.how == "witness");
    CHECK(process->started.gaps.empty());
    CHECK(process->image.sequences.at(1).blocks.size() == 2);
    CHECK(process->available() == 25);
  }
  SECTION("a power loss") {
    process.reset();
    world.cut_power([] { return true; });
    const bool resumes = GENERATE(false, true);
    process =
        begin(world, "state", "run", resumes ? AfterPowerLoss::resume : AfterPowerLoss::forfeit);
    CHECK(process->started.how.starts_with(resumes ? "resumed" : "forfeited"));
    REQUIRE(process->started.gaps.size() >= 2);
    CHECK((process->started.gaps[0].begin == 12 && process->started.gaps[0].end == 15));
    CHECK((process->started.gaps[1].begin == 15 && process->started.gaps[1].end == 16));
    CHECK(process->started.gaps[0].cause == GapCause::power_loss);
    CHECK(process->image.sequences.at(1).blocks.empty());
    CHECK(process->available() == (resumes ? 24 : 0));
  }
  SECTION("a start without a witness") {
    kill(world, process);
    world.disk.folder("run").names.clear();
    process = begin(world);
    REQUIRE(process->started.gaps.size() >= 2);
    CHECK(process->started.gaps[0].cause == GapCause::no_witness);
    CHECK(process->image.sequences.at(1).blocks.empty());
    CHECK(process->available() == 0);
  }
  use_up(world, process);
  for (const std::int64_t id : {12, 13, 14, 15}) CHECK_FALSE(world.issued.contains(id));
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
  CHECK(process->available() == 1);
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
    CHECK(process->available() == 29);
    use_up(world, process);
  }
}

}  // namespace
}  // namespace seqd
