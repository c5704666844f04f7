#include "client-lib/seqctl/commands.h"

#include <fcntl.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <csignal>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "client-lib/seqctl/exit_codes.h"
#include "client-lib/seqctl/interruption.h"
#include "tests/adapters/socket_daemon.h"

namespace seqd::seqctl {
namespace {

using testing::SocketDaemon;
using Fault = testing::WireDaemon::Fault;

// A file that is read back.
class Capture {
 public:
  Capture() : descriptor_(::open("/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600)) {
    REQUIRE(descriptor_ >= 0);
  }
  ~Capture() { ::close(descriptor_); }
  Capture(const Capture&) = delete;
  Capture& operator=(const Capture&) = delete;
  int descriptor() const { return descriptor_; }
  std::string text() const {
    std::string all(static_cast<std::size_t>(::lseek(descriptor_, 0, SEEK_END)), '\0');
    REQUIRE(::pread(descriptor_, all.data(), all.size(), 0) == static_cast<ssize_t>(all.size()));
    return all;
  }

 private:
  int descriptor_;
};

struct Outcome {
  int exit_code;
  std::string out;
  std::string errors;
};

Outcome run(const SocketDaemon& daemon, Arguments arguments) {
  arguments.socket = daemon.path();
  Capture out;
  Capture errors;
  Output out_writer(out.descriptor());
  Output error_writer(errors.descriptor());
  const int code = run_command(arguments, out_writer, error_writer);
  return {code, out.text(), errors.text()};
}

Arguments command(Command command, std::int64_t count = 1, Format format = Format::text) {
  Arguments arguments;
  arguments.command = command;
  arguments.name = "orders";
  arguments.count = count;
  arguments.format = format;
  return arguments;
}

}  // namespace

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
  arguments.timeout_ms = 1'000;
  const Outcome outcome = run(daemon, arguments);
  CHECK(outcome.exit_code == kExitTryAgain);
  CHECK(outcome.out == "T-1\nT-2\nT-3\n");
  CHECK_THAT(outcome.errors, Catch::StartsWith("seqctl: TIMEOUT: "));
  arguments.name = "missing";
  CHECK(run(daemon, arguments).out.empty());
  CHECK(run(daemon, arguments).exit_code == kExitError);
}

TEST_CASE("SeqctlParseShowsWhatTheTextMeans", "[client]") {
  SocketDaemon daemon;
  daemon.wire().results["parse"] =
      "\x83\xa6number\x07\xa6period\xaa"
      "2026-11-21\xa5"
      "check\xa4luhn";
  daemon.start();
  Arguments arguments = command(Command::parse);
  arguments.text = "T-7";
  CHECK(run(daemon, arguments).out == "number  7\nperiod  2026-11-21\ncheck   luhn, good\n");
  arguments.format = Format::json;
  CHECK(run(daemon, arguments).out ==
        "{\"check\":\"luhn\",\"number\":7,\"period\":\"2026-11-21\"}\n");
}

TEST_CASE("SeqctlShowsWhatTheDaemonAnswers", "[client]") {
  SocketDaemon daemon;
  daemon.wire().results["list"] = "\x91\x81\xa4name\xa6orders";
  daemon.wire().results["status"] = "\x81\xa3pid\x07";
  daemon.wire().results["reload"] = "\xc7\x01\x05\x01";  // an extension, which JSON cannot hold
  daemon.start();
  CHECK_THAT(run(daemon, command(Command::list)).out, Catch::Contains("orders  -"));
  CHECK(run(daemon, command(Command::list, 1, Format::json)).out == "[{\"name\":\"orders\"}]\n");
  CHECK_THAT(run(daemon, command(Command::status)).out, Catch::Contains("pid 7"));
  CHECK(run(daemon, command(Command::ping)).out == "pong\n");
  CHECK(run(daemon, command(Command::wait)).out == "");
}

TEST_CASE("SeqctlAdvanceAndDrainOnlyShowWhatTheyWouldDoWithoutYes", "[client]") {
  SocketDaemon daemon;
  daemon.wire().results["list"] =
      "\x91\x83\xa4name\xa6orders\xa9"
      "available"
      "\x09\xa5reuse\xa5never";
  daemon.wire().results["advance"] = "\x2a";
  daemon.wire().results["drain"] = std::string("\x90", 1);
  daemon.start();
  Arguments advance = command(Command::advance);
  advance.id = 5'000;
  advance.everywhere = true;
  const Outcome looked = run(daemon, advance);
  CHECK(looked.exit_code == kExitPreview);
  CHECK_THAT(looked.out, Catch::StartsWith("the counter of orders would be raised to 5000 (next"));
  CHECK_THAT(looked.out, Catch::Contains("every host would discard the IDs it holds below that"));
  advance.yes = true;
  CHECK(run(daemon, advance).out == "42\n");

  Arguments all = command(Command::advance);
  all.all = true;
  all.store = "main";
  all.resume = true;
  CHECK_THAT(run(daemon, all).out,
             Catch::Contains("the counters of up to 0 sequences of store main"));
  daemon.wire().results["advance_store"] =
      "\x85\xa6raised\x02\xa6"
      "failed\x01\xa5"
      "error\xa1x\xa7resumed\xc2\xa7stopped\xc3";
  all.yes = true;
  const Outcome raised = run(daemon, all);
  CHECK(raised.exit_code == kExitError);
  CHECK_THAT(raised.out,
             Catch::StartsWith("raised: 2\nfailed: 1, the first: x\nthe store is still"));

  Arguments drain = command(Command::drain);
  CHECK(run(daemon, drain).exit_code == kExitPreview);
  CHECK_THAT(run(daemon, drain).out, Catch::Contains("a gap: never issued"));
  drain.yes = true;
  CHECK(run(daemon, drain).out == "nothing to drain\n");
  drain.yes = false;
  drain.name = "missing";
  CHECK(run(daemon, drain).out == "nothing to drain\n");
}

TEST_CASE("SeqctlErrorsGoToStderrWithTheDocumentedExitCode", "[client]") {
  SocketDaemon daemon;
  Arguments absent = command(Command::ping);
  absent.timeout_ms = 20;
  const Outcome away = run(daemon, absent);
  CHECK(away.exit_code == kExitAbsent);
  CHECK(away.out == "");
  CHECK_THAT(away.errors, Catch::StartsWith("seqctl: CONNECT: no daemon answers at "));

  daemon.start();
  Arguments missing = command(Command::next);
  missing.name = "missing";
  missing.format = Format::json;
  const Outcome none = run(daemon, missing);
  CHECK(none.exit_code == kExitError);
  CHECK(nlohmann::json::parse(none.errors)["error"]["code"] == "NO_SEQUENCE");
  CHECK(run(daemon, command(Command::reload)).errors == "seqctl: NO_METHOD: no such method\n");
  missing.name = std::string(129, 'x');
  CHECK(run(daemon, missing).exit_code == kExitUsage);
}

TEST_CASE("SeqctlEndsQuietlyWhenItsReaderHasGone", "[client]") {
  SocketDaemon daemon;
  daemon.start();
  Arguments arguments = command(Command::next, 1'000'000'000);
  arguments.socket = daemon.path();
  int ends[2];
  REQUIRE(::pipe2(ends, O_CLOEXEC) == 0);
  ::close(ends[0]);
  const auto before = std::signal(SIGPIPE, SIG_IGN);
  Output out(ends[1]);
  Capture errors;
  Output error_writer(errors.descriptor());
  CHECK(run_command(arguments, out, error_writer) == kExitOk);
  std::signal(SIGPIPE, before);
  ::close(ends[1]);
  CHECK(out.state() == Output::State::reader_gone);
  CHECK(errors.text() == "");
}

TEST_CASE("SeqctlFailsWhenItsOutputCannotBeWritten", "[client]") {
  SocketDaemon daemon;
  daemon.start();
  Arguments arguments = command(Command::next);
  arguments.socket = daemon.path();
  const int full = ::open("/dev/full", O_WRONLY | O_CLOEXEC);
  REQUIRE(full >= 0);
  Output out(full);
  Capture errors;
  Output error_writer(errors.descriptor());
  CHECK(run_command(arguments, out, error_writer) == kExitError);
  ::close(full);
  CHECK(errors.text() == "seqctl: OUTPUT: No space left on device\n");
}

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

TEST_CASE("SeqctlDrainGivesTheDaemonNoMoreTimeThanItTakes", "[client]") {
  SocketDaemon daemon;
  std::int64_t told = 0;
  daemon.wire().results["drain"] = "\x90";
  daemon.wire().fault = [&](int, const protocol::Message& message) {
    auto reader = message.params;
    if (message.method == "drain" && reader.skip() && reader.read_map() == 1U && reader.skip())
      told = reader.read_integer().value_or(-1);
    return Fault::none;
  };
  daemon.start();
  Arguments arguments = command(Command::drain);
  arguments.yes = true;
  arguments.timeout_ms = 600'000;
  CHECK(run(daemon, arguments).exit_code == kExitOk);
  daemon.stop();
  CHECK(told == 300'000);
}

TEST_CASE("SeqctlStatusFailsWhenASequenceIsStoppedOrAStoreHasAnError", "[client]") {
  const auto pack = [](const nlohmann::json& value) {
    const std::vector<std::uint8_t> bytes = nlohmann::json::to_msgpack(value);
    return std::string(bytes.begin(), bytes.end());
  };
  const auto look = [&](const char* sequence, const nlohmann::json& error, Format format) {
    SocketDaemon daemon;
    daemon.wire().results["list"] =
        pack({{{"name", "orders"}, {"store", "main"}, {"state", sequence}, {"error", "gone"}}});
    daemon.wire().results["status"] = pack(
        {{"pid", 7}, {"stores", {{{"name", "main"}, {"state", "waiting"}, {"error", error}}}}});
    daemon.start();
    return run(daemon, command(Command::status, 1, format));
  };
  CHECK(look("ready", nullptr, Format::text).exit_code == kExitOk);
  CHECK(look("waiting", nullptr, Format::text).exit_code == kExitOk);
  CHECK(look("ready", "refused", Format::text).exit_code == kExitStopped);
  const Outcome stopped = look("stopped", nullptr, Format::text);
  CHECK(stopped.exit_code == kExitStopped);
  CHECK_THAT(stopped.out, Catch::Contains("stopped   orders: gone"));
  CHECK(nlohmann::json::parse(look("stopped", nullptr, Format::json).out)["stopped"] ==
        nlohmann::json::parse(R"([{"name": "orders", "store": "main", "error": "gone"}])"));
}

}  // namespace seqd::seqctl
