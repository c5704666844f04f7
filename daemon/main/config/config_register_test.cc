// Registers, as the configuration says it: what is taken, and what is refused in which words.
#include <string>

// Last, so that CHECK is the one of the tests.
#include "tests/unit/configurations.h"

namespace seqd {
namespace {

constexpr char kStore[] =
    "[store.s]\ntype = \"sqlite\"\npath = \"/x\"\n[daemon]\ndefault_store = \"s\"\n";

std::string problems(const std::string& name, const std::string& table) {
  return problems_of(kStore + ("[sequence.\"" + name + "\"]\n") + "mode = \"register\"\n" + table);
}

TEST_CASE("ARegisterHasPeriodsAFormatAndSaysWhatBecomesOfCancelledNumbers") {
  const Result<Configuration> configuration =
      parse_configuration(kStore + std::string("[sequence.\"invoices\"]\nmode = \"register\"\n"
                                               "period = \"year\"\nfirst_id = 100\n"
                                               "format = \"INV-{date:%Y}-{number}\"\n"
                                               "refill = \"day\"\n"),
                          "f", {});
  REQUIRE(configuration.ok());
  const SequenceSettings* invoices = configuration->find("invoices");
  REQUIRE(invoices != nullptr);
  CHECK(invoices->mode == SequenceMode::registers);
  CHECK((invoices->periods.rule != nullptr && invoices->binding.first_id == 100));
  CHECK((invoices->refill.when == Refill::day && invoices->refill.day != nullptr));
  const Result<Configuration> again = parse_configuration(dump_effective(*configuration), "f", {});
  CHECK(again.status().to_string() == Status().to_string());
}

TEST_CASE("WhatSaysSomethingOfLeasesHasNoMeaningForARegister") {
  for (const char* line : {"key = \"a\"", "meaning = \"last\"", "reuse = \"tail\"", "start = 5",
                           "cycle = true", "lease_min = 5", "max_unsynced = 5", "blocks = true"}) {
    const std::string text = problems("invoices", std::string(line) + "\n");
    INFO(text);
    CHECK(text.find("has no meaning with mode = \"register\"") != std::string::npos);
  }
}

TEST_CASE("ARegisterHasATableOfItsOwn") {
  CHECK(problems("inv*", "").find("for more than one name") != std::string::npos);
  const std::string text =
      problems_of(kStore + std::string("[sequence_defaults]\nmode = \"register\"\n"));
  CHECK(text.find("sequence_defaults.mode: found \"register\" for more") != std::string::npos);
}

TEST_CASE("OnlyARegisterRefills") {
  const std::string text =
      problems_of(kStore + std::string("[sequence.\"a\"]\nrefill = \"day\"\n"));
  CHECK(text.find("found without mode = \"register\"") != std::string::npos);
  CHECK(parse_configuration(kStore + std::string("[sequence.\"a\"]\nrefill = \"never\"\n"), "f", {})
            .ok());
}

}  // namespace
}  // namespace seqd
