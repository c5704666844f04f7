#include "client-lib/seqctl/reports/report.h"

#include <catch2/catch.hpp>
#include <vector>

namespace seqd::seqctl {

using nlohmann::json;

TEST_CASE("RunsAreShownAsIdsAndAsTheyAre", "[client]") {
  const std::vector<seqd_run> runs = {{5, 3, 1}, {100, 2, 10}};
  CHECK(ids_text(runs) == "5\n6\n7\n100\n110\n");
  CHECK(runs_text(runs) == "5 3 1\n100 2 10\n");
  CHECK(to_json_line(runs_json(runs)) ==
        R"([{"count":3,"first":5,"step":1},{"count":2,"first":100,"step":10}])");
}

TEST_CASE("HighestIdIsShownExactly", "[client]") {
  const std::vector<seqd_run> runs = {{INT64_MAX, 1, 1}};
  CHECK(ids_text(runs) == "9223372036854775807\n");
}

TEST_CASE("ListIsATableWhoseColumnsLineUp", "[client]") {
  const json list = json::array({{{"name", "orders"},
                                  {"store", "default"},
                                  {"state", "ready"},
                                  {"next", 42},
                                  {"available", 100},
                                  {"out", 25},
                                  {"error", nullptr}},
                                 {{"name", "a"},
                                  {"store", "main"},
                                  {"state", "stopped"},
                                  {"next", nullptr},
                                  {"available", 0},
                                  {"out", 0},
                                  {"error", "SEQ_TYPE: not an integer"}}});
  CHECK(list_text(list) ==
        "NAME    STORE    STATE    NEXT  AVAILABLE  OUT  ERROR\n"
        "orders  default  ready    42    100        25   -\n"
        "a       main     stopped  -     0          0    SEQ_TYPE: not an integer\n");
}

TEST_CASE("AnErrorOfManySequencesIsPrintedOnce", "[client]") {
  json list = json::array();
  for (const char* name : {"a", "b", "c"})
    list.push_back({{"name", name}, {"error", "UNAVAILABLE: " + std::string(600, 'x')}});
  list.push_back({{"name", "d"}, {"error", nullptr}});
  list.push_back({{"name", "e"}, {"error", nullptr}});
  const std::string text = list_text(list);
  CHECK(text.find("UNAVAILABLE") == text.rfind("UNAVAILABLE"));
  CHECK(text.find("as for a\n") != text.rfind("as for a\n"));
  CHECK(text.find("as for d") == std::string::npos);
}

TEST_CASE("StatusFitsOneScreenAndNamesEveryStore", "[client]") {
  const json status = {
      {"version", "0.1.0"},
      {"pid", 12},
      {"instance", "host-1"},
      {"uptime_ms", 3'725'000},
      {"state_how", "new"},
      {"connections", 3},
      {"requests", 10},
      {"issued", 20},
      {"out", 12},
      {"sequences", 2},
      {"waiting", 0},
      {"runway_ms", 12'345},
      {"runway_sequence", "orders"},
      {"ending",
       {{{"name", "orders"}, {"left", 500}, {"days_left", 3}},
        {{"name", "a"}, {"left", 7}, {"days_left", nullptr}}}},
      {"stores",
       {{{"name", "main"}, {"type", "mongodb"}, {"state", "away"}, {"error", "refused"}},
        {{"name", "local"}, {"type", "sqlite"}, {"state", "ready"}, {"error", nullptr}}}},
      {"log", {{"position", 4096}, {"syncs", 7}, {"rotations", 1}}}};
  CHECK(status_text(status) ==
        "daemon    seqd 0.1.0, pid 12, up 1 h 2 min\n"
        "instance  host-1\n"
        "started   new\n"
        "clients   3 connected, 10 requests\n"
        "IDs       20 issued, 12 in blocks, 2 sequences, 0 requests waiting\n"
        "log       position 4096, 7 syncs, 1 rotations\n"
        "runway    12 s 345 ms (orders)\n"
        "ends      orders: 500 IDs left to lease, 3 days at the present rate\n"
        "ends      a: 7 IDs left to lease\n"
        "store     main (mongodb): away, refused\n"
        "store     local (sqlite): ready\n");
}

TEST_CASE("AnswersOfUnexpectedTypesAreShownWithoutHarm", "[client]") {
  for (const json& strange : {json(), json(7), json("text"), json::array({1, "a", json::array()}),
                              json({{"stores", 3}, {"log", "x"}, {"uptime_ms", "long"}})}) {
    CHECK_FALSE(status_text(strange).empty());
    CHECK_FALSE(list_text(strange).empty());
    CHECK_FALSE(peek_text(strange).empty());
    CHECK_FALSE(reload_text(strange).empty());
  }
}

TEST_CASE("ControlCharactersOfTheDaemonNeverReachTheTerminal", "[client]") {
  CHECK(printable("a\x1b[2Jb\nc\x7f") == "a?[2Jb?c?");
  // C1 in UTF-8 and as bytes, and what turns the text round.
  CHECK(printable("a\xc2\x9b"
                  "2Jb\x9b"
                  "31m \u202edcba\u2066 \u00e9\u20ac") == "a??2Jb?31m ?dcba? \u00e9\u20ac");
  CHECK(to_json_line({{"n", "a\x1b\x7f\xc2\x9b\u202e\u2069\u00e9"}}) ==
        "{\"n\":\"a\\u001b\\u007f\\u009b\\u202e\\u2069\u00e9\"}");
  CHECK(error_text(Format::text, "INTERNAL", "\x1b]0;x\a") == "seqctl: INTERNAL: ?]0;x?\n");
  const json list = json::array({{{"name", "x\ny"}, {"error", "\x1b[31m"}}});
  const std::string text = list_text(list);
  CHECK(text.find('\x1b') == std::string::npos);
  CHECK(std::count(text.begin(), text.end(), '\n') == 2);
}

TEST_CASE("TextThatIsNotUtf8IsReplacedInJson", "[client]") {
  CHECK_NOTHROW(to_json_line(json("\xff\xfe")));
  CHECK(error_text(Format::json, "BUSY", "full") ==
        "{\"error\":{\"code\":\"BUSY\",\"text\":\"full\"}}\n");
}

TEST_CASE("MessagePackBecomesJsonAndWhatCannotIsDiscarded", "[client]") {
  CHECK(to_json_line(from_message_pack("\x81\xa1"
                                       "a\x93\x01\xc0\xc3")) == R"({"a":[1,null,true]})");
  CHECK(from_message_pack("").is_discarded());
  CHECK(from_message_pack("\xc1").is_discarded());
  CHECK(from_message_pack("\x81\x01\x01").is_discarded());  // a key that is no text
  CHECK(from_message_pack("\x01\x01").is_discarded());      // two values
}

TEST_CASE("ReloadSaysWhatWasAppliedAndWhatNeedsARestart", "[client]") {
  CHECK(reload_text({{"applied", json::array()}, {"restart_needed", json::array()}}) ==
        "nothing to apply\n");
  CHECK(
      reload_text({{"applied", {"limits.frame", "limits.name"}}, {"restart_needed", {"socket"}}}) ==
      "applied:\n  limits.frame\n  limits.name\nneeds a restart:\n  socket\n");
  const std::string many =
      reload_text({{"applied", std::vector<std::string>(16'384, "sequence.\"x\".start")}});
  CHECK(std::count(many.begin(), many.end(), '\n') == 42);
  CHECK_THAT(many, Catch::EndsWith("  and 16344 more\n"));
}

TEST_CASE("EachProblemOfAConfigurationIsOnALineOfItsOwn", "[client]") {
  CHECK(error_text(Format::text, "CONFIG", "f:1: a\nf:2: b\x1b[2J") ==
        "seqctl: CONFIG: f:1: a\n  f:2: b?[2J\n");
}

TEST_CASE("DurationsHaveTwoUnitsAtMost", "[client]") {
  CHECK(duration_text(0) == "0 ms");
  CHECK(duration_text(-5) == "0 ms");
  CHECK(duration_text(850) == "850 ms");
  CHECK(duration_text(1'000) == "1 s");
  CHECK(duration_text(61'500) == "1 min 1 s");
  CHECK(duration_text(90'061'000) == "1 d 1 h");
}

}  // namespace seqd::seqctl
