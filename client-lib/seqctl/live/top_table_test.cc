#include "client-lib/seqctl/live/top_table.h"

#include <catch2/catch.hpp>

namespace seqd::seqctl {
namespace {

using nlohmann::json;

json row(const std::string& name, std::int64_t issued, std::int64_t available = 100) {
  return {{"name", name},           {"store", "main"},  {"state", "ready"},
          {"available", available}, {"issued", issued}, {"waiting", 0}};
}

std::vector<std::string> names_of(const std::vector<const TopTable::Row*>& rows) {
  std::vector<std::string> names;
  for (const TopTable::Row* each : rows) names.push_back(each->name);
  return names;
}

}  // namespace

TEST_CASE("ARateIsWhatWasIssuedBetweenTwoSamplesOfASequence", "[client]") {
  TopTable table;
  table.add_page(json::array({row("a", 1'000), row("b", 0)}), 10'000);
  table.end_round();
  CHECK_FALSE(table.busiest(1)[0]->rate);
  CHECK_FALSE(table.busiest(1)[0]->runway());
  table.add_page(json::array({row("a", 1'000), row("b", 50, 75)}), 12'000);
  table.end_round();
  const auto rows = table.busiest(10);
  REQUIRE(names_of(rows) == std::vector<std::string>{"b", "a"});
  CHECK(rows[0]->rate == 25.0);
  CHECK(rows[0]->runway() == 3.0);
  CHECK((rows[0]->since_ms == 10'000 && rows[0]->seen_ms == 12'000));
  CHECK(rows[1]->rate == 0.0);
  CHECK_FALSE(rows[1]->runway());
}

// After a sample that took long the next one is due at once.
TEST_CASE("TwoSamplesWithinAMillisecondHaveARate", "[client]") {
  TopTable table;
  table.add_page(json::array({row("a", 1)}), 5);
  table.add_page(json::array({row("a", 4)}), 5);
  CHECK(table.busiest(1)[0]->rate == 3'000.0);
}

TEST_CASE("TheBusiestComeFirstThenThoseWithWaitingRequests", "[client]") {
  TopTable table;
  json waited = row("w", 0);
  waited["waiting"] = 5;
  json stopped = row("z", 0);
  stopped["state"] = "stopped";
  const auto page = [&](std::int64_t issued) {
    return json::array({row("a", 0), row("b", issued), row("c", 2 * issued), waited, stopped});
  };
  table.add_page(page(0), 0);
  table.add_page(page(10), 1'000);
  CHECK(names_of(table.busiest(10)) == std::vector<std::string>{"c", "b", "w", "z", "a"});
  CHECK(names_of(table.busiest(2)) == std::vector<std::string>{"c", "b"});
  CHECK(table.busiest(0).empty());
  CHECK(table.stopped() == 1);
}

TEST_CASE("ASequenceThatIsInNoPageOfARoundIsGone", "[client]") {
  TopTable table;
  table.add_page(json::array({row("a", 0), row("b", 0)}), 0);
  table.end_round();
  table.add_page(json::array({row("a", 0)}), 1'000);
  CHECK(table.size() == 2);
  table.end_round();
  CHECK(names_of(table.busiest(10)) == std::vector<std::string>{"a"});
}

TEST_CASE("ACountThatFellOrIsMissingIsNoRate", "[client]") {
  TopTable table;
  table.add_page(json::array({row("a", 100)}), 0);
  table.add_page(json::array({row("a", 5)}), 1'000);
  CHECK_FALSE(table.busiest(1)[0]->rate);
  table.add_page(json::array({row("a", 7)}), 2'000);
  CHECK(table.busiest(1)[0]->rate == 2.0);
  json silent = row("a", 0);
  silent.erase("issued");
  table.add_page(json::array({silent}), 3'000);
  CHECK_FALSE(table.busiest(1)[0]->rate);
  CHECK_FALSE(table.busiest(1)[0]->issued);
}

TEST_CASE("WhatIsNoRowIsLeftOutAndTheTableDoesNotGrowWithoutBound", "[client]") {
  TopTable table;
  table.add_page(json::array({1, nullptr, "x", json::object(), row(std::string(257, 'x'), 0),
                              json{{"name", 7}}, json{{"name", "n"}, {"available", "many"}}}),
                 0);
  table.add_page("x", 0);
  CHECK(table.size() == 1);
  json page = json::array();
  for (int i = 0; i < 1'000; ++i) page.push_back(row("", 0));
  for (std::size_t i = 0; i < 102; ++i) {
    for (std::size_t k = 0; k < 1'000; ++k) page[k]["name"] = std::to_string(i * 1'000 + k);
    table.add_page(page, 0);
  }
  CHECK(table.size() == TopTable::kMostSequences);
  CHECK(table.is_full());
  table.end_round();
  CHECK(table.is_partial());
  // The next round begins like the first one.
  CHECK_FALSE(table.is_full());
  table.add_page(json::array({row("5", 3)}), 1'000);
  CHECK(table.busiest(1)[0]->rate == 3.0);
  table.end_round();
  CHECK((table.size() == 1 && !table.is_partial()));
}

TEST_CASE("ACellHoldsNothingThatATerminalWouldObey", "[client]") {
  CHECK(plain_cell("orders:1@2026-11-26", 40) == "orders:1@2026-11-26");
  CHECK(plain_cell("a\x1b[2J\n\x7f\xc2\x9bm\xe2\x80\xae", 40) == "a?[2J????m???");
  CHECK(plain_cell("abcdef", 4) == "abc~");
  CHECK(plain_cell("abcd", 4) == "abcd");
  CHECK(plain_cell("", 4).empty());
  CHECK(plain_cell("abc", 0).empty());
}

}  // namespace seqd::seqctl
