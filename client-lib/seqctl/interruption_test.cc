// What a command prints of what it has when somebody interrupts it.
#include "client-lib/seqctl/interruption.h"

#include <catch2/catch.hpp>
#include <string>

#include "client-lib/seqctl/exit_codes.h"
#include "tests/adapters/client/seqctl_command.h"

namespace seqd::seqctl {

using testing::SocketDaemon;
using Fault = testing::WireDaemon::Fault;

TEST_CASE("SeqctlNextPrintsJsonThatIsCompleteWhenItIsInterrupted", "[client]") {
  SocketDaemon daemon;
  daemon.wire().count_limit = 2;
  daemon.wire().fault = [](int number, const protocol::Message&) {
    if (number == 3) set_interrupted(true);  // the first one is the question for the limit
    return Fault::none;
  };
  daemon.start();
  set_interrupted(false);
  const Outcome ids = run(daemon, command(Command::next, 1'000'000'000, Format::json));
  set_interrupted(false);
  CHECK(ids.exit_code == kExitInterrupted);
  CHECK(ids.out == "{\"ids\":[1,2,3,4],\"name\":\"orders\"}\n");
  CHECK(ids.errors == "");
}

TEST_CASE("SeqctlNextPrintsEveryTextThatTheDaemonAnsweredWhenItIsInterrupted", "[client]") {
  SocketDaemon daemon;
  daemon.wire().fault = [](int number, const protocol::Message&) {
    if (number == 500) set_interrupted(true);
    return Fault::none;
  };
  daemon.start();
  Arguments arguments = command(Command::next, 1'000'000);
  arguments.as_text = true;
  set_interrupted(false);
  const Outcome texts = run(daemon, arguments);
  set_interrupted(false);
  daemon.stop();
  CHECK(texts.exit_code == kExitInterrupted);
  std::string expected;
  for (int id = 1; id <= daemon.wire().issued("orders"); ++id)
    expected += "T-" + std::to_string(id) + "\n";
  CHECK(texts.out.size() == expected.size());  // not all of both, where they differ
  CHECK((texts.out == expected));
  CHECK(texts.errors == "");
}

TEST_CASE("SeqctlNextDoesNotWaitForTextsThatTheDaemonKeepsBackWhenItIsInterrupted", "[client]") {
  SocketDaemon daemon;
  daemon.wire().fault = [](int number, const protocol::Message&) {
    if (number == 500) set_interrupted(true);
    return number > 900 ? Fault::ignore : Fault::none;
  };
  daemon.start();
  Arguments arguments = command(Command::next, 1'000'000);
  arguments.as_text = true;
  arguments.timeout_ms = 600'000;
  set_interrupted(false);
  const Outcome texts = run(daemon, arguments);
  set_interrupted(false);
  CHECK(texts.exit_code == kExitInterrupted);
  CHECK_THAT(texts.out, Catch::EndsWith("\nT-900\n"));
  CHECK_THAT(texts.errors,
             Catch::StartsWith("seqctl: INTERRUPTED: 100 requests were not answered"));
}

TEST_CASE("SeqctlNextSaysBothThatItFailedAndThatAnswersAreMissingWhenItIsInterrupted", "[client]") {
  SocketDaemon daemon;
  daemon.wire().fault = [](int number, const protocol::Message&) {
    if (number == 500) set_interrupted(true);
    return number > 900 ? Fault::ignore : number == 700 ? Fault::busy : Fault::none;
  };
  daemon.start();
  Arguments arguments = command(Command::next, 1'000'000);
  arguments.as_text = true;
  arguments.timeout_ms = 600'000;
  set_interrupted(false);
  const Outcome texts = run(daemon, arguments);
  set_interrupted(false);
  CHECK(texts.exit_code == kExitTryAgain);
  CHECK_THAT(texts.out, Catch::EndsWith("\nT-899\n"));
  CHECK_THAT(texts.errors, Catch::StartsWith("seqctl: BUSY: "));
  CHECK_THAT(texts.errors,
             Catch::Contains("\nseqctl: INTERRUPTED: 100 requests were not answered"));
}

TEST_CASE("SeqctlRangePrintsWhatItTookWhenItIsInterrupted", "[client]") {
  SocketDaemon daemon;
  bool answers = true;
  daemon.wire().fault = [&answers](int, const protocol::Message&) {
    set_interrupted(true);
    return answers ? Fault::none : Fault::ignore;
  };
  daemon.start();
  set_interrupted(false);
  const Outcome taken = run(daemon, command(Command::range, 5));
  CHECK(taken.exit_code == kExitInterrupted);
  CHECK(taken.out == "1 5 1\n");
  CHECK(taken.errors == "");

  daemon.stop();
  answers = false;
  daemon.start();
  set_interrupted(false);
  Arguments arguments = command(Command::range, 5, Format::json);
  arguments.timeout_ms = 600'000;
  const Outcome none = run(daemon, arguments);
  set_interrupted(false);
  CHECK(none.exit_code == kExitInterrupted);
  CHECK(none.out == "");
  CHECK_THAT(none.errors, Catch::Contains("1 requests were not answered"));
}

}  // namespace seqd::seqctl
