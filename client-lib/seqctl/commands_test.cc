#include "client-lib/seqctl/commands.h"

#include <fcntl.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <csignal>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "client-lib/seqctl/exit_codes.h"
#include "tests/adapters/client/seqctl_command.h"

namespace seqd::seqctl {

using testing::SocketDaemon;
using Fault = testing::WireDaemon::Fault;

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
