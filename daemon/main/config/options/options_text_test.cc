#include "daemon/main/config/options/options_text.h"
#include "daemon/main/config/config.h"
#include "daemon/main/config/options/options.h"

// Last, so that CHECK is the one of the tests.
#include <catch2/catch.hpp>

namespace seqd {
namespace {

// The sample as it is when a person takes the # off every option that has a default.
std::string uncommented(const std::string& sample) {
  std::string out;
  std::size_t at = 0;
  while (at < sample.size()) {
    const std::size_t end = sample.find('\n', at);
    std::string line = sample.substr(at, end - at);
    const bool option = line.size() > 1 && line[0] == '#' && line[1] != ' ' && line[1] != '[';
    if (option && !line.ends_with("= \"\"")) line.erase(0, 1);
    out.append(line).append("\n");
    at = end + 1;
  }
  return out;
}

TEST_CASE("TheSampleIsAConfigurationAndHoldsEveryOption") {
  const std::string sample = options_sample();
  CHECK(parse_configuration(sample, "f", {}).ok());
  for (const OptionInfo* option : all_options()) {
    INFO(option->key);
    CHECK(sample.find("\n#" + std::string(option->key) + " = ") != std::string::npos);
  }
}

TEST_CASE("TheDefaultsInTheSampleAreTheDefaults") {
  const std::string sample = options_sample();
  // [store.default] stays a comment: without its header its options belong elsewhere.
  const std::string text = uncommented(sample.substr(0, sample.find("\n# A store: ")));
  const auto read = parse_configuration(text, "f", {});
  INFO(read.status().text());
  REQUIRE(read.ok());
  const auto defaults = parse_configuration("", "f", {});
  CHECK(read->daemon == defaults->daemon);
  CHECK(read->limits == defaults->limits);
}

TEST_CASE("TheShortHelpHasTheBasicOptionsAlone") {
  const auto names_in = [](const std::string& help) {
    std::size_t found = 0;
    for (const OptionInfo* option : all_options()) {
      const std::string table(option_table_name(option->table));
      if (help.find("  " + table + "." + std::string(option->key) + "\n") != std::string::npos)
        ++found;
    }
    return found;
  };
  const std::string basic = options_help(OptionSet::basic);
  CHECK(names_in(basic) < names_in(options_help(OptionSet::all)) / 2);
  CHECK(basic.find("sequence.\"NAME\".meaning\n") != std::string::npos);
  CHECK(basic.find("sequence.\"NAME\".lease_min\n") == std::string::npos);
  CHECK(names_in(options_help(OptionSet::all)) == all_options().size());
}

TEST_CASE("TheManualPageHasTheBasicOptionsFirst") {
  const std::string page = options_scdoc();
  const std::size_t advanced = page.find("\n# ADVANCED OPTIONS\n");
  REQUIRE(advanced != std::string::npos);
  CHECK(page.find("*meaning*\n") < advanced);
  CHECK(page.find("*lease\\_min*\n") > advanced);
}

TEST_CASE("TheManualPageNamesEveryOptionAndEveryError") {
  const std::string page = options_scdoc();
  for (const OptionInfo* option : all_options()) {
    std::string key(option->key);
    for (std::size_t at = 0; (at = key.find('_', at)) != std::string::npos; at += 2)
      key.insert(at, "\\");
    CHECK(page.find("*" + key + "*\n") != std::string::npos);
  }
  CHECK(errors_scdoc().find("*SEQ\\_REGRESSED*") != std::string::npos);
}

}  // namespace
}  // namespace seqd
