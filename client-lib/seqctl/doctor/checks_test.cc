#include "client-lib/seqctl/doctor/checks.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "client-lib/seqctl/doctor/program.h"

namespace seqd::seqctl {
namespace {

using nlohmann::json;
using Level = Finding::Level;

class Folder {
 public:
  explicit Folder(std::string path) : path_(std::move(path)) {
    path_ += "/seqctl-doctor-XXXXXX";
    REQUIRE(::mkdtemp(path_.data()) != nullptr);
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

void listen_at(const std::string& path, mode_t mode) {
  const int descriptor = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  REQUIRE(path.copy(address.sun_path, sizeof address.sun_path - 1) == path.size());
  REQUIRE(::bind(descriptor, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
  ::close(descriptor);
  REQUIRE(::chmod(path.c_str(), mode) == 0);
}

Findings socket_findings(const std::string& path) {
  Findings findings;
  check_socket(path, findings);
  return findings;
}

json good_status() {
  return {
      {"version", "0.1.0"},
      {"pid", 7},
      {"state_how", "witness"},
      {"ending", json::array()},
      {"stores", {{{"name", "main"}, {"type", "sqlite"}, {"state", "ready"}, {"error", nullptr}}}}};
}

Findings status_findings(const json& status) {
  Findings findings;
  check_status(status, "0.1.0", findings);
  return findings;
}

}  // namespace

TEST_CASE("DoctorShowsWhichUsersMayConnectToTheSocket", "[client]") {
  const Folder folder("/tmp");
  const std::string path = folder.path() + "/s";
  REQUIRE(socket_findings(path).at(0).level == Level::bad);
  CHECK_FALSE(socket_findings(path)[0].remedy.empty());
  listen_at(path, 0660);
  CHECK(socket_findings(path).size() == 1);
  CHECK(socket_findings(path)[0].level == Level::ok);
  CHECK_THAT(socket_findings(path)[0].text, Catch::Contains(" 0660: you may connect"));
  REQUIRE(::chmod(path.c_str(), 0666) == 0);
  CHECK(socket_findings(path)[0].level == Level::warn);
  REQUIRE(::chmod(folder.path().c_str(), 0777) == 0);
  CHECK(socket_findings(path).at(1).level == Level::bad);
  REQUIRE(::chmod(folder.path().c_str(), 01777) == 0);
  CHECK(socket_findings(path).size() == 1);
  std::ofstream(folder.path() + "/file") << "x";
  CHECK(socket_findings(folder.path() + "/file")[0].level == Level::bad);
}

TEST_CASE("DoctorReadsWhatTheDaemonSaysOfItself", "[client]") {
  const Findings good = status_findings(good_status());
  REQUIRE(good.size() == 1);
  CHECK((good[0].level == Level::ok && good[0].text == "main (sqlite) is ready"));

  json older = good_status();
  older["version"] = "0.0.9";
  older["state_how"] = "forfeited: the machine was restarted";
  older["ending"] = {{{"name", "few"}, {"left", 12}, {"days_left", 3}}};
  const Findings warned = status_findings(older);
  REQUIRE(warned.size() == 4);
  for (const std::size_t at : {0U, 1U, 3U}) CHECK(warned[at].level == Level::warn);
  CHECK(warned[3].text == "few has 12 IDs left to lease, for 3 days at the present rate");

  for (const char* state : {"waiting", "down", "changed", "restored", "sideways"}) {
    json failing = good_status();
    failing["stores"][0]["state"] = state;
    failing["stores"][0]["error"] = "refused\x1b[2J";
    const Findings bad = status_findings(failing);
    REQUIRE(bad.size() == 1);
    CHECK((bad[0].level == Level::bad && !bad[0].remedy.empty()));
    CHECK(findings_text(bad).find('\x1b') == std::string::npos);
  }
  json once = good_status();
  once["stores"][0]["error"] = "time-out";
  CHECK(status_findings(once)[0].level == Level::warn);
  for (const json& odd : {json("x"), json(nullptr), json::array({1})})
    CHECK(has_bad(status_findings(odd)));
  CHECK_FALSE(has_bad(status_findings(json{{"stores", 7}, {"ending", {1, "x"}}})));
}

TEST_CASE("DoctorChecksTheStateDirectory", "[client]") {
  const Folder in_memory("/dev/shm");
  Findings findings;
  check_state_dir(in_memory.path(), findings);
  REQUIRE(findings.size() == 3);
  CHECK(findings[0].level == Level::ok);
  CHECK(findings[1].level == Level::bad);
  CHECK_THAT(findings[1].text, Catch::Contains("is in memory"));
  CHECK(findings[2].subject == "disk");

  REQUIRE(::chmod(in_memory.path().c_str(), 0755) == 0);
  findings.clear();
  check_state_dir(in_memory.path(), findings);
  CHECK(findings[0].level == Level::warn);
  findings.clear();
  check_state_dir(in_memory.path() + "/missing", findings);
  REQUIRE(findings.size() == 1);
  CHECK(findings[0].level == Level::unknown);
}

TEST_CASE("DoctorFindsTheWitnessInMemory", "[client]") {
  const Folder in_memory("/dev/shm");
  const auto look = [&in_memory](const std::string& path) {
    Findings findings;
    check_witness_dir(path, in_memory.path(), findings);
    REQUIRE(findings.size() == 1);
    return findings[0].level;
  };
  CHECK(look(in_memory.path()) == Level::ok);
  // What is another user's is not that of the daemon.
  CHECK(look("/proc") == (::geteuid() == 0 ? Level::bad : Level::unknown));
  CHECK(look(in_memory.path() + "/missing") == Level::unknown);
}

TEST_CASE("DoctorFindsTheStateOfNoOtherProgram", "[client]") {
  CHECK(state_dir_of(0).empty());
  CHECK(state_dir_of(-1).empty());
  CHECK(state_dir_of(::getpid()).empty());
  CHECK(state_dir_of(INT64_MAX).empty());
}

TEST_CASE("DoctorSaysWhetherTheClockIsKept", "[client]") {
  Findings findings;
  check_clock(findings);
  REQUIRE(findings.size() == 1);
  CHECK(findings[0].subject == "clock");
  CHECK((findings[0].level != Level::warn || !findings[0].remedy.empty()));
}

TEST_CASE("DoctorReadsWhatSystemdSaysOfTheUnit", "[client]") {
  const auto look = [](const std::string& shown) {
    Findings findings;
    check_unit_properties(shown, findings);
    REQUIRE(findings.size() == 1);
    return findings[0];
  };
  CHECK(look("LoadState=not-found\nActiveState=inactive\n").level == Level::unknown);
  CHECK(look("").level == Level::unknown);
  CHECK(look("LoadState=loaded\nActiveState=active\nNRestarts=0\nResult=success\n").level ==
        Level::ok);
  CHECK(look("LoadState=loaded\nActiveState=active\nNRestarts=3").level == Level::warn);
  const Finding failed = look("ActiveState=failed\nLoadState=loaded\nResult=exit-code\n=\nx\n\n");
  CHECK(failed.level == Level::bad);
  CHECK(failed.text == "seqd.service is failed, result exit-code");
  CHECK(look("LoadState=loaded\nActiveState=inactive\nNRestarts=0\n").level == Level::ok);
  for (const char* state : {"activating", "deactivating", "reloading", "maintenance"}) {
    const Finding passing =
        look("LoadState=loaded\nNRestarts=0\nActiveState=" + std::string(state));
    CHECK((passing.level == Level::warn && !passing.remedy.empty()));
  }
}

TEST_CASE("DoctorComparesTheNetworkOfTheDaemonWithItsUnit", "[client]") {
  const auto look = [](const std::string& shut, const std::string& host,
                       const std::string& daemon) {
    Findings findings;
    check_network("LoadState=loaded\nPrivateNetwork=" + shut + "\n", host, daemon, findings);
    return findings;
  };
  const Findings shut_off = look("no", "net:[1]", "net:[2]");
  REQUIRE(shut_off.size() == 1);
  CHECK((shut_off[0].level == Level::bad && shut_off[0].remedy == "systemctl restart seqd"));
  const Findings open = look("yes", "net:[1]", "net:[1]");
  REQUIRE(open.size() == 1);
  CHECK((open[0].level == Level::warn && open[0].remedy == "systemctl restart seqd"));
  CHECK(look("no", "net:[1]", "net:[1]").empty());
  CHECK(look("yes", "net:[1]", "net:[2]").empty());
  CHECK(look("no", "", "net:[2]").empty());
  CHECK(look("no", "net:[1]", "").empty());
  CHECK(network_of(::getpid()).substr(0, 4) == "net:");
  CHECK(network_of(0).empty());
}

TEST_CASE("DoctorComparesTheExposureWithThatOfTheUnitAsItComes", "[client]") {
  const auto exposure = [](const std::string& analyzed, const std::string& drop_ins = "") {
    Findings findings;
    check_exposure(analyzed, "LoadState=loaded\nDropInPaths=" + drop_ins + "\n", findings);
    return findings;
  };
  const std::string before = "...\n Overall exposure level for seqd.service: ";
  CHECK(exposure(before + "0.6 SAFE :-)\n").at(0).level == Level::ok);
  CHECK(exposure(before + "1.3 OK :-)\n").at(0).level == Level::warn);
  CHECK(exposure(before + "9.6 UNSAFE").at(0).level == Level::warn);
  const std::string units = "/usr/lib/systemd/system/seqd.service.d/";
  for (const char* name : {"50-mongodb.conf", "50-dynamodb.conf", "40-metrics-port.conf"}) {
    CHECK(exposure(before + "1.3 OK :-)\n", "/a/b.conf " + units + name).at(0).level == Level::ok);
    CHECK(exposure(before + "1.6 OK :-)\n", units + name).at(0).level == Level::warn);
  }
  CHECK(exposure(before + "1.3 OK", units + "mine.conf").at(0).level == Level::warn);
  CHECK(exposure(before).empty());
  CHECK(exposure("").empty());
}

TEST_CASE("DoctorEndsAProgramThatDoesNotEnd", "[client]") {
  CHECK(printed_by({"/bin/echo", "a b"}) == "a b\n");
  CHECK(printed_by({"/bin/sh", "-c", "echo out; echo err >&2; cat"}) == "out\n");
  CHECK_FALSE(printed_by({"/nonexistent/program"}));
  CHECK_FALSE(printed_by({"/bin/sh", "-c", "exec tail -f /dev/null"}));
  const auto endless = printed_by({"/bin/sh", "-c", "exec yes"});
  REQUIRE(endless);
  CHECK(endless->size() < kMostPrinted + 4'096);
}

TEST_CASE("FindingsAreALineEachWithWhatToDo", "[client]") {
  const Findings findings = {{Level::ok, "socket", "s", ""},
                             {Level::bad, "store", "x\n\x1b[2J", "mend it"}};
  CHECK(findings_text(findings) ==
        "ok   socket  s\n"
        "bad  store   x??[2J\n"
        "             -> mend it\n");
  CHECK(has_bad(findings));
  const json value = findings_value(findings);
  CHECK((value["bad"] == 1 && value["warn"] == 0));
  CHECK(value["findings"][0] ==
        json{{"level", "ok"}, {"subject", "socket"}, {"text", "s"}, {"remedy", nullptr}});
}

}  // namespace seqd::seqctl
