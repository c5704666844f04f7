#include "daemon/main/config/config.h"
#include "daemon/main/config/options/options.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>

// Last, so that CHECK is the one of the tests.
#include "tests/unit/configurations.h"

namespace seqd {
namespace {

// A directory that is removed with everything in it.
class Scratch {
 public:
  Scratch() {
    std::string pattern = std::filesystem::temp_directory_path() / "seqd-config-XXXXXX";
    REQUIRE(mkdtemp(pattern.data()) != nullptr);
    path_ = pattern;
  }
  ~Scratch() { std::filesystem::remove_all(path_); }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  std::string file(const std::string& name, const std::string& content, mode_t mode = 0600) const {
    const std::string path = path_ + "/" + name;
    std::ofstream(path) << content;
    REQUIRE(chmod(path.c_str(), mode) == 0);
    return path;
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

Result<Configuration> load(const std::string& path) {
  ConfigurationRequest request;
  request.file = path;
  return load_configuration(request);
}

TEST_CASE("AnEmptyFileGivesTheDefaultsAndOneSqliteStore") {
  const Configuration configuration = configuration_of("");
  CHECK(configuration.limits == default_settings<Limits>());
  CHECK(configuration.daemon.default_store == "default");
  REQUIRE(configuration.stores.size() == 1);
  CHECK(configuration.stores.at("default").path == "/var/lib/seqd/sequences.db");
  const SequenceSettings* orders = configuration.find("orders");
  REQUIRE(orders != nullptr);
  CHECK(orders->store == "default");
  CHECK(orders->binding.key == "orders");
  CHECK(orders->binding.collection == "counters");
}

TEST_CASE("TheCommandLineWinsOverTheFile") {
  ConfigurationRequest request;
  request.socket = "/b/socket";
  request.state_dir = "/b/state";
  request.witness_dir = "/b/witness";
  const auto configuration =
      parse_configuration("[daemon]\nsocket = \"/a\"\nstate_dir = \"/a\"\n", "f", request);
  REQUIRE(configuration.ok());
  CHECK(configuration->daemon.socket == "/b/socket");
  CHECK(configuration->daemon.witness_dir == "/b/witness");
  CHECK(configuration->stores.at("default").path == "/b/state/sequences.db");
}

TEST_CASE("AMissingDefaultFileIsNoErrorAndAMissingNamedOneIs") {
  if (!std::filesystem::exists(kDefaultFile)) CHECK(load_configuration({}).value().file.empty());
  CHECK(load("/nonexistent/seqd.toml").status().text() ==
        "/nonexistent/seqd.toml: cannot be opened: No such file or directory");
}

TEST_CASE("WhatIsNoRegularFileIsRefusedWithoutWaiting") {
  const Scratch scratch;
  CHECK(load(scratch.path()).status().text() == scratch.path() + ": is not a regular file");
  CHECK(load("/dev/zero").status().text() == "/dev/zero: is not a regular file");
  const std::string pipe = scratch.path() + "/pipe";
  REQUIRE(mkfifo(pipe.c_str(), 0600) == 0);
  CHECK(load(pipe).status().text() == pipe + ": is not a regular file");
  CHECK(load(scratch.file("long", std::string(2 << 20, '#'))).status().text().find("1 MiB") !=
        std::string::npos);
  CHECK(load(std::string("/tmp/a\nb")).status().text() ==
        "/tmp/a\\nb: cannot be opened: No such file or directory");
}

TEST_CASE("TheOnlyStoreIsTheDefaultWhateverItsName") {
  const Configuration configuration = configuration_of("[store.main]\n");
  CHECK(configuration.daemon.default_store == "main");
  CHECK(configuration.find("orders")->store == "main");
}

TEST_CASE("AnExactTableIsTakenBeforePatternsAndTheLongestPatternBeforeOthers") {
  const Configuration configuration = configuration_of(
      "[sequence_defaults]\nlease_min = 1\nlease_duration = \"1s\"\n"
      "[sequence.\"*\"]\nlease_min = 2\n"
      "[sequence.\"tenant-*\"]\nlease_min = 3\n"
      "[sequence.\"tenant-4?\"]\nlease_min = 4\n"
      "[sequence.tenant-42]\nlease_min = 5\nkey = \"forty-two\"\n");
  CHECK(configuration.find("orders")->lease_min == 2);
  CHECK(configuration.find("tenant-1")->lease_min == 3);
  CHECK(configuration.find("tenant-41")->lease_min == 4);
  CHECK(configuration.find("tenant-42")->lease_min == 5);
  CHECK(configuration.find("tenant-42")->binding.key == "forty-two");
  CHECK(configuration.find("tenant-41")->binding.key == "tenant-41");
  CHECK(configuration.find("tenant-42")->lease_duration_ms == 1'000);
}

TEST_CASE("WithoutCreateOnlyNamesOfATableAreFound") {
  const Configuration configuration =
      configuration_of("[daemon]\nallow_unlisted = false\n[sequence.orders]\n[sequence.\"t-*\"]\n");
  CHECK(configuration.find("orders") != nullptr);
  CHECK(configuration.find("t-1") != nullptr);
  CHECK(configuration.find("invoices") == nullptr);
}

TEST_CASE("FoundSettingsStayInPlaceWhileMoreAreLookedUp") {
  const Configuration configuration = configuration_of("");
  const SequenceSettings* first = configuration.find("first");
  const SequenceSettings copy = *first;
  for (std::size_t i = 1; i < Configuration::kRecent; ++i)
    CHECK(configuration.find("n" + std::to_string(i)) != nullptr);
  CHECK(configuration.find("first") == first);
  // Counted from the last look.
  for (std::size_t i = 1; i < Configuration::kRecent; ++i)
    CHECK(configuration.find("m" + std::to_string(i)) != nullptr);
  CHECK(configuration.find("first") == first);
  CHECK(*first == copy);
}

TEST_CASE("NamesThatWereLookedUpAreForgottenAndNeverTooMany") {
  const Configuration configuration =
      configuration_of("[limits]\nmax_sequences = 10\n[sequence.hourly]\nperiod = \"hour\"\n");
  for (int i = 0; i < 100'000; ++i) {
    const std::string name = "n" + std::to_string(i);
    const SequenceSettings* found = configuration.find(name);
    if (found == nullptr || found->binding.key != name) FAIL(name);
  }
  // Twelve years of hours, and of each the settings of its own counter.
  const PeriodRule& rule = *configuration.find("hourly")->periods.rule;
  for (std::int64_t hour = 495'000; hour < 600'000; ++hour) {
    const std::string name = "hourly@" + rule.at(hour * 3'600).name;
    const SequenceSettings* found = configuration.find(name);
    if (found == nullptr || found->binding.key != name) FAIL(name);
  }
}

TEST_CASE("AWrittenBoundLowersWhatTheSameTableDoesNotSay") {
  const Configuration configuration = configuration_of(
      "[sequence.small]\nmax_available = 5\n"
      "[sequence_defaults]\nlease_max = 5000\n");
  const SequenceSettings* small = configuration.find("small");
  CHECK(small->lease_max == 5);
  CHECK(small->lease_min == 5);
  CHECK(small->max_unsynced == 5);
  CHECK(configuration.find("other")->lease_max == 5'000);
}

TEST_CASE("ASmallLogLowersWhatItHasToHold") {
  const Limits small = configuration_of("[daemon]\nstate_log_size = \"256KiB\"\n").limits;
  CHECK(small.max_sequences == 256);
  CHECK(small.max_retry_clients == 256);
  const Limits usual = configuration_of("").limits;
  CHECK(usual.max_sequences == 16'384);
  CHECK(usual.max_retry_clients == 10'240);
  const Limits large =
      configuration_of("[daemon]\nstate_log_size = \"98MiB\"\n[limits]\nmax_sequences = 100000\n")
          .limits;
  CHECK(large.max_sequences == 100'000);
}

TEST_CASE("ZeroNeedsNoUnit") {
  CHECK(configuration_of("[limits]\nidle_timeout = 0\n").limits.idle_timeout_ms == 0);
}

TEST_CASE("TheUriComesFromAFileOrACredentialWithoutItsNewline") {
  const Scratch scratch;
  const std::string uri = "mongodb://user:hunter2@db/?w=majority";
  const std::string open_file = scratch.file("uri", uri + "\n", 0644);
  const auto from_file = parse_configuration(
      "[store.m]\ntype = \"mongodb\"\nuri_file = \"" + open_file + "\"\n", "f", {});
  REQUIRE(from_file.ok());
  CHECK(from_file->stores.at("m").uri == uri);
  REQUIRE(from_file->warnings.size() == 1);
  CHECK(from_file->warnings[0] ==
        "store.m.uri_file: every user can read " + open_file + "; protect it with chmod o-r");

  scratch.file("mongodb-uri", uri + "\r\n");
  setenv("CREDENTIALS_DIRECTORY", scratch.path().c_str(), 1);
  const auto from_credential = parse_configuration("[store.m]\ntype = \"mongodb\"\n", "f", {});
  unsetenv("CREDENTIALS_DIRECTORY");
  REQUIRE(from_credential.ok());
  CHECK(from_credential->stores.at("m").uri == uri);
  CHECK(from_credential->warnings.empty());
}

TEST_CASE("ACheckWithoutCredentialsWarnsInsteadOfFailing") {
  unsetenv("CREDENTIALS_DIRECTORY");
  ConfigurationRequest request;
  request.need_credentials = false;
  const auto configuration = parse_configuration("[store.m]\ntype = \"mongodb\"\n", "f", request);
  REQUIRE(configuration.ok());
  CHECK(configuration->stores.at("m").uri.empty());
  CHECK(configuration->warnings.size() == 1);
}

TEST_CASE("APasswordInAFileThatEverybodyMayReadIsWarnedAbout") {
  const Scratch scratch;
  const std::string text = "[store.m]\ntype = \"mongodb\"\nuri = \"mongodb://u:hunter2@h/\"\n";
  const auto open = load(scratch.file("open.toml", text, 0644));
  REQUIRE(open.ok());
  CHECK(open->warnings.size() == 2);
  const auto closed = load(scratch.file("closed.toml", text, 0640));
  REQUIRE(closed.ok());
  CHECK(closed->warnings.size() == 1);
  for (const std::string& warning : open->warnings)
    CHECK(warning.find("hunter2") == std::string::npos);
}

}  // namespace
}  // namespace seqd
