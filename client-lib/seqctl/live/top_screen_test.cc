#include "client-lib/seqctl/live/top_screen.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <sstream>

namespace seqd::seqctl {
namespace {

using nlohmann::json;

json row(const std::string& name, std::int64_t issued, const char* state = "ready") {
  return {{"name", name}, {"store", "main"},  {"state", state}, {"available", 100},
          {"out", 0},     {"issued", issued}, {"waiting", 0}};
}

TopTable two_samples(const std::string& name, std::int64_t issued, const char* state = "ready") {
  TopTable table;
  table.add_page(json::array({row(name, 0, state)}), 0);
  table.add_page(json::array({row(name, issued, state)}), 1'000);
  return table;
}

TopScreen::Heading heading() {
  TopScreen::Heading heading;
  heading.version = "0.1.0";
  heading.connections = 3;
  heading.rate = 40.0;
  return heading;
}

Terminal terminal(std::size_t rows, std::size_t columns) {
  return {true, false, false, rows, columns};
}

std::vector<std::string> lines_of(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

}  // namespace

TEST_CASE("TheTableOfWhatIsNoTerminalIsPlainText", "[client]") {
  TopScreen screen;
  CHECK(screen.text(two_samples("orders", 40), heading(), 20, {}, 1'000) ==
        "seqd 0.1.0: 40 IDs/s, 1 sequences, 0 stopped, 0 requests waiting, 3 connections\n"
        "NAME    IDS/S  AVAILABLE  RUNWAY  WAITING  STORE  STATE\n"
        "orders     40        100   2.5 s        0  main   ready\n");
}

TEST_CASE("IdsThatAreOutHaveAColumnWhereThereAreAny", "[client]") {
  TopTable table;
  json with = row("orders", 0);
  with["out"] = 64;
  table.add_page(json::array({with, row("bills", 0)}), 0);
  CHECK_THAT(TopScreen().text(table, heading(), 20, {}, 0),
             Catch::EndsWith("NAME    IDS/S  AVAILABLE  OUT  RUNWAY  WAITING  STORE  STATE\n"
                             "bills       -        100    0       -        0  main   ready\n"
                             "orders      -        100   64       -        0  main   ready\n"));
  CHECK(top_value(table, heading(), 20)["rows"][1]["out"] == 64);
}

TEST_CASE("ATerminalGetsLinesThatFitItAndOverwriteTheLastOnes", "[client]") {
  TopTable table;
  json page = json::array();
  for (int i = 0; i < 100; ++i) page.push_back(row("s" + std::to_string(i), i));
  table.add_page(page, 0);
  TopScreen screen;
  const std::string text = screen.text(table, heading(), 1'000, terminal(10, 50), 0);
  CHECK(text.starts_with("\x1b[H"));
  CHECK(text.ends_with("\n\x1b[J"));
  const std::vector<std::string> lines = lines_of(text);
  CHECK(lines.size() == 10);  // 9 lines, and what clears the rest
  // A terminal whose line is full would clear its last character.
  for (std::size_t i = 1; i < 9; ++i) CHECK(lines[i].size() == 50);
  for (const std::string& line : lines_of(screen.text(table, heading(), 3, terminal(10, 500), 0)))
    CHECK((line.ends_with("\x1b[K") || line.ends_with("\x1b[J")));
  CHECK(screen.text(table, heading(), 3, terminal(10, 50), 0).find("s2") == std::string::npos);
  // The smallest windows have no room for a table, and that is no error.
  for (const std::size_t size : {1U, 2U, 3U, 4U})
    CHECK(screen.text(table, heading(), 1'000, terminal(size, size), 0).ends_with("\x1b[J"));
}

TEST_CASE("ALongNameIsCutAndNotTheColumnsBehindIt", "[client]") {
  const std::string name(40, 'x');
  TopScreen screen;
  const std::string text =
      screen.text(two_samples(name, 40), heading(), 20, terminal(24, 80), 1'000);
  CHECK(text.find("WAITING  STORE  STATE") != std::string::npos);
  CHECK(text.find("xx~ ") != std::string::npos);
  CHECK(text.find("main   ready") != std::string::npos);
  // What is too narrow all the same has names that can still be told apart.
  CHECK(screen.text(two_samples(name, 40), heading(), 20, terminal(24, 30), 1'000)
            .find("xxxxxxx~ ") != std::string::npos);
  CHECK(screen.text(two_samples(name, 40), heading(), 20, {}, 1'000).find(name) !=
        std::string::npos);
}

TEST_CASE("TheLastMinuteIsDrawnWhereThereIsRoom", "[client]") {
  TopScreen screen;
  const TopTable table = two_samples("orders", 40);
  const std::string wide = screen.text(table, heading(), 20, terminal(24, 100), 1'000);
  CHECK(wide.find("LAST MINUTE") != std::string::npos);
  CHECK(wide.find(std::string(19, ' ') + "#\x1b[K") != std::string::npos);
  Terminal utf8 = terminal(24, 100);
  utf8.utf8 = true;
  CHECK(screen.text(table, heading(), 20, utf8, 1'000).find("█\x1b[K") != std::string::npos);
  CHECK(screen.text(table, heading(), 20, terminal(24, 60), 1'000).find('#') == std::string::npos);
}

TEST_CASE("ColoursAreOnlyWhereTheTerminalMayHaveThem", "[client]") {
  TopScreen screen;
  const TopTable table = two_samples("orders", 40, "stopped");
  Terminal coloured = terminal(24, 100);
  CHECK(screen.text(table, heading(), 20, coloured, 0).find("\x1b[31m") == std::string::npos);
  coloured.colours = true;
  CHECK(screen.text(table, heading(), 20, coloured, 0).find("\x1b[31morders") != std::string::npos);
}

TEST_CASE("NoAnswerIsShownAboveTheLastTable", "[client]") {
  TopScreen screen;
  TopScreen::Heading gone = heading();
  gone.trouble = "CONNECT: no daemon\x1b]0;x\x07";
  const std::string text = screen.text(two_samples("orders", 40), gone, 20, {}, 0);
  CHECK(text.starts_with("no answer: CONNECT: no daemon?]0;x?\n"));
  CHECK(text.find("orders") != std::string::npos);
}

TEST_CASE("WhatTheDaemonSendsDoesNotReachTheTerminalAsItIs", "[client]") {
  const std::string evil = "\x1b[31m\xc2\x9b\xe2\x80\xae\r\n\x07";
  TopTable table;
  json hostile = row(evil, 0);
  hostile["store"] = hostile["state"] = evil;
  table.add_page(json::array({hostile}), 0);
  TopScreen::Heading of_evil = heading();
  of_evil.version = evil;
  for (const Terminal& each : {Terminal(), terminal(24, 200)}) {
    std::string text = TopScreen().text(table, of_evil, 20, each, 0);
    for (const char* own : {"\x1b[H", "\x1b[K\n", "\x1b[J"}) {
      for (std::size_t at = 0; (at = text.find(own)) != std::string::npos;)
        text.erase(at, std::string(own).size());
    }
    CHECK(std::all_of(text.begin(), text.end(),
                      [](char c) { return c == '\n' || (c >= ' ' && c <= '~'); }));
  }
}

TEST_CASE("TheMinutesOfSequencesThatWereShownAreBounded", "[client]") {
  TopScreen screen;
  std::size_t largest = 0;
  for (int look = 0; look < 8; ++look) {
    TopTable table;
    json page = json::array();
    for (int i = 0; i < 1'000; ++i) page.push_back(row(std::to_string(look * 1'000 + i), 0));
    table.add_page(page, look * 2);
    for (json& each : page) each["issued"] = 5;
    table.add_page(page, look * 2 + 1);
    screen.text(table, heading(), 1'000, terminal(1'000, 200), look * 2 + 1);
    largest = std::max(largest, screen.remembered());
  }
  CHECK(largest <= TopScreen::kMostMinutes);
  CHECK(largest >= 1'000 - 3);
  screen.text(TopTable(), heading(), 20, terminal(24, 80), 120'000);
  CHECK(screen.remembered() == 0);
}

TEST_CASE("ProgramsGetTheSameTableAsJson", "[client]") {
  const json value = top_value(two_samples("orders", 40), heading(), 20);
  CHECK(value["sequences"] == 1);
  CHECK(value["ids_per_second"] == 40.0);
  CHECK(value["rows"] == json::array({{{"name", "orders"},
                                       {"store", "main"},
                                       {"state", "ready"},
                                       {"available", 100},
                                       {"out", 0},
                                       {"waiting", 0},
                                       {"issued", 40},
                                       {"ids_per_second", 40.0},
                                       {"runway_s", 2.5}}}));
  CHECK(top_value(two_samples("orders", 40), heading(), 0)["rows"].empty());
}

}  // namespace seqd::seqctl
