#include "daemon/main/config/sequences/config_progressions.h"

#include "daemon/main/config/config.h"

// Last, so that CHECK is the one of the tests.
#include "tests/unit/configurations.h"

namespace seqd {
namespace {

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST_CASE("SequenceWithoutAProgressionHasNone", "[progression]") {
  const Configuration plain = configuration_of("[sequence.a]\nfirst_id = 7\n");
  CHECK(plain.find("a")->progression.compiled == nullptr);
  CHECK_FALSE(plain.find("a")->progression.given());
  CHECK(plain.find("a")->last_ordinal() == 9'007'199'254'740'991);
}

TEST_CASE("WhatIsNotGivenIsAsInADatabase", "[progression]") {
  const Configuration up = configuration_of("[sequence.a]\nincrement = 10\n");
  const ProgressionSettings& ten = up.find("a")->progression;
  REQUIRE(ten.compiled != nullptr);
  CHECK(ten.start == 1);
  CHECK(ten.min == 1);
  CHECK(ten.max == 9'007'199'254'740'991);
  const Configuration down = configuration_of("[sequence.a]\nincrement = -1\n");
  CHECK(down.find("a")->progression.start == -1);
  CHECK(down.find("a")->progression.min == -9'007'199'254'740'991);
  const Configuration bounded =
      configuration_of("[sequence.a]\nincrement = 2\nmax_value = 2147483647\n");
  CHECK(bounded.find("a")->progression.max == 2'147'483'647);
  CHECK(bounded.find("a")->last_ordinal() == 1'073'741'824);
}

TEST_CASE("CountingUpByOneNeedsNoProgressionAndIsStoredAsItIs", "[progression]") {
  const Configuration plain =
      configuration_of("[sequence.a]\nstart = 1000\nmin = 500\nmax = 4999\nmeaning = \"last\"\n");
  const SequenceSettings& settings = *plain.find("a");
  CHECK(settings.progression.compiled == nullptr);
  CHECK(settings.binding.first_id == 1'000);
  CHECK(settings.max_value == 4'999);
}

TEST_CASE("ProgressionThatCannotBeIsRefusedWithPlaceAndReason", "[progression]") {
  const std::string head = "[sequence.a]\n";
  CHECK(has(problems_of(head + "increment = 0\n"), "f:2: sequence.\"a\".increment: found 0"));
  CHECK(has(problems_of(head + "min = 5\nmax = 5\n"),
            "f:2: sequence.\"a\".min: found 5; must be below"));
  CHECK(has(problems_of(head + "start = 0\n"), "must not be below min = 1 (not written"));
  CHECK(has(problems_of(head + "max = 9\nstart = 10\n"),
            "f:3: sequence.\"a\".start: found 10; must not"));
  CHECK(has(problems_of(head + "start = 4\nfirst_id = 4\n"),
            "f:3: sequence.\"a\".first_id: found besides"));
  CHECK(has(problems_of(head + "max = 4\nmax_value = 4\n"), "allowed: max instead"));
  CHECK(has(problems_of(head + "increment = -1\nmax_value = 4\n"), "allowed: max instead"));
  CHECK(has(problems_of(head + "start = 1.5\n"), "allowed: an integer from -9223372036854775807"));
  for (const char* progression : {"increment = 2\n", "cycle = true\n", "start = 0\nmin = 0\n"}) {
    CAPTURE(progression);
    CHECK(has(problems_of(head + progression + "meaning = \"next\"\n"),
              "other programs would read as an ID"));
  }
}

TEST_CASE("TableChangesSingleOptionsOfTheDefaultsProgression", "[progression]") {
  const Configuration read_so = configuration_of(
      "[sequence_defaults]\nincrement = -2\nmax = 100\n[sequence.a]\nmax = 50\n"
      "[sequence.b]\nincrement = 1\n[sequence.c]\nlease_min = 2\n");
  CHECK(read_so.find("other")->progression.start == 100);
  CHECK(read_so.find("a")->progression.start == 50);
  CHECK(read_so.find("c")->progression.start == 100);
  CHECK(read_so.find("b")->progression.compiled == nullptr);
  CHECK(read_so.find("b")->max_value == 100);
  CHECK(read_so.find("b")->text.compiled != nullptr);
  CHECK(read_so.find("a")->text.compiled == nullptr);
}

TEST_CASE("FormatIsRefusedWhereIdsMayComeBelowOne", "[progression]") {
  const std::string low = "[sequence.a]\nstart = 0\nmin = 0\n";
  CHECK(has(problems_of(low + "format = \"A{number}\"\n"),
            "f:4: sequence.\"a\".format: the IDs may come"));
  CHECK(has(problems_of("[sequence_defaults]\nformat = \"A{number}\"\n" + low),
            "f:3: sequence.\"a\".format"));
  CHECK(configuration_of(low).find("a")->text.compiled == nullptr);
  CHECK(configuration_of("[sequence.a]\nincrement = 3\nformat = \"A{number}\"\n")
            .find("a")
            ->text.compiled != nullptr);
}

TEST_CASE("DumpOfAProgressionReadAgainIsTheSame", "[progression]") {
  const Configuration first = configuration_of(
      "[sequence_defaults]\nfirst_id = 5\nmax_value = 77\n[sequence.a]\nincrement = -3\ncycle = "
      "true\n"
      "[sequence.b]\nstart = 9\n");
  const Configuration again = configuration_of(dump_effective(first));
  for (const char* name : {"a", "b", "c"}) CHECK(*again.find(name) == *first.find(name));
}

TEST_CASE("ProgressionOfASequenceInUseIsNotChangedByAReload", "[progression]") {
  const Configuration running =
      configuration_of("[sequence.a]\nincrement = 2\nmax = 100\n[sequence.p]\n");
  REQUIRE(running.find("a") != nullptr);
  REQUIRE(running.find("p") != nullptr);
  Configuration next = configuration_of(
      "[sequence.a]\nincrement = 3\nmax = 300\nwait_timeout = \"1s\"\n[sequence.p]\nmax = 40\n");
  const ConfigurationChanges changes = prepare_reload(running, next, {"a", "p"});
  const auto needs = [&changes](const std::string& name) {
    const auto& names = changes.restart_needed;
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  CHECK(needs("sequence.\"a\".increment"));
  CHECK(needs("sequence.\"a\".max"));
  CHECK(needs("sequence.\"p\".max"));
  CHECK(next.find("a")->progression == running.find("a")->progression);
  CHECK(next.find("a")->progression.compiled == running.find("a")->progression.compiled);
  CHECK(next.find("a")->wait_timeout_ms == 1'000);
  CHECK(next.find("p")->max_value == running.find("p")->max_value);
  CHECK(next.find("p")->progression.compiled == nullptr);
}

}  // namespace
}  // namespace seqd
