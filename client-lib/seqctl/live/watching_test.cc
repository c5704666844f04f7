#include "client-lib/seqctl/live/watching.h"

#include <fcntl.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <csignal>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "client-lib/seqctl/asking.h"
#include "client-lib/seqctl/commands.h"
#include "client-lib/seqctl/exit_codes.h"
#include "client-lib/seqctl/interruption.h"
#include "client-lib/seqctl/live/pause.h"
#include "client-lib/seqctl/live/samples.h"
#include "tests/adapters/client/socket_daemon.h"

namespace seqd::seqctl {
namespace {

using nlohmann::json;
using testing::SocketDaemon;
using Fault = testing::WireDaemon::Fault;

std::string pack(const json& value) {
  const std::vector<std::uint8_t> bytes = json::to_msgpack(value);
  return std::string(bytes.begin(), bytes.end());
}

// A pipe whose writing end is an Output.
class PipedOutput {
 public:
  PipedOutput() {
    REQUIRE(::pipe2(ends_, O_CLOEXEC) == 0);
    ::fcntl(ends_[1], F_SETPIPE_SZ, 1 << 20);
    out_ = std::make_unique<Output>(ends_[1]);
  }
  ~PipedOutput() {
    close_reader();
    ::close(ends_[1]);
  }
  PipedOutput(const PipedOutput&) = delete;
  PipedOutput& operator=(const PipedOutput&) = delete;
  Output& out() { return *out_; }
  void close_reader() {
    if (ends_[0] >= 0) ::close(ends_[0]);
    ends_[0] = -1;
  }
  std::string text() {
    REQUIRE(::fcntl(ends_[0], F_SETFL, O_NONBLOCK) == 0);
    std::string all;
    char part[4'096];
    for (ssize_t size = 0; (size = ::read(ends_[0], part, sizeof part)) > 0;)
      all.append(part, static_cast<std::size_t>(size));
    return all;
  }

 private:
  int ends_[2] = {-1, -1};
  std::unique_ptr<Output> out_;
};

struct Watched {
  int exit_code = 0;
  PipedOutput out;
  PipedOutput errors;
};

void watch(const SocketDaemon& daemon, Arguments arguments, Watched& watched) {
  set_interrupted(false);
  arguments.socket = daemon.path();
  watched.exit_code = run_command(arguments, watched.out.out(), watched.errors.out());
  set_interrupted(false);
}

Arguments arguments_of(Command command, std::int64_t samples, Format format = Format::text) {
  Arguments arguments;
  arguments.command = command;
  arguments.interval_ms = 1;
  arguments.samples = samples;
  arguments.format = format;
  arguments.timeout_ms = 60'000;
  arguments.timeout_is_given = true;
  return arguments;
}

// It ends with that error, and says nothing before it.
void check_fails(const SocketDaemon& daemon, Command command, const std::string& code) {
  Watched watched;
  watch(daemon, arguments_of(command, 0), watched);
  CHECK(watched.exit_code == (code == "BUSY" ? kExitTryAgain : kExitError));
  CHECK_THAT(watched.errors.text(), Catch::StartsWith("seqctl: " + code + ": "));
}

json status() {
  return {{"pid", 7}, {"uptime_ms", 1}, {"issued", 5}, {"version", "0.1.0"}};
}

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t at = 0; (at = text.find(part, at)) != std::string::npos; at += part.size())
    ++found;
  return found;
}

}  // namespace

TEST_CASE("StatPrintsALineForEachInterval", "[client]") {
  SocketDaemon daemon;
  daemon.wire().results["status"] = pack(status());
  daemon.start();
  Watched watched;
  watch(daemon, arguments_of(Command::stat, 25), watched);
  CHECK(watched.exit_code == kExitOk);
  const std::string text = watched.out.text();
  CHECK(count(text, "\n") == 27);  // two headers
  CHECK(count(text, "IDs/s") == 2);
  CHECK(watched.errors.text().empty());
}

TEST_CASE("StatFailsWithoutADaemonAndContinuesAfterOneHasEnded", "[client]") {
  SocketDaemon daemon;
  Arguments absent = arguments_of(Command::stat, 1);
  absent.timeout_ms = 20;
  absent.timeout_is_given = true;
  Watched none;
  watch(daemon, absent, none);
  CHECK(none.exit_code == kExitAbsent);
  CHECK_THAT(none.errors.text(), Catch::StartsWith("seqctl: CONNECT: "));

  daemon.wire().results["status"] = pack(status());
  daemon.wire().fault = [](int number, const protocol::Message&) {
    return number == 3 ? Fault::busy : Fault::none;
  };
  daemon.start();
  Watched watched;
  watch(daemon, arguments_of(Command::stat, 5), watched);
  CHECK(watched.exit_code == kExitOk);
  const std::string text = watched.out.text();
  CHECK(count(text, "no answer: BUSY: ") == 1);
  CHECK(count(text, "\n") == 6);
}

