#include "daemon/main/command_line.h"
#include "daemon/main/config/options/options.h"
#include "daemon/main/exit_codes.h"
#include "protocol/version.h"

// Last, so that CHECK is the one of the tests.
#include <catch2/catch.hpp>

#include <vector>

namespace seqd {
namespace {

CommandLine parse(std::vector<const char*> words) {
  words.insert(words.begin(), "seqd");
  return parse_command_line(static_cast<int>(words.size()), words.data());
}

TEST_CASE("WithoutArgumentsTheDaemonServesWithDefaults") {
  const CommandLine line = parse({});
  CHECK(line.action == CommandLine::Action::serve);
  CHECK(!line.request.file);
  CHECK(!line.request.socket);
  CHECK(line.request.need_credentials);
}

TEST_CASE("EveryArgumentArrives") {
  const CommandLine line = parse(
      {"--config", "/c", "--socket=/s", "--state-dir", "/d", "--witness-dir", "/w", "--check"});
  CHECK(line.action == CommandLine::Action::check);
  CHECK(line.request.file == "/c");
  CHECK(line.request.socket == "/s");
  CHECK(line.request.state_dir == "/d");
  CHECK(line.request.witness_dir == "/w");
  CHECK(!line.request.need_credentials);
}

TEST_CASE("AWrongArgumentIsAUsageError") {
  for (const auto& words : {std::vector<const char*>{"--bogus"}, std::vector<const char*>{"serve"},
                            std::vector<const char*>{"--config"},
                            std::vector<const char*>{"--socket", "/a", "--socket", "/b"},
                            std::vector<const char*>{"--config", "/a", "--config=/a"},
                            std::vector<const char*>{"--state-dir", "/a", "--state-dir", "/b"},
                            std::vector<const char*>{"--witness-dir", "/a", "--witness-dir", "/b"},
                            std::vector<const char*>{"--print-options=nothing"}}) {
    const CommandLine line = parse(words);
    CHECK(line.action == CommandLine::Action::leave);
    CHECK(line.exit_code == 2);
    CHECK(line.failed);
    CHECK(line.output.find("Try: seqd --help") != std::string::npos);
  }
}

TEST_CASE("HelpNamesTheBasicOptionsOfTheConfigurationAndEveryExitCode") {
  const CommandLine line = parse({"--help"});
  CHECK(line.exit_code == 0);
  CHECK(line.output.find("  sequence.\"NAME\".meaning\n") != std::string::npos);
  CHECK(line.output.find("  sequence.\"NAME\".lease_min\n") == std::string::npos);
  CHECK(line.output.find("--help-all") != std::string::npos);
  for (const ExitCode& one : kExitCodes)
    CHECK(line.output.find("\n  " + std::to_string(one.code) + " ") != std::string::npos);
}

TEST_CASE("HelpAllNamesEveryOptionOfTheConfiguration") {
  const CommandLine line = parse({"--help-all"});
  CHECK(line.exit_code == 0);
  CHECK(!line.failed);
  for (const OptionInfo* option : all_options()) {
    const std::string name =
        std::string(option_table_name(option->table)) + "." + std::string(option->key) + "\n";
    INFO(name);
    CHECK(line.output.find(name) != std::string::npos);
  }
  CHECK(line.output.find("print-options") == std::string::npos);
}

TEST_CASE("VersionIsTheFirstLineAndModulesFollow") {
  const std::string output = parse({"--version"}).output;
  CHECK(output.starts_with("seqd " SEQD_VERSION "\nmodule mongodb: "));
  CHECK(output.find("\nmodule dynamodb: ") != std::string::npos);
}

TEST_CASE("CheckEndsWith78OnAWrongConfigurationAnd0OnAGoodOne") {
  ConfigurationRequest request;
  request.file = "/nonexistent/seqd.toml";
  CHECK(check_configuration(request) == 78);
  request.file = "packaging/seqd.toml";
  CHECK(check_configuration(request) == 0);
}

}  // namespace
}  // namespace seqd
