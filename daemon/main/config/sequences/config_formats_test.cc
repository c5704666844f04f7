#include "daemon/main/config/sequences/config_formats.h"

#include <rapidcheck.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>

#include "daemon/core/text/id_format.h"
#include "daemon/os/aes.h"
#include "daemon/os/time_zones.h"
#include "tests/unit/random_template.h"

// Last, so that CHECK is the one of the tests.
#include "tests/unit/configurations.h"

namespace seqd {
namespace {

constexpr std::int64_t kHighest = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kLateSaturday = 1'795'304'109;  // 2026-11-21 23:35:09 UTC
constexpr char kKey[] = "2b7e151628aed2a6abf7158809cf4f3c";

// A file that is removed again.
class KeyFile {
 public:
  explicit KeyFile(const std::string& content, mode_t mode = 0600) {
    std::string pattern = std::filesystem::temp_directory_path() / "seqd-key-XXXXXX";
    const int fd = mkstemp(pattern.data());
    REQUIRE(fd >= 0);
    close(fd);
    path_ = pattern;
    write(content);
    REQUIRE(chmod(path_.c_str(), mode) == 0);
  }
  ~KeyFile() { std::filesystem::remove(path_); }
  KeyFile(const KeyFile&) = delete;
  KeyFile& operator=(const KeyFile&) = delete;

