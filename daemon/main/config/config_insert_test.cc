// Sequences that insert documents, as the configuration says it: what is taken, and what is refused
// in which words.
#include <string>

// Last, so that CHECK is the one of the tests.
#include "tests/unit/configurations.h"

namespace seqd {
namespace {

constexpr char kStores[] =
    "[store.m]\ntype = \"mongodb\"\nuri = \"mongodb://h/\"\n[store.s]\ntype = \"sqlite\"\n"
    "path = \"/x\"\n[daemon]\ndefault_store = \"s\"\n[sequence.\"people\"]\n";  // nine lines

Result<Configuration> parse(const std::string& table) {
  return parse_configuration(kStores + table, "f", {});
}

std::string problems(const std::string& table) {
  return problems_of(kStores + table);
}

TEST_CASE("ASequenceOfAMongoStoreMayInsert") {
  const Result<Configuration> configuration =
      parse("store = \"m\"\nmode = \"insert\"\ncollection = \"people\"\nfirst_id = 5\n");
  REQUIRE(configuration.ok());
  const SequenceSettings* people = configuration->find("people");
  REQUIRE(people != nullptr);
  CHECK(people->mode == SequenceMode::insert);
  CHECK(people->binding.collection == "people");
  CHECK(people->binding.first_id == 5);
  CHECK(configuration->find("orders")->mode == SequenceMode::lease);
}

TEST_CASE("InsertingNeedsAStoreThatCanAndACollectionOfItsOwn") {
  CHECK(problems("mode = \"insert\"\ncollection = \"people\"\n") ==
        "f:10: sequence.\"people\".mode: found \"insert\", and the store \"s\" is not of type "
        "mongodb; allowed: a mongodb store, or \"lease\"");
  CHECK(problems("store = \"m\"\nmode = \"insert\"\n") ==
        "f:11: sequence.\"people\".mode: found \"insert\" without a collection; allowed: together "
        "with collection, the one that gets the documents");
}

TEST_CASE("WhatSaysSomethingOfACounterHasNoMeaningForInserts") {
  for (const char* line :
       {"key = \"a\"", "key_field = \"a\"", "counter_field = \"a\"", "meaning = \"last\"",
        "reuse = \"tail\"", "start = 5", "increment = 2", "min = 1", "max = 9", "cycle = true"}) {
    const std::string text = problems(
        std::string("store = \"m\"\nmode = \"insert\"\ncollection = \"people\"\n") + line + "\n");
    INFO(text);
    CHECK(text.find("has no meaning with mode = \"insert\"") != std::string::npos);
  }
}

TEST_CASE("AReloadKeepsTheModeOfASequenceInUse") {
  const Result<Configuration> running =
      parse("store = \"m\"\nmode = \"insert\"\ncollection = \"people\"\n");
  REQUIRE(running.ok());
  REQUIRE(running->find("people")->mode == SequenceMode::insert);
  Result<Configuration> next = parse("store = \"m\"\ncollection = \"people\"\n");
  REQUIRE(next.ok());
  const ConfigurationChanges changes = prepare_reload(*running, *next, {"people"});
  CHECK(changes.restart_needed == std::vector<std::string>{"sequence.\"people\".mode"});
  CHECK(next->find("people")->mode == SequenceMode::insert);
}

}  // namespace
}  // namespace seqd
