// start() on files that are missing, damaged, of another version, or not on the medium.
#include <algorithm>

#include "daemon/state/crc32c.h"
#include "daemon/state/start.h"
#include "tests/unit/starting.h"

namespace seqd {
namespace {

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
  bytes[8] = log_version + 1;
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
  CHECK(process->status.text().find("log.0 is of version 5, ") != std::string::npos);
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