TEST_CASE("SamplingEndsWithItsReaderAndWithASignal", "[client]") {
  SocketDaemon daemon;
  daemon.wire().results["status"] = pack(status());
  daemon.wire().results["list"] = pack(json::array());
  daemon.start();
  const auto before = std::signal(SIGPIPE, SIG_IGN);
  for (const Command command : {Command::stat, Command::top, Command::watch, Command::latency}) {
    Arguments arguments = arguments_of(command, 1'000'000);
    arguments.names = {"orders"};
    arguments.interval_ms = 3'600'000;
    Watched closed;
    closed.out.close_reader();
    watch(daemon, arguments, closed);
    CHECK(closed.exit_code == kExitOk);
    CHECK(closed.errors.text().empty());
  }
  std::signal(SIGPIPE, before);
  daemon.stop();
  int requests = 0;  // of what follows
  daemon.wire().fault = [&requests](int, const protocol::Message&) {
    if (++requests == 5) set_interrupted(true);
    return Fault::none;
  };
  daemon.start();
  Watched interrupted;
  watch(daemon, arguments_of(Command::stat, 0), interrupted);
  CHECK(interrupted.exit_code == kExitInterrupted);
  CHECK_THAT(interrupted.out.text(), Catch::EndsWith("\n"));
}

TEST_CASE("LatencyPrintsWhatItMeasuredBeforeAnError", "[client]") {
  SocketDaemon daemon;
  daemon.wire().fault = [](int number, const protocol::Message&) {
    return number == 12 ? Fault::busy : Fault::none;
  };
  daemon.start();
  Watched watched;
  watch(daemon, arguments_of(Command::latency, 100, Format::json), watched);
  CHECK(watched.exit_code == kExitTryAgain);
  const json value = json::parse(watched.out.text());
  CHECK(value["count"].get<int>() >= 9);
  CHECK(value["count"].get<int>() < 100);
  CHECK(value["min_us"] <= value["p50_us"]);
  CHECK(value["p99_us"] <= value["max_us"]);
  CHECK_THAT(watched.errors.text(), Catch::Contains("BUSY"));
}

TEST_CASE("TopPrintsOneTableOnWhatIsNoTerminal", "[client]") {
  SocketDaemon daemon;
  daemon.wire().results["status"] = pack(status());
  daemon.wire().results["list"] =
      pack({{{"name", "or\x1b[2Jders"}, {"issued", 5}, {"available", 3}, {"state", "ready"}}});
  daemon.start();
  Watched watched;
  watch(daemon, arguments_of(Command::top, 0), watched);
  CHECK(watched.exit_code == kExitOk);
  const std::string text = watched.out.text();
  CHECK(count(text, "\n") == 3);
  CHECK_THAT(text, Catch::Contains("or?[2Jders") && !Catch::Contains("\x1b"));
  Watched twice;
  watch(daemon, arguments_of(Command::top, 2, Format::json), twice);
  const std::string lines = twice.out.text();
  REQUIRE(count(lines, "\n") == 2);
  CHECK(json::parse(lines.substr(0, lines.find('\n')))["rows"][0]["issued"] == 5);
}

TEST_CASE("WatchPrintsWhatChanges", "[client]") {
  SocketDaemon daemon;
  const auto listed = [](std::int64_t next) {
    return pack({{{"name", "orders"}, {"issued", next - 1}, {"next", next}, {"state", "ready"}}});
  };
  daemon.wire().results["list"] = listed(5);
  daemon.wire().fault = [&](int number, const protocol::Message&) {
    daemon.wire().results["list"] = listed(number < 8 ? 5 : 6);
    return number == 4 || number == 5 ? Fault::busy : Fault::none;
  };
  daemon.start();
  Arguments arguments = arguments_of(Command::watch, 20, Format::json);
  arguments.names = {"orders"};
  Watched watched;
  watch(daemon, arguments, watched);
  CHECK(watched.exit_code == kExitOk);
  const std::string text = watched.out.text();
  // As it was, no answer, as it was again, the change, and the rate that is 0 again.
  CHECK(count(text, "\n") == 5);
  CHECK(count(text, "BUSY") == 1);
  CHECK(count(text, "\"next\":5") == 2);
  CHECK(count(text, "\"next\":6") == 2);
}

TEST_CASE("WatchEndsWhereTheDaemonRefuses", "[client]") {
  SocketDaemon daemon;
  daemon.start();
  Arguments arguments = arguments_of(Command::watch, 0);
  arguments.names = {"orders"};
  Watched watched;
  watch(daemon, arguments, watched);
  CHECK(watched.exit_code == kExitError);
  CHECK_THAT(watched.errors.text(), Catch::StartsWith("seqctl: NO_METHOD: "));
}

