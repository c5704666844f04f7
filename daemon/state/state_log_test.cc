#include "daemon/state/state_log.h"

#include <catch2/catch.hpp>
#include <memory>
#include <string>

#include "daemon/state/log_format.h"
#include "daemon/state/log_tail.h"
#include "tests/unit/small_daemon.h"

namespace seqd {
namespace {

struct Fixture {
  // Only a witness in memory has a tail.
  explicit Fixture(FileSystemKind witness = FileSystemKind::memory) {
    world.disk.set_kind("run", witness);
    process = std::make_unique<SmallDaemon>(world);
    REQUIRE(process->start());
    process->claim();
    process->issue(3);
  }
  StateLog& log() { return *process->started.log; }
  void restart() {
    process.reset();
    world.kill();
    process = std::make_unique<SmallDaemon>(world);
    REQUIRE(process->start());
  }
  // Appends entries of about `size` bytes to this turn without a commit.
  void append_text(std::size_t size) {
    DefineSequence definition = process->image.sequences.at(1).definition;
    definition.binding = std::string(size, 'x');
    process->append(definition);
  }

  World world;
  std::unique_ptr<SmallDaemon> process;
};

TEST_CASE("WithoutATailATurnIsOneWrite") {
  Fixture f(FileSystemKind::local);
  const std::uint64_t before = f.world.disk.operations;
  f.process->append(Acknowledged{1, 2});
  f.process->append(Acknowledged{1, 3});
  const LogPosition position = f.log().next_position();
  REQUIRE(f.log().commit().ok());
  CHECK(f.world.disk.operations == before + 1);
  CHECK(f.log().statistics().position == position);
  REQUIRE(f.log().commit().ok());
  CHECK(f.world.disk.operations == before + 1);
  CHECK(f.log().next_position() == position + 1);
}

// Nothing is written: a gibibyte of memory would be needed for the files.
TEST_CASE("TheSmallestAndTheLargestLogSizeAreAllowed") {
  const std::uint64_t size = GENERATE(StateLog::smallest_size, StateLog::max_size);
  CAPTURE(size);
  World world;
  ManualWorker worker;
  const StateLog::Place place{.file = 0, .header = {}, .offset = records_offset, .size = size};
  const StateLog log(StateFiles(), nullptr, place, worker, world.random, world.clock);
  CHECK(log.accepting());
  CHECK(log.statistics().used == records_offset);
  world.state_log_size = size;
  world.disk.faults.full = true;
  SmallDaemon process(world);
  CHECK_FALSE(process.start());
  CHECK(process.status.text().find("no space") != std::string::npos);
}

TEST_CASE("ATurnInTheTailIsNoWriteAndAFlushWritesAllOfThemBeforeItSyncs") {
  Fixture f;
  const std::uint64_t before = f.world.disk.operations;
  const std::vector<std::uint8_t> file = f.world.disk.content("state", "log.0");
  for (std::uint32_t turn = 2; turn < 50; ++turn) {
    f.process->append(Acknowledged{1, turn});
    REQUIRE(f.log().commit().ok());
  }
  CHECK(f.world.disk.operations == before);
  CHECK(f.world.disk.content("state", "log.0") == file);
  f.log().make_durable();
  f.process->append(Acknowledged{1, 50});
  REQUIRE(f.log().commit().ok());
  CHECK(f.world.disk.operations == before + 1);
  // What comes during the flush waits for the next one.
  f.process->append(Acknowledged{1, 51});
  REQUIRE(f.log().commit().ok());
  REQUIRE(f.process->worker.run_one());
  CHECK(f.process->durable_position == f.log().statistics().position - 1);
  f.process.reset();
  f.world.cut_power([] { return false; });
  f.process = std::make_unique<SmallDaemon>(f.world);
  REQUIRE(f.process->start(AfterPowerLoss::resume));
  CHECK(f.process->started.log->statistics().position == f.process->durable_position);
}

TEST_CASE("ATailThatIsFullIsWrittenInOnePieceAndATurnThatIsTooLongByItself") {
  Fixture f;
  const std::uint64_t before = f.world.disk.operations;
  f.append_text(LogTail::size / 2);
  REQUIRE(f.log().commit().ok());
  CHECK(f.world.disk.operations == before);
  f.append_text(LogTail::size / 2);
  REQUIRE(f.log().commit().ok());
  CHECK(f.world.disk.operations == before + 1);
  for (int text = 0; text < 3; ++text) f.append_text(LogTail::size / 2);
  REQUIRE(f.log().commit().ok());
  CHECK(f.world.disk.operations == before + 3);
  const StateImage image = f.process->image;
  f.restart();
  CHECK(f.process->started.how == "witness");
  CHECK(f.process->image.sequences.at(1).definition == image.sequences.at(1).definition);
}

TEST_CASE("ATailThatCannotBeWrittenFailsTheCommitAndTheNextStartHasIt") {
  Fixture f;
  f.process->append(Acknowledged{1, 2});
  REQUIRE(f.log().commit().ok());
  f.world.disk.faults.fail = f.world.disk.operations + 1;
  f.log().make_durable();
  CHECK(f.log().commit().code() == ErrorCode::STATE_IO);
  CHECK_FALSE(f.log().accepting());
  const StateImage image = f.process->image;
  f.restart();
  CHECK(f.process->started.how == "witness");
  CHECK(f.process->image.clients == image.clients);
}

TEST_CASE("ATailThatCannotBeWrittenAfterAFlushFailsTheNextCommit") {
  Fixture f;
  f.log().make_durable();
  f.process->append(Acknowledged{1, 2});
  REQUIRE(f.log().commit().ok());
  f.log().make_durable();
  f.process->append(Acknowledged{1, 3});
  REQUIRE(f.log().commit().ok());
  f.world.disk.faults.fail = f.world.disk.operations + 2;  // behind the sync
  f.process->worker.run_one();
  CHECK(f.log().commit().code() == ErrorCode::STATE_IO);
}

TEST_CASE("DurableIsHeardOnlyAfterTheSync") {
  Fixture f;
  f.process->append(Acknowledged{1, 2});
  f.log().make_durable();
  CHECK(f.process->worker.jobs.empty());
  REQUIRE(f.log().commit().ok());
  const LogPosition position = f.log().statistics().position;
  CHECK(f.process->durable_position < position);
  REQUIRE(f.process->worker.run_one());
  CHECK(f.process->durable_position == position);
}

TEST_CASE("RequestsDuringAFlushShareTheNextOne") {
  Fixture f;
  for (int turn = 0; turn < 5; ++turn) {
    f.process->append(Acknowledged{1, 2});
    f.log().make_durable();
    f.log().make_durable();
    REQUIRE(f.log().commit().ok());
    CHECK(f.process->worker.jobs.size() == 1);
  }
  const LogPosition last = f.log().statistics().position;
  f.process->worker.run_one();
  CHECK(f.process->durable_position == last - 4);
  CHECK(f.process->worker.jobs.size() == 1);
  f.process->worker.run_one();
  CHECK(f.process->durable_position == last);
  CHECK(f.process->worker.jobs.empty());
}

TEST_CASE("AFailedFlushIsHeardOnceAndNeverTriedAgain") {
  for (const bool once : {true, false}) {
    Fixture f;
    f.process->append(Acknowledged{1, 2});
    f.log().make_durable();
    REQUIRE(f.log().commit().ok());
    // A second sync would say yes, and the turn would not be on the medium.
    if (once) f.world.disk.faults.fail = f.world.disk.operations + 1;
    if (!once) f.world.disk.faults.fail_syncs_from = f.world.disk.operations + 1;
    f.process->worker.run_one();
    CHECK(f.process->status.code() == ErrorCode::STATE_IO);
    CHECK(f.log().statistics().durable < f.log().statistics().position);
    f.world.disk.faults = {};
    f.process->append(Acknowledged{1, 2});
    f.log().make_durable();
    CHECK(f.log().commit().ok());
    CHECK(f.process->worker.jobs.empty());
  }
}

TEST_CASE("AFailedWriteFailsEveryLaterCommit") {
  Fixture f(FileSystemKind::local);
  f.world.disk.faults.fail = f.world.disk.operations + 1;
  f.process->append(Acknowledged{1, 2});
  CHECK(f.log().commit().code() == ErrorCode::STATE_IO);
  CHECK_FALSE(f.log().accepting());
  CHECK(f.log().commit().code() == ErrorCode::STATE_IO);
}

TEST_CASE("ARecordThatFitsToTheByteDoesNotRotateAndOneByteMoreDoes") {
  for (const std::size_t excess : {std::size_t{0}, std::size_t{1}}) {
    Fixture f;
    // The file is filled up to a place that leaves room for one known record.
    const auto used = [&] { return f.log().statistics().used; };
    while (used() + 64'000 < f.world.state_log_size) {
      f.append_text(30'000);
      REQUIRE(f.process->commit());
    }
    f.append_text(1'000);
    const std::size_t before = used();
    REQUIRE(f.process->commit());
    const std::size_t overhead = used() - before - 1'000;
    const std::size_t left = f.world.state_log_size - used();
    REQUIRE(left > 20'000);
    // Three varints of a text of more than 16,383 bytes are one byte longer than those of 1,000.
    const std::size_t text = left - overhead - 1 + excess;
    REQUIRE(text < max_string);
    f.append_text(text);
    REQUIRE(f.process->commit());
    CHECK(f.log().statistics().rotations == excess);
    if (excess == 0) CHECK(used() == f.world.state_log_size);
    const StateImage image = f.process->image;
    f.restart();
    CHECK(f.process->started.how == "witness");
    CHECK(f.process->image.sequences.at(1).definition == image.sequences.at(1).definition);
  }
}

TEST_CASE("ARotationKeepsTheStateAndFreesTheOtherFile") {
  Fixture f;
  for (int turn = 0; turn < 60; ++turn) {
    f.process->fill(120'000);
    f.process->issue(1);
    f.process->run_worker();
    REQUIRE(f.process->status.ok());
  }
  CHECK(f.log().statistics().rotations >= 6);
  const StateImage image = f.process->image;
  f.restart();
  CHECK(f.process->started.how == "witness");
  CHECK(f.process->image.clients == image.clients);
  CHECK(f.process->available() == StateImage::available(image.sequences.at(1)));
}

TEST_CASE("ASlowFlushStopsAcceptingBeforeTheFileIsFullAndItsEndResumes") {
  Fixture f;
  const std::uint64_t rotations = f.log().statistics().rotations;
  while (f.log().statistics().rotations == rotations) f.process->fill(60'000);
  CHECK(f.process->worker.jobs.size() == 1);  // asked for by the log itself
  int turns = 0;
  for (; f.log().accepting(); ++turns) {
    REQUIRE(turns < 100);
    f.process->fill(20'000);
    REQUIRE(f.process->status.ok());
  }
  CHECK(turns > 20);
  // Entries other than issues still find room.
  for (int turn = 0; turn < 50; ++turn) {
    f.process->append(Acknowledged{1, 2});
    REQUIRE(f.log().commit().ok());
  }
  CHECK(f.log().statistics().rotations == rotations + 1);
  f.process->run_worker();
  CHECK(f.log().accepting());
  f.process->fill(300'000);
  CHECK(f.process->status.ok());
  CHECK(f.log().statistics().rotations == rotations + 2);
}

TEST_CASE("AFullLogThatMayNotRotateFailsTheCommitAndOverwritesNothing") {
  Fixture f;
  while (f.log().statistics().rotations == 0) f.process->fill(60'000);
  const std::vector<std::uint8_t> older = f.world.disk.content("state", "log.0");
  for (int turn = 0; turn < 100 && f.process->status.ok(); ++turn) f.process->fill(60'000);
  CHECK(f.process->status.code() == ErrorCode::STATE_IO);
  CHECK(f.world.disk.content("state", "log.0") == older);
}

TEST_CASE("AStateThatDoesNotFitIsAnErrorThatNamesTheOption") {
  Fixture f;
  for (SequenceId id = 2; id < 30; ++id) {
    f.process->append(DefineSequence{id, 1, "s" + std::to_string(id), std::string(50'000, 'x'), 0});
    if (!f.process->commit()) break;
  }
  CHECK(f.process->status.code() == ErrorCode::STATE_IO);
  CHECK(f.process->status.text().find("state_log_size") != std::string::npos);
}

TEST_CASE("AStateReplacedUnderTheDaemonIsNoticedBeforeTheNextReservation") {
  for (const std::string what : {"", "lock", "log.0", "log.1"}) {
    Fixture f;
    f.world.disk.copy("state", "twin");
    if (what.empty()) {
      f.world.disk.move("twin", "state");
    } else {
      f.world.disk.folder("state").names[what] = f.world.disk.folder("twin").names[what];
    }
    f.process->issue(40);
    CHECK(f.process->status.code() == ErrorCode::FENCED);
    CHECK(f.world.issued.size() == 8);
  }
}

TEST_CASE("AStateThatCannotBeFoundIsNamedWithItsError") {
  Fixture f;
  f.world.disk.folder("state").names.erase("log.0");
  f.process->issue(40);
  CHECK(f.process->status.code() == ErrorCode::FENCED);
  CHECK(f.process->status.text().find("log.0: no such file") != std::string::npos);
}

TEST_CASE("ALogDestroyedDuringAFlushLeavesTheFlushHarmless") {
  Fixture f;
  f.process->append(Acknowledged{1, 2});
  f.log().make_durable();
  REQUIRE(f.log().commit().ok());
  f.process->started.log.reset();
  const LogPosition durable = f.process->durable_position;
  CHECK(f.process->worker.run_one());
  CHECK(f.process->durable_position == durable);
}

}  // namespace
}  // namespace seqd
