#include "client-lib/seqctl/live/watch_report.h"

#include <algorithm>
#include <catch2/catch.hpp>

namespace seqd::seqctl {
namespace {

using nlohmann::json;

json row(const std::string& name, std::int64_t issued, std::int64_t available) {
  return {{"name", name},       {"issued", issued}, {"available", available}, {"state", "ready"},
          {"next", issued + 1}, {"waiting", 0},     {"runway_ms", 9'321},     {"error", nullptr}};
}

SampleTime at(std::int64_t ms) {
  return {ms, 1'795'273'200'000 + ms, "12:00:00"};
}

std::size_t lines(const std::string& text) {
  return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

}  // namespace

TEST_CASE("WatchHasALineForEachSequenceAtFirst", "[client]") {
  WatchReport report(Format::text, {"orders", "bills"}, 20);
  CHECK(report.answered({row("orders", 4, 96), nullptr}, at(0)) ==
        "TIME     NAME         NEXT  IDs/s AVAILABLE     RUNWAY WAITING STATE\n"
        "12:00:00 orders          5      -        96        9 s       0 ready\n"
        "12:00:00 bills           -      -         -          -       - not in use\n");
}

TEST_CASE("WatchHasALineForEachChangeAndNoneWithout", "[client]") {
  WatchReport report(Format::text, {"orders", "bills"}, 20);
  report.answered({row("orders", 4, 96), row("bills", 0, 0)}, at(0));
  CHECK(report.answered({row("orders", 4, 96), row("bills", 0, 0)}, at(1'000)).empty());
  CHECK(report.answered({row("orders", 54, 46), row("bills", 0, 0)}, at(3'000)) ==
        "12:00:00 orders         55     25        46        9 s       0 ready\n");
  // Its rest is a change of the rate, and told once; the runway only falls meanwhile.
  json rests = row("orders", 54, 46);
  CHECK(report.answered({rests, row("bills", 0, 0)}, at(4'000)) ==
        "12:00:00 orders         55      0        46        9 s       0 ready\n");
  rests["runway_ms"] = 20'000;
  CHECK(report.answered({rests, row("bills", 0, 0)}, at(5'000)).empty());
  json stopped = rests;
  stopped["state"] = "stopped";
  stopped["error"] = "SEQ_REGRESSED: lower\x1b[2J";
  CHECK_THAT(report.answered({stopped, row("bills", 0, 0)}, at(6'000)),
             Catch::EndsWith("stopped, SEQ_REGRESSED: lower?[2J\n"));
}

TEST_CASE("WatchComparesNothingWithAnotherPeriod", "[client]") {
  WatchReport report(Format::json, {"daily"}, 20);
  report.answered(json::array({row("daily@2026-11-25", 900, 96)}), at(0));
  const json next =
      json::parse(report.answered(json::array({row("daily@2026-11-26", 5, 96)}), at(1'000)));
  CHECK(next["name"] == "daily@2026-11-26");
  CHECK(next["ids_per_second"].is_null());
}

TEST_CASE("WatchTellsThatThereIsNoAnswerOnceAndThenAllAgain", "[client]") {
  WatchReport report(Format::text, {"orders"}, 20);
  const json rows = json::array({row("orders", 4, 96)});
  report.answered(rows, at(0));
  CHECK(report.unanswered("CONNECT", "gone\x1b") == "no answer: CONNECT: gone?\n");
  CHECK(report.unanswered("CONNECT", "gone\x1b").empty());
  CHECK(report.unanswered("TIMEOUT", "late") == "no answer: TIMEOUT: late\n");
  CHECK(lines(report.answered(rows, at(9'000))) == 1);
  CHECK(report.answered(rows, at(10'000)).empty());
  CHECK_FALSE(report.unanswered("TIMEOUT", "late").empty());
}

TEST_CASE("WatchAsJsonHasTheSameNumbers", "[client]") {
  WatchReport report(Format::json, {"orders"}, 20);
  report.answered(json::array({row("orders", 4, 96)}), at(0));
  CHECK(json::parse(report.answered(json::array({row("orders", 14, 86)}), at(1'000))) ==
        json{{"at_ms", 1'795'273'201'000},
             {"name", "orders"},
             {"state", "ready"},
             {"next", 15},
             {"ids_per_second", 10.0},
             {"available", 86},
             {"runway_ms", 9'321},
             {"waiting", 0},
             {"error", nullptr}});
  CHECK(json::parse(report.unanswered("BUSY", "x"))["error"]["code"] == "BUSY");
}

TEST_CASE("WatchRepeatsItsHeader", "[client]") {
  WatchReport report(Format::text, {"a", "b"}, 3);
  std::size_t headers = 0;
  for (int look = 0; look < 6; ++look) {
    const std::string text =
        report.answered({row("a", look * 5, 1), row("b", look * 7, 1)}, at(look * 1'000));
    for (std::size_t found = 0; (found = text.find("TIME", found)) != std::string::npos; ++found)
      ++headers;
  }
  CHECK(headers == 4);
}

TEST_CASE("WatchBelievesNothingOfWhatADaemonSends", "[client]") {
  WatchReport report(Format::text, {"orders", "bills"}, 20);
  for (const json& odd :
       {json(), json(7), json::array(), json{{"name", 1}}, json::array({1, 2, 3, 4}),
        json::array({{{"name", "a\x1b[2J"}, {"issued", "many"}, {"runway_ms", 1e300}}})}) {
    const std::string text = report.answered(odd, at(0));
    CHECK_THAT(text, !Catch::Contains("\x1b"));
    CHECK(lines(text) <= 3);
  }
}

}  // namespace seqd::seqctl
