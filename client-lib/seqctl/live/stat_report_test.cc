#include "client-lib/seqctl/live/stat_report.h"

#include <catch2/catch.hpp>

namespace seqd::seqctl {
namespace {

using nlohmann::json;

json status(std::int64_t pid, std::int64_t uptime_ms, std::int64_t issued) {
  return {{"pid", pid},       {"uptime_ms", uptime_ms}, {"issued", issued}, {"requests", issued},
          {"connections", 3}, {"waiting", 2},           {"leases", 4},      {"gaps", 100},
          {"errors", 7}};
}

}  // namespace

TEST_CASE("ALineIsWhatWasCountedSinceThePreviousSample", "[client]") {
  StatReport report(Format::text, 2);
  CHECK(report.answered(status(1, 0, 1'000), 10'000).empty());
  json second = status(1, 2'000, 6'000);
  second["gaps"] = 150;
  CHECK(report.answered(second, 12'000) ==
        "     IDs/s requests/s connections    waiting   leases/s       gaps     errors\n"
        "      2500       2500           3          2          0         50          0\n");
  CHECK(report.answered(status(1, 4'000, 6'001), 14'000) ==
        "      0.50       0.50           3          2          0          0          0\n");
  CHECK(report.answered(status(1, 5'000, 6'001), 15'000).find("IDs/s") != std::string::npos);
}

TEST_CASE("ALineFitsATerminalOf80Columns", "[client]") {
  StatReport report(Format::text, 20);
  report.answered(status(1, 0, 0), 0);
  const std::string lines = report.answered(status(1, 1'000, 1), 1'000);
  CHECK(lines.find('\n') <= 80);
  CHECK(lines.size() <= 2 * 81);
}

TEST_CASE("ALineOfJsonHasTheSameNumbers", "[client]") {
  StatReport report(Format::json, 20);
  report.answered(status(1, 0, 0), 0);
  CHECK(json::parse(report.answered(status(1, 500, 50), 500)) ==
        json{{"interval_ms", 500},
             {"ids_per_second", 100.0},
             {"requests_per_second", 100.0},
             {"connections", 3},
             {"waiting", 2},
             {"leases_per_second", 0.0},
             {"gaps", 0},
             {"errors", 0}});
  CHECK(json::parse(report.unanswered("CONNECT", "gone")) ==
        json{{"error", {{"code", "CONNECT"}, {"text", "gone"}}}});
  CHECK(json::parse(report.answered(status(2, 10, 50), 1'000)) ==
        json{{"restarted", {{"pid", 2}}}});
}

TEST_CASE("ADaemonThatWasStartedAgainIsComparedWithNothing", "[client]") {
  StatReport report(Format::text, 20);
  report.answered(status(1, 60'000, 500), 0);
  CHECK(report.unanswered("CONNECT", "no daemon\x1b[2J") == "no answer: CONNECT: no daemon?[2J\n");
  CHECK(report.answered(status(2, 100, 500), 2'000) == "the daemon was restarted, pid 2\n");
  CHECK(report.answered(status(2, 1'100, 600), 3'000).find("100") != std::string::npos);
  // The number of the process may come again, as in a container.
  CHECK(report.answered(status(2, 5, 600), 4'000).starts_with("the daemon was restarted"));
}

TEST_CASE("WhatADaemonDoesNotTellIsADash", "[client]") {
  StatReport report(Format::text, 20);
  report.answered(json{{"issued", 1}}, 0);
  const std::string line = report.answered(json{{"issued", 3}}, 1'000);
  CHECK(line.find("       2.0          -           -") != std::string::npos);
  for (const json& odd :
       {json("x"), json(nullptr), json{{"issued", -5}}, json{{"issued", UINT64_MAX}}}) {
    StatReport hostile(Format::text, 20);
    hostile.answered(odd, 0);
    CHECK(hostile.answered(odd, 1'000).ends_with("-\n"));
  }
}

TEST_CASE("ASumThatFallsIsNoNegativeRate", "[client]") {
  CHECK(difference(json{{"issued", 9}}, json{{"issued", 5}}, "issued") == 0);
  CHECK(difference(json{{"issued", 9}}, json{{"issued", 15}}, "issued") == 6);
  CHECK_FALSE(difference(json{{"issued", "9"}}, json{{"issued", 15}}, "issued"));
  CHECK_FALSE(difference(json(), json{{"issued", 15}}, "issued"));
}

TEST_CASE("ARateHasAsManyDigitsAsItNeeds", "[client]") {
  CHECK(rate_text(std::nullopt) == "-");
  CHECK(rate_text(0.0) == "0");
  CHECK(rate_text(0.256) == "0.26");
  CHECK(rate_text(2.44) == "2.4");
  CHECK(rate_text(95'123.4) == "95123");
}

}  // namespace seqd::seqctl
