#include "daemon/os/journal/journal.h"

// Last, so that CHECK is the one of the tests.
#include <catch2/catch.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>

namespace seqd {
namespace {

class SteppedClock final : public Clock {
 public:
  std::int64_t monotonic_ms() const override { return now_ms; }
  std::int64_t wall_ms() const override { return 0; }
  std::int64_t now_ms = 0;
};

// stderr is a pipe for as long as this lives.
class CapturedStderr {
 public:
  CapturedStderr() {
    int ends[2] = {-1, -1};
    REQUIRE(pipe2(ends, O_CLOEXEC | O_NONBLOCK) == 0);
    saved_ = dup(STDERR_FILENO);
    dup2(ends[1], STDERR_FILENO);
    close(ends[1]);
    read_end_ = ends[0];
    unsetenv("JOURNAL_STREAM");
  }
  ~CapturedStderr() {
    dup2(saved_, STDERR_FILENO);
    close(saved_);
    close(read_end_);
  }
  CapturedStderr(const CapturedStderr&) = delete;
  CapturedStderr& operator=(const CapturedStderr&) = delete;

  std::string take() const {
    std::string out(1 << 20, '\0');
    const ssize_t size = read(read_end_, out.data(), out.size());
    out.resize(size > 0 ? static_cast<std::size_t>(size) : 0);
    return out;
  }

 private:
  int saved_ = -1;
  int read_end_ = -1;
};

TEST_CASE("WithoutTheJournalAnEventIsOneLineWithItsPriority") {
  const CapturedStderr captured;
  SteppedClock clock;
  Journal journal(clock);
  journal.raise({EventKind::gap_epoch_lost, "lost\nsome", {{"SEQUENCE", "orders"}}});
  CHECK(captured.take() == "<5>gap_epoch_lost: lost\\nsome sequence=orders\n");
}

TEST_CASE("RepeatedEventsAreThinnedOutAndCounted") {
  const CapturedStderr captured;
  SteppedClock clock;
  Journal journal(clock);
  for (int i = 0; i < 5; ++i) journal.raise({EventKind::lease_failed, "t", {{"SEQUENCE", "a"}}});
  CHECK(captured.take() == "<4>lease_failed: t sequence=a\n");
  clock.now_ms = EventRate::kInterval_ms;
  journal.raise({EventKind::lease_failed, "t", {{"SEQUENCE", "a"}}});
  CHECK(captured.take() ==
        "<4>lease_failed: t (4 like it before were left out) sequence=a suppressed=4\n");
}

TEST_CASE("ALineOfSeveralLinesBecomesSeveralMessages") {
  const CapturedStderr captured;
  log(3, "one\ntwo\x1b\n");
  CHECK(captured.take() == "<3>seqd: one\n<3>seqd: two\\x1b\n");
}

// journald looks up the unit of a message's sender, who is gone then.
TEST_CASE("LastWordsGoThroughStderrAlsoToTheJournal") {
  const CapturedStderr captured;
  struct stat facts {};
  REQUIRE(fstat(STDERR_FILENO, &facts) == 0);
  const std::string stream = std::to_string(facts.st_dev) + ":" + std::to_string(facts.st_ino);
  REQUIRE(setenv("JOURNAL_STREAM", stream.c_str(), 1) == 0);
  REQUIRE(stderr_is_journal());
  log_last(3, "one\ntwo");
  CHECK(captured.take() == "<3>one\n<3>two\n");
  unsetenv("JOURNAL_STREAM");
  log_last(3, "one");
  CHECK(captured.take() == "<3>seqd: one\n");
}

TEST_CASE("AReaderThatDoesNotReadBlocksNoOther") {
  const CapturedStderr captured;
  // The daemon's stderr blocks, as an inherited pipe does.
  REQUIRE(fcntl(STDERR_FILENO, F_SETFL, 0) == 0);
  const std::string text(1'000, 'x');
  for (int i = 0; i < 1'000; ++i) log(6, text);
  CHECK(captured.take().size() < 1'000 * text.size());
}

TEST_CASE("StderrIsTheJournalOnlyWhenDeviceAndInodeAgree") {
  struct stat facts {};
  REQUIRE(fstat(STDERR_FILENO, &facts) == 0);
  const std::string good = std::to_string(facts.st_dev) + ":" + std::to_string(facts.st_ino);
  const auto answer = [](const std::string& value) {
    setenv("JOURNAL_STREAM", value.c_str(), 1);
    const bool is_journal = stderr_is_journal();
    unsetenv("JOURNAL_STREAM");
    return is_journal;
  };
  CHECK(answer(good));
  for (const std::string& bad : {good + "1", good + " ", std::string("1:"), std::string(":"),
                                 std::string(), std::string("x:y"), "1" + good})
    CHECK(!answer(bad));
  CHECK(!stderr_is_journal());
}

}  // namespace
}  // namespace seqd
