// next and range: IDs and texts as lines and as JSON, in any number, also where an error ends them.
#include "client-lib/seqctl/taking.h"

#include <unistd.h>

#include <catch2/catch.hpp>
#include <csignal>
#include <string>
#include <thread>

#include "client-lib/seqctl/exit_codes.h"
#include "tests/adapters/client/seqctl_command.h"

namespace seqd::seqctl {

using testing::SocketDaemon;
using Fault = testing::WireDaemon::Fault;

TEST_CASE("SeqctlNextPrintsIdsOneALine", "[client]") {
  SocketDaemon daemon;
  daemon.start();
  CHECK(run(daemon, command(Command::next)).out == "1\n");
  CHECK(run(daemon, command(Command::next, 3)).out == "2\n3\n4\n");
  CHECK(run(daemon, command(Command::next, 2, Format::json)).out ==
        "{\"ids\":[5,6],\"name\":\"orders\"}\n");
  CHECK(run(daemon, command(Command::range, 5)).out == "7 5 1\n");
  CHECK(run(daemon, command(Command::peek)).out == "next       12\navailable  7\nlast       -\n");
}

TEST_CASE("SeqctlNextAsksAgainWhenTheCountIsAboveTheDaemonsLimit", "[client]") {
  SocketDaemon daemon;
  daemon.wire().count_limit = 4;
  daemon.start();
  const Outcome outcome = run(daemon, command(Command::next, 10));
  CHECK(outcome.exit_code == kExitOk);
  CHECK(outcome.out == "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n");
  CHECK(run(daemon, command(Command::range, 5)).exit_code == kExitError);
}

TEST_CASE("SeqctlNextPrintsWhatItGotBeforeAnError", "[client]") {
  SocketDaemon daemon;
  daemon.wire().count_limit = 2;
  daemon.wire().fault = [](int number, const protocol::Message&) {
    return number == 4 ? Fault::garbage : Fault::none;
  };
  daemon.start();
  const Outcome outcome = run(daemon, command(Command::next, 6));
  CHECK(outcome.exit_code == kExitError);
  CHECK(outcome.out == "1\n2\n3\n4\n");
  CHECK_THAT(outcome.errors, Catch::StartsWith("seqctl: PROTOCOL: "));
}

TEST_CASE("SeqctlNextPrintsTextsInTheOrderOfTheirRequests", "[client]") {
  SocketDaemon daemon;
  daemon.start();
  Arguments arguments = command(Command::next);
  arguments.as_text = true;
  CHECK(run(daemon, arguments).out == "T-1\n");
  arguments.count = 2'500;
  const Outcome many = run(daemon, arguments);
  CHECK(many.exit_code == kExitOk);
  std::string expected;
  for (int id = 2; id <= 2'501; ++id) expected += "T-" + std::to_string(id) + "\n";
  CHECK(many.out == expected);
  arguments.count = 2;
  arguments.format = Format::json;
  CHECK(run(daemon, arguments).out == "{\"name\":\"orders\",\"texts\":[\"T-2502\",\"T-2503\"]}\n");
}

TEST_CASE("SeqctlNextPrintsTheTextsThatItGotBesideAnError", "[client]") {
  SocketDaemon daemon;
  daemon.wire().fault = [](int number, const protocol::Message&) {
    return number == 3 ? Fault::ignore : Fault::none;
  };
  daemon.start();
  Arguments arguments = command(Command::next, 4);
  arguments.as_text = true;
  arguments.timeout_ms = 5'000;
  const Outcome outcome = run(daemon, arguments);
  CHECK(outcome.exit_code == kExitTryAgain);
  CHECK(outcome.out == "T-1\nT-2\nT-3\n");
  CHECK_THAT(outcome.errors, Catch::StartsWith("seqctl: TIMEOUT: "));
  arguments.name = "missing";
  CHECK(run(daemon, arguments).out.empty());
  CHECK(run(daemon, arguments).exit_code == kExitError);
}

TEST_CASE("SeqctlNextWritesJsonWhileTheIdsCome", "[client]") {
  SocketDaemon daemon;
  daemon.wire().count_limit = 2;
  daemon.start();
  Arguments arguments = command(Command::next, 1'000'000'000, Format::json);
  arguments.socket = daemon.path();
  int ends[2];
  REQUIRE(::pipe2(ends, O_CLOEXEC) == 0);
  const auto before = std::signal(SIGPIPE, SIG_IGN);
  // The reader takes the first bytes and goes: with everything kept until the end it would wait for
  // a thousand million IDs.
  std::string first(14, '\0');
  std::thread reader([&] {
    std::size_t used = 0;
    while (used < first.size()) {
      const ssize_t count = ::read(ends[0], first.data() + used, first.size() - used);
      if (count <= 0) break;
      used += static_cast<std::size_t>(count);
    }
    ::close(ends[0]);
  });
  Output out(ends[1]);
  Capture errors;
  Output error_writer(errors.descriptor());
  CHECK(run_command(arguments, out, error_writer) == kExitOk);
  reader.join();
  std::signal(SIGPIPE, before);
  ::close(ends[1]);
  CHECK(first == "{\"ids\":[1,2,3,");
  CHECK(out.state() == Output::State::reader_gone);
}

TEST_CASE("SeqctlNextOfNothingButAnErrorPrintsNoJson", "[client]") {
  SocketDaemon daemon;
  daemon.start();
  Arguments missing = command(Command::next, 3, Format::json);
  missing.name = "missing";
  CHECK(run(daemon, missing).out == "");
  missing.as_text = true;
  CHECK(run(daemon, missing).out == "");
}

}  // namespace seqd::seqctl
