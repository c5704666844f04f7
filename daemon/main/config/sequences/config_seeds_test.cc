#include "daemon/main/config/sequences/config_seeds.h"

// Last, so that CHECK is the one of the tests.
#include <catch2/catch.hpp>

namespace seqd {
namespace {

const std::string kMongo =
    "[store.m]\ntype = \"mongodb\"\nuri = \"mongodb://h/\"\n[store.s]\npath = \"/s\"\n"
    "[sequence.a]\n";

std::string problem(const std::string& text) {
  const Result<Configuration> configuration =
      parse_configuration("[daemon]\ndefault_store = \"m\"\n" + kMongo + text, "f", {});
  return configuration.ok() ? "" : configuration.status().text();
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST_CASE("SeedOfASequenceOnMongoIsRead", "[seed]") {
  const Result<Configuration> read = parse_configuration(
      "[daemon]\ndefault_store = \"m\"\n" + kMongo +
          "seed_collection = \"invoices\"\nseed_field = \"head.number\"\nstart = 100\n",
      "f", {});
  INFO(read.status().text());
  REQUIRE(read.ok());
  const CounterBinding& binding = read->find("a")->binding;
  CHECK(binding.seed_collection == "invoices");
  CHECK(binding.seed_field == "head.number");
  CHECK(binding.first_id == 100);
  CHECK(dump_effective(*read).find("seed_field = \"head.number\"\n") != std::string::npos);
  CHECK(read->find("b")->binding.seed_collection.empty());
}

TEST_CASE("SeedThatCannotBeIsRefusedWithTheReason", "[seed]") {
  const std::string seed = "seed_collection = \"invoices\"\n";
  CHECK(problem(seed).empty());
  CHECK(has(problem("seed_field = \"n\"\n"), "f:9: sequence.\"a\".seed_field: found without"));
  CHECK(has(problem(seed + "store = \"s\"\n"),
            "f:9: sequence.\"a\".seed_collection: a store of type sqlite"));
  CHECK(has(problem(seed + "increment = 2\n"), "is an ordinal"));
  for (const char* field : {"$n", "a.", ".a", "a..b", "a.$b"}) {
    CAPTURE(field);
    CHECK(
        has(problem(seed + "seed_field = \"" + field + "\"\n"), "f:10: sequence.\"a\".seed_field"));
  }
}

}  // namespace
}  // namespace seqd