TEST_CASE("ClientsAreAskedForPageByPage", "[client]") {
  SocketDaemon daemon;
  const auto page = [](int id, bool more) {
    return pack({{"clients", {{{"id", id}, {"uid", 0}, {"pid", id}, {"name", "shop"}}}},
                 {"more", more},
                 {"after", more ? json(id) : json()}});
  };
  daemon.wire().fault = [&](int number, const protocol::Message&) {
    daemon.wire().results["clients"] = page(number, number < 3);
    return Fault::none;
  };
  daemon.start();
  Watched watched;
  watch(daemon, arguments_of(Command::clients, 0, Format::json), watched);
  CHECK(watched.exit_code == kExitOk);
  const json rows = json::parse(watched.out.text());
  REQUIRE(rows.size() == 3);
  CHECK(rows[2]["pid"] == 3);
  Watched text;
  watch(daemon, arguments_of(Command::clients, 0), text);
  CHECK_THAT(text.out.text(), Catch::Contains("root  4    shop"));
}

TEST_CASE("PagesOfClientsThatDoNotAdvanceAreAnErrorAndNoLoop", "[client]") {
  SocketDaemon daemon;
  daemon.start();
  json all = {{"clients", json::array()}, {"more", true}, {"after", 7}};
  json many = {{"clients", json::array()}, {"more", false}};
  for (int i = 0; i < 1'001; ++i) many["clients"].push_back(1);
  for (const json& odd : {all, many, json(7), json{{"clients", 1}}}) {
    daemon.stop();
    daemon.wire().results["clients"] = pack(odd);
    daemon.start();
    check_fails(daemon, Command::clients, "PROTOCOL");
  }
}

TEST_CASE("AConfigurationOfManyPagesIsOneAndNeverAMixture", "[client]") {
  SocketDaemon daemon;
  daemon.wire().fault = [&](int number, const protocol::Message&) {
    // Between the first two pages it is read again.
    daemon.wire().results["config"] =
        pack({{"file", "/f"},
              {"reloads", number < 2 ? 0 : 1},
              {"tables", {{{"table", "t" + std::to_string(number)}, {"options", json::array()}}}},
              {"more", number < 4},
              {"after", "s" + std::to_string(number)}});
    return Fault::none;
  };
  daemon.start();
  Watched watched;
  watch(daemon, arguments_of(Command::config_dump, 0, Format::json), watched);
  CHECK(watched.exit_code == kExitOk);
  const json dumped = json::parse(watched.out.text());
  CHECK(dumped["reloads"] == 1);
  REQUIRE(dumped["tables"].size() == 2);
  CHECK(dumped["tables"][0]["table"] == "t3");
}

TEST_CASE("PagesOfAConfigurationThatDoNotAdvanceAreAnErrorAndNoLoop", "[client]") {
  SocketDaemon daemon;
  daemon.start();
  const auto fails = [&](const json& page, const char* code) {
    daemon.stop();
    int reloads = 0;
    daemon.wire().fault = [&](int, const protocol::Message&) {
      json sent = page;
      if (sent.is_object() && sent["reloads"] == "counted") sent["reloads"] = reloads++;
      daemon.wire().results["config"] = pack(sent);
      return Fault::none;
    };
    daemon.start();
    check_fails(daemon, Command::config_dump, code);
    daemon.stop();
    daemon.wire().fault = nullptr;
    daemon.start();
  };
  json page = {{"tables", json::array()}, {"more", true}, {"after", "a"}, {"reloads", 0}};
  fails(page, "PROTOCOL");
  page["reloads"] = "counted";
  fails(page, "BUSY");
  fails(json(7), "PROTOCOL");
}

TEST_CASE("HealthIsAnExitCodeAndALine", "[client]") {
  SocketDaemon daemon;
  daemon.wire().results["status"] = pack({{"stores", json::array()}});
  daemon.wire().results["list"] = pack({{{"name", "orders"}, {"state", "stopped"}}});
  daemon.start();
  Arguments arguments = arguments_of(Command::health, 0);
  Watched ready;
  watch(daemon, arguments, ready);
  CHECK(ready.exit_code == kExitStopped);
  CHECK(ready.out.text() == "not ready: orders is stopped\n");
  arguments.live = true;
  Watched live;
  watch(daemon, arguments, live);
  CHECK(live.exit_code == kExitOk);
  CHECK(live.out.text() == "live\n");
}

TEST_CASE("PagesThatDoNotAdvanceAreAnErrorAndNoLoop", "[client]") {
  SocketDaemon daemon;
  json page = json::array();
  for (int i = 0; i < 1'000; ++i) page.push_back({{"name", "same"}});
  daemon.wire().results["status"] = pack({{"stores", json::array()}});
  daemon.wire().results["list"] = pack(page);
  daemon.start();
  check_fails(daemon, Command::health, "PROTOCOL");
}

TEST_CASE("SamplesLeaveOutMissedTimesAndEndWithTheirCount", "[client]") {
  PipedOutput out;
  set_interrupted(false);
  Samples samples(1, 3, out.out());
  for (int i = 0; i < 3; ++i) CHECK(samples.next());
  CHECK_FALSE(samples.next());
  set_interrupted(true);
  Samples interrupted(1, 3, out.out());
  CHECK_FALSE(interrupted.next());
  CHECK_FALSE(pause_until(std::chrono::steady_clock::now(), out.out()));
  set_interrupted(false);
  CHECK(pause_until(std::chrono::steady_clock::now(), out.out()));
}

}  // namespace seqd::seqctl
