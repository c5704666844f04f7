// Keys with numbers, and scrambles of periods, as they are configured.
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>

#include "daemon/core/text/id_format.h"

// Last, so that CHECK is the one of the tests.
#include "tests/unit/configurations.h"

namespace seqd {
namespace {

constexpr std::int64_t kLateSaturday = 1'795'304'109;  // 2026-11-21 23:35:09 UTC
const std::string kFirst = "2b7e151628aed2a6abf7158809cf4f3c";
const std::string kSecond = "3b7e151628aed2a6abf7158809cf4f3c";

// A file that is removed again.
class KeyFile {
 public:
  explicit KeyFile(const std::string& content) {
    std::string pattern = std::filesystem::temp_directory_path() / "seqd-keys-XXXXXX";
    const int fd = mkstemp(pattern.data());
    REQUIRE(fd >= 0);
    close(fd);
    path_ = pattern;
    std::ofstream(path_) << content;
  }
  ~KeyFile() { std::filesystem::remove(path_); }
  KeyFile(const KeyFile&) = delete;
  KeyFile& operator=(const KeyFile&) = delete;
  std::string option() const { return "scramble_key_file = \"" + path_ + "\"\n"; }

 private:
  std::string path_;
};

std::string keyed(const KeyFile& keys, const std::string& format, const std::string& rest = "") {
  return "[sequence.a]\nformat = \"" + format + "\"\n" + keys.option() + rest;
}

TEST_CASE("HighestKeyWritesAndEveryKeyReads", "[config_keys]") {
  const std::string format = "{key}-{number:8,scramble}";
  const KeyFile one("1:" + kFirst + "\n");
  const KeyFile two("2:" + kSecond + ",1:" + kFirst + "\n");
  const Configuration before = configuration_of(keyed(one, format));
  const Configuration after = configuration_of(keyed(two, format));
  const std::string former = before.find_format("a")->write("a", 42, kLateSaturday);
  const std::string now = after.find_format("a")->write("a", 42, kLateSaturday);
  CHECK(former.starts_with("1-"));
  CHECK(now.starts_with("2-"));
  CHECK(former.substr(2) != now.substr(2));
  CHECK(after.find_format("a")->read("a", former)->number == 42);
  CHECK(after.find_format("a")->read("a", now)->number == 42);
  CHECK(before.find_format("a")->read("a", now).status().text() == "there is no key 2");
}

TEST_CASE("KeysThatDoNotFitAreRefused", "[config_keys]") {
  const std::map<std::string, std::string> cases = {
      {kFirst + "," + kSecond, "two keys without a number"},
      {"1:" + kFirst + "," + kSecond, "with and without a number"},
      {"1:" + kFirst + ",1:" + kSecond, "the key number 1 twice"},
      {"0:" + kFirst, "holds no key"},
      {"1:" + kFirst + ",", "holds no key"},
      {kFirst, "a key without a number"},
  };
  for (const auto& [content, why] : cases) {
    INFO(why);
    const KeyFile keys(content);
    CHECK(problems_of(keyed(keys, "{key}-{number:8,scramble}")).find(why) != std::string::npos);
  }
  const KeyFile numbered("1:" + kFirst);
  CHECK(problems_of(keyed(numbered, "{number:8,scramble}")).find("allowed: with {key}") !=
        std::string::npos);
}

TEST_CASE("EachPeriodHasAScrambleOfItsOwn", "[config_keys][period]") {
  const KeyFile key(kFirst);
  const Configuration configuration =
      configuration_of(keyed(key, "{date:%y%m%d}{number:8,scramble}", "period = \"day\"\n"));
  const auto written = [&](const std::string& period, std::int64_t wall_s) {
    const auto made = configuration.find("a@" + period)->text.compiled;
    const std::string text = made->write("a@" + period, 7, wall_s);
    CHECK(made->read("a", text)->number == 7);
    return text.substr(6);
  };
  CHECK(written("2026-11-21", kLateSaturday) != written("2026-11-22", kLateSaturday + 86'400));
}

TEST_CASE("ReloadThatCannotChangeThePeriodsKeepsTheFormatThatTellsThem", "[config_keys][period]") {
  const Configuration running = configuration_of("[sequence.a]\nperiod = \"hour\"\n");
  Configuration next = configuration_of("[sequence.a]\nperiod = \"day\"\n");
  CHECK(prepare_reload(running, next, {"a"}).restart_needed ==
        std::vector<std::string>{"sequence.\"a\".period"});
  CHECK(next.find("a")->text.compiled->write("a", 7, kLateSaturday) == "2026-11-21T23-7");
}

}  // namespace
}  // namespace seqd