  void write(const std::string& content) const { std::ofstream(path_) << content; }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

Result<Configuration> parse(const std::string& text) {
  return parse_configuration(text, "f", {});
}

std::string write(const Configuration& configuration, const std::string& name, std::int64_t id) {
  const auto format = configuration.find_format(name);
  REQUIRE(format != nullptr);
  return format->write(name, id, kLateSaturday);
}

std::string scrambling(const std::string& rest) {
  return "[sequence.a]\nformat = \"{number:8,scramble}\"\n" + rest;
}

TEST_CASE("SequenceWithoutAFormatIsWrittenAsItsNumber", "[config_formats]") {
  const Configuration configuration = configuration_of("");
  CHECK(write(configuration, "orders", 42) == "42");
}

TEST_CASE("FormatIsThatOfTheTableElseOfTheDefaults", "[config_formats]") {
  const Configuration configuration = configuration_of(
      "[sequence_defaults]\nformat = \"D{date:%d}-{number}\"\n"
      "[sequence.a]\nformat = \"A{date:%d}-{number}\"\n"
      "[sequence.\"b-*\"]\ntime_zone = \"Europe/Berlin\"\n"
      "[sequence.c]\nlease_min = 1\n");
  CHECK(write(configuration, "a", 7) == "A21-7");
  CHECK(write(configuration, "b-1", 7) == "D22-7");  // it is after midnight in Berlin
  CHECK(write(configuration, "c", 7) == "D21-7");
  CHECK(write(configuration, "d", 7) == "D21-7");
}

TEST_CASE("LookingForTheFormatOfAnyNameFillsNoTable", "[config_formats]") {
  const Configuration configuration = configuration_of("[limits]\nmax_sequences = 1\n");
  for (int i = 0; i < 10; ++i) CHECK(configuration.find_format("n" + std::to_string(i)) != nullptr);
  CHECK(configuration.find("orders") != nullptr);
  CHECK(configuration_of("[daemon]\nallow_unlisted = false\n").find_format("orders") == nullptr);
}

TEST_CASE("BadFormatOrZoneIsAProblemOfItsLine", "[config_formats]") {
  const struct {
    const char* text;
    const char* problem;
  } all[] = {
      {"[sequence.a]\n\nformat = \"{number}{number}\"\n",
       "f:3: sequence.\"a\".format: position 9: found a second {number}; allowed: exactly one"},
      {"[sequence_defaults]\nformat = \"INV\"\n[sequence.a]\nlease_min = 2\n",
       "f:2: sequence_defaults.format: position 4: the end, and no {number}; allowed: exactly one"},
      {"[sequence.a]\ntime_zone = \"Europe/Berln\"\n",
       "f:2: sequence.\"a\".time_zone: found \"Europe/Berln\"; allowed: UTC, or the name of a zone "
       "in "
       "/usr/share/zoneinfo, as \"Europe/Berlin\" (package tzdata)"},
      {"[sequence.a]\nformat = \"{number:6,scramble}\"\nscramble_key_file = \"/nowhere/key\"\n",
       "f:3: sequence.\"a\".scramble_key_file: /nowhere/key cannot be opened: No such file or "
       "directory"},
  };
  for (const auto& one : all) {
    const Result<Configuration> configuration = parse(one.text);
    REQUIRE_FALSE(configuration.ok());
    CHECK(configuration.status().text() == one.problem);
  }
}

TEST_CASE("KeyThatIsNoneIsAProblemThatDoesNotTellIt", "[config_formats]") {
  const KeyFile key("hunter2\n");
  const auto configuration = parse(scrambling("scramble_key_file = \"" + key.path() + "\"\n"));
  REQUIRE_FALSE(configuration.ok());
  CHECK(configuration.status().text() ==
        "f:3: sequence.\"a\".scramble_key_file: the file holds no key; allowed: one line "
        "of 32 or 64 hexadecimal digits, as from `openssl rand -hex 32`");
}

TEST_CASE("KeyComesFromACredentialUnlessAFileIsNamed", "[config_formats]") {
  unsetenv("CREDENTIALS_DIRECTORY");
  const auto missing = parse(scrambling(""));
  REQUIRE_FALSE(missing.ok());
  CHECK(missing.status().text().starts_with(
      "f:1: sequence.\"a\".scramble_key_file: the credential \"scramble-key\" is not there"));
  const KeyFile key(kKey);
  const std::filesystem::path path(key.path());
  setenv("CREDENTIALS_DIRECTORY", path.parent_path().c_str(), 1);
  const auto named =
      parse(scrambling("scramble_key_file = \"" + path.filename().string() + "\"\n"));
  unsetenv("CREDENTIALS_DIRECTORY");
  REQUIRE(named.ok());
  const Configuration from_file =
      configuration_of(scrambling("scramble_key_file = \"" + key.path() + "\"\n"));
  CHECK(write(*named, "a", 1) == write(from_file, "a", 1));
}

TEST_CASE("CheckOfAFileDoesNotNeedTheCredential", "[config_formats]") {
  unsetenv("CREDENTIALS_DIRECTORY");
  ConfigurationRequest request;
  request.need_credentials = false;
  const auto configuration = parse_configuration(scrambling(""), "f", request);
  REQUIRE(configuration.ok());
  REQUIRE(configuration->warnings.size() == 1);
  CHECK(configuration->warnings[0] ==
        "sequence.\"a\".scramble_key_file: not checked: there is no $CREDENTIALS_DIRECTORY here");
  CHECK(configuration->find_format("a") == nullptr);
}

TEST_CASE("NoKeyStandsInADumpAndKeysThatOthersMayReadAreWarnedOf", "[config_formats]") {
  const KeyFile key(kKey, 0644);
  const Configuration configuration =
      configuration_of(scrambling("scramble_key_file = \"" + key.path() + "\"\n"));
  CHECK(dump_effective(configuration).find(kKey) == std::string::npos);
  CHECK(dump_effective(configuration).find(key.path()) != std::string::npos);
  REQUIRE(configuration.warnings.size() == 1);
  CHECK(configuration.warnings[0].find("every user can read") != std::string::npos);
  CHECK(configuration.warnings[0].find(kKey) == std::string::npos);
}

TEST_CASE("OneKeyScramblesTheNumbersOfEverySequenceInAnotherWay", "[config_formats]") {
  const KeyFile key(kKey);
  const Configuration configuration = configuration_of(
      "[sequence.\"t-*\"]\nformat = \"{number:8,scramble}\"\nscramble_key_file = \"" + key.path() +
      "\"\n");
  const std::string text = write(configuration, "t-1", 42);
  CHECK(text.size() == 8);
  CHECK(write(configuration, "t-2", 42) != text);
  CHECK(configuration.find_format("t-1")->read("t-1", text)->number == 42);
}

TEST_CASE("ReloadFindsAnotherKeyInTheSamePlace", "[config_formats]") {
  const KeyFile key(kKey);
  const std::string text = "[sequence_defaults]\nscramble_key_file = \"" + key.path() +
                           "\"\nformat = \"{number:8,scramble}\"\n[sequence.a]\ntime_zone = "
                           "\"Asia/Tokyo\"\n[sequence.b]\nlease_min = 2\n";
  const Configuration running = configuration_of(text);
  Configuration same = configuration_of(text);
  CHECK(prepare_reload(running, same, {}).applied.empty());
  key.write("3b7e151628aed2a6abf7158809cf4f3c");
  Configuration next = configuration_of(text);
  CHECK(prepare_reload(running, next, {}).applied ==
        std::vector<std::string>{"sequence.\"a\".scramble_key_file",
                                 "sequence_defaults.scramble_key_file"});
  const std::string written = write(running, "b", 42);
  CHECK(write(next, "b", 42) != written);
}

// The vectors for clients in other languages, which were made by another implementation.
TEST_CASE("TextsOfTheVectorsAreWrittenAndRead", "[config_formats]") {
  const auto here = std::filesystem::path(__FILE__).parent_path();
  std::ifstream file(here / "../../../../protocol/vectors.json");
  REQUIRE(file.good());
  const nlohmann::json vectors = nlohmann::json::parse(file);
  REQUIRE(vectors["texts"].size() >= 15);
  for (const nlohmann::json& vector : vectors["texts"]) {
    INFO(vector.dump());
    const auto key = vector.contains("key") ? make_aes(vector["key"].get<std::string>()).value()
                                            : std::shared_ptr<const BlockCipher>();
    const IdFormat format(read_template(vector["format"].get<std::string>()).value(),
                          find_time_zone(vector["time_zone"]).value(), key);
    const nlohmann::json& given = vector["number"];
    const std::int64_t number = given.is_object() ? std::stoll(given["integer"].get<std::string>())
                                                  : given.get<std::int64_t>();
    const std::string text = vector["text"];
    const std::string name = vector["sequence"];
    CHECK(format.write(name, number, vector["issued_s"].get<std::int64_t>()) == text);
    const Result<ParsedId> parsed = format.read(name, text);
    REQUIRE(parsed.ok());
    CHECK(parsed->number == number);
  }
}

// With everything a template can have, in zones with every kind of offset.
TEST_CASE("WritingAndReadingAreInverse", "[config_formats]") {
  const auto cipher = make_aes(kKey).value();
  std::vector<std::shared_ptr<const TimeZone>> zones;
  for (const char* name : {"UTC", "Europe/Berlin", "Asia/Kathmandu", "America/St_Johns",
                           "Pacific/Apia", "Australia/Lord_Howe"})
    zones.push_back(find_time_zone(name).value());
  CHECK(rc::check([&] {
    const std::string text = random_template(true);
    IdTemplate form = read_template(text).value();
    const auto zone = *rc::gen::elementOf(zones);
    const std::string name = *rc::gen::element<std::string>("orders", "t-1", "Invoices:2026");
    const std::int64_t number =
        (*rc::gen::inRange<std::int64_t>(1, kHighest) >> *rc::gen::inRange(0, 62)) | 1;
    const std::int64_t wall_s = *rc::gen::inRange<std::int64_t>(0, kLastSecond);
    std::vector<DatePart> parts;
    for (const IdTemplate::Piece& piece : form.pieces)
      if (piece.kind == IdTemplate::Kind::date) parts.push_back(piece.part);
    const IdFormat format(std::move(form), zone, cipher);
    const std::string id = format.write(name, number, wall_s);
    const Result<ParsedId> parsed = format.read(name, id);
    if (!parsed.ok()) RC_LOG() << text << " " << id << ": " << parsed.status().text();
    RC_ASSERT(parsed.ok());
    RC_ASSERT(parsed->number == number);
    const CivilTime there =
        civil_time(wall_s + (zone == nullptr ? 0 : zone->offset_at(wall_s).offset_s));
    IdDate date;
    for (const DatePart part : parts) date.set(part, value_of(part, there));
    RC_ASSERT(parsed->date == date);
  }));
}

// The offset that is kept between two questions is that of the moment, on both sides of a switch.
TEST_CASE("FormatKeepsUpWithTheSwitchOfTheClock", "[config_formats]") {
  const Configuration configuration = configuration_of(
      "[sequence.a]\nformat = \"{date:%H%M}-{number}\"\ntime_zone = \"Europe/Berlin\"\n");
  const auto format = configuration.find_format("a");
  const std::int64_t autumn = 1'792'890'000;  // 2026-10-25 01:00 UTC, the clock goes back
  CHECK(format->write("a", 1, autumn - 1) == "0259-1");
  CHECK(format->write("a", 2, autumn) == "0200-2");
  CHECK(format->write("a", 3, autumn - 60) == "0259-3");
  CHECK(format->write("a", 4, std::numeric_limits<std::int64_t>::max()) == "2359-4");
  CHECK(format->write("a", 5, -1) == "0100-5");
}

// Numbers that are scrambled are spread over all texts of their length, and none comes twice.
TEST_CASE("ScrambledNumbersAreDifferentTextsOfOneLength", "[config_formats]") {
  const IdFormat format(read_template("{number:6,scramble}").value(), nullptr,
                        make_aes(kKey).value());
  std::set<std::string> seen;
  int above_half = 0;
  for (std::int64_t number = 1; number <= 2'000; ++number) {
    const std::string text = format.write("orders", number, 0);
    REQUIRE(text.size() == 6);
    REQUIRE(seen.insert(text).second);
    above_half += text >= "500000" ? 1 : 0;
  }
  CHECK(above_half > 800);
  CHECK(above_half < 1'200);
  CHECK(format.write("orders", 1'000'000, 0).size() == 7);
}

// A text that was made with another key, or for another sequence, is another number or none; what
// is longer than the width is nearly always seen to be wrong.
TEST_CASE("AnotherKeyReadsAnotherNumber", "[config_formats]") {
  const IdFormat ours(read_template("{number:8,scramble}").value(), nullptr,
                      make_aes(kKey).value());
  const IdFormat other(read_template("{number:8,scramble}").value(), nullptr,
                       make_aes("3b7e151628aed2a6abf7158809cf4f3c").value());
  CHECK_FALSE(ours.has_key_of(other));
  CHECK(ours.has_key_of(ours));
  int same = 0;
  for (std::int64_t number = 1; number <= 200; ++number) {
    const std::string text = ours.write("orders", number, 0);
    CHECK(ours.read("orders", text)->number == number);
    for (const Result<ParsedId>& read : {other.read("orders", text), ours.read("bills", text)})
      same += read.ok() && read->number == number ? 1 : 0;
  }
  CHECK(same == 0);
}

}  // namespace
}  // namespace seqd
