// Real programs: /bin/sh plays those that end badly, hang and write without an end.
#include "daemon/uv/process_runner.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <optional>

#include "daemon/uv/event_loop.h"

#include <catch2/catch.hpp>

namespace seqd {
namespace {

constexpr std::int64_t kPatientMs = 60'000;

ProcessResult run(EventLoop& loop, UvProcessRunner& runner, const std::vector<std::string>& words,
                  std::int64_t timeout_ms = kPatientMs, std::size_t most_output = 1'000) {
  std::optional<ProcessResult> result;
  runner.run({words, timeout_ms, most_output}, [&](ProcessResult ended) {
    REQUIRE_FALSE(result.has_value());
    result = std::move(ended);
    loop.stop();
  });
  REQUIRE_FALSE(result.has_value());  // never before the call returned
  loop.run();
  REQUIRE(result.has_value());
  return *result;
}

ProcessResult shell(const std::string& script, std::int64_t timeout_ms = kPatientMs) {
  EventLoop loop;
  UvProcessRunner runner(loop);
  return run(loop, runner, {"/bin/sh", "-c", script}, timeout_ms);
}

TEST_CASE("ProcessRunner: what a program writes is brought when it has ended", "[process]") {
  const ProcessResult result = shell("echo out; echo err >&2; echo more");
  REQUIRE(result.error.empty());
  REQUIRE(result.output == "out\nmore\n");
  REQUIRE(result.complaints == "err\n");
}

TEST_CASE("ProcessRunner: words are passed as they are, without a shell", "[process]") {
  EventLoop loop;
  UvProcessRunner runner(loop);
  REQUIRE(run(loop, runner, {"printf", "<%s>", "a b", "$HOME", ""}).output == "<a b><$HOME><>");
  REQUIRE(run(loop, runner, {"/bin/cat"}).output.empty());  // nothing is there to be read
}

TEST_CASE("ProcessRunner: how it ended is told", "[process]") {
  REQUIRE(shell("echo why >&2; exit 3").error == "ended with status 3");
  REQUIRE(shell("echo why >&2; exit 3").complaints == "why\n");
  REQUIRE(shell("kill -9 $$").error == "was ended by signal 9");
  EventLoop loop;
  UvProcessRunner runner(loop);
  REQUIRE(run(loop, runner, {"/nonexistent/x"}).error ==
          "could not be started: no such file or directory");
  REQUIRE(run(loop, runner, {"/etc/passwd"}).error == "could not be started: permission denied");
  REQUIRE(run(loop, runner, {"true"}).error.empty());
}

TEST_CASE("ProcessRunner: what takes too long is killed, with all that it started", "[process]") {
  EventLoop loop;
  UvProcessRunner runner(loop);
  // Both would hold the pipe open for longer than any test.
  const ProcessResult result =
      run(loop, runner, {"/bin/sh", "-c", "echo $$; sleep 10000 & sleep 10000"}, 300);
  REQUIRE(result.error == "did not end within 300 ms and was killed");
  REQUIRE(result.output.empty());
}

TEST_CASE("ProcessRunner: who leaves the pipe to another is not waited for without end",
          "[process]") {
  const ProcessResult result = shell("setsid sleep 3 & echo out", 300);
  REQUIRE(result.error == "did not end within 300 ms and was killed");
}

// A program that starts a helper, as an agent that keeps a session, and ends. The helper has the
// pipe.
TEST_CASE("ProcessRunner: what an ended program left at the pipe is killed, too", "[process]") {
  std::string folder = "/tmp/seqd-test-XXXXXX";
  REQUIRE(mkdtemp(folder.data()) != nullptr);
  const std::string fifo = folder + "/alive";
  REQUIRE(mkfifo(fifo.c_str(), 0600) == 0);
  const int watch = open(fifo.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  REQUIRE(watch >= 0);
  const ProcessResult result = shell("exec 3>" + fifo + "; sleep 10000 & echo out", 1'000);
  CHECK(result.error == "did not end within 1000 ms and was killed");
  // The end of its last writer.
  pollfd end{watch, POLLIN, 0};
  CHECK(poll(&end, 1, 20'000) == 1);
  CHECK((end.revents & POLLHUP) != 0);
  close(watch);
  std::filesystem::remove_all(folder);
}

// Not every library marks its sockets, libcurl among them.
TEST_CASE("ProcessRunner: a program has none of our descriptors", "[process]") {
  const int ours = open("/dev/null", O_RDONLY);
  REQUIRE(ours > 2);
  const ProcessResult result =
      shell(fmt::format("if [ -e /proc/self/fd/{} ]; then echo open; else echo closed; fi", ours));
  CHECK(result.output == "closed\n");
  close(ours);
}

TEST_CASE("ProcessRunner: too much output ends a program, too many complaints are cut",
          "[process]") {
  EventLoop loop;
  UvProcessRunner runner(loop);
  REQUIRE(run(loop, runner, {"/bin/sh", "-c", "yes"}).error ==
          "wrote more than 1000 bytes and was killed");
  const ProcessResult exact =
      run(loop, runner, {"/bin/sh", "-c", "printf %1000s x; printf %5000s x >&2"});
  REQUIRE(exact.error.empty());
  REQUIRE(exact.output.size() == 1'000);
  REQUIRE(exact.complaints.size() == kMostComplaints);
}

TEST_CASE("ProcessRunner: the environment is ours, but for what systemd told us", "[process]") {
  setenv("NOTIFY_SOCKET", "/x", 1);
  setenv("SEQD_TEST_PASSED_ON", "yes", 1);
  const ProcessResult result = shell("echo \"$SEQD_TEST_PASSED_ON/$NOTIFY_SOCKET\"");
  unsetenv("NOTIFY_SOCKET");
  unsetenv("SEQD_TEST_PASSED_ON");
  REQUIRE(result.output == "yes/\n");
}

TEST_CASE("ProcessRunner: its end kills what runs, and nobody is answered", "[process]") {
  EventLoop loop;
  bool answered = false;
  {
    UvProcessRunner runner(loop);
    runner.run({{"/bin/sh", "-c", "sleep 10000"}, kPatientMs, 10},
               [&](const ProcessResult&) { answered = true; });
    runner.run({{"/nonexistent/x"}, kPatientMs, 10},
               [&](const ProcessResult&) { answered = true; });
  }
  REQUIRE_FALSE(answered);  // the loop's end waits for the program's
}

}  // namespace
}  // namespace seqd
