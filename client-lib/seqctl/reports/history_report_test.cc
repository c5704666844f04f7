#include "client-lib/seqctl/reports/history_report.h"

#include <cstdint>
#include <limits>

#include <catch2/catch.hpp>

namespace seqd::seqctl {
namespace {

using nlohmann::json;

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

std::string user_name(std::uint32_t uid) {
  return uid == 33 ? "www" : std::to_string(uid);
}

TEST_CASE("TimesAreShownInUtcWithMilliseconds") {
  CHECK(time_text(0) == "1970-01-01 00:00:00.000 UTC");
  CHECK(time_text(1'795'273'200'120) == "2026-11-21 15:00:00.120 UTC");
  CHECK(time_text(-1) == "1969-12-31 23:59:59.999 UTC");
  CHECK_NOTHROW(time_text(9'223'372'036'854'775'807));
  CHECK_NOTHROW(time_text(std::numeric_limits<std::int64_t>::min()));
}

TEST_CASE("AnIssueIsShownWithTimeCallerAndLease") {
  const json answer = {{"name", "orders"},
                       {"id", 7},
                       {"answer", "issued"},
                       {"text", "issued"},
                       {"issued",
                        {{"first", 1},
                         {"count", 10},
                         {"from_ms", 1'000},
                         {"to_ms", 2'000},
                         {"callers",
                          {{{"uid", 33}, {"pid", 4711}, {"name", "shop"}},
                           {{"uid", 1034}, {"pid", 5}, {"name", ""}}}},
                         {"others", true}}},
                       {"gap", nullptr},
                       {"lease",
                        {{"lease", "ab"},
                         {"first", 1},
                         {"count", 100},
                         {"at_ms", 500},
                         {"instance", "cd"},
                         {"host", "web1"},
                         {"whole", true}}}};
  const std::string text = explanation_text(answer, user_name);
  CHECK(has(text, "7 of \"orders\""));
  CHECK(has(text, "between 1970-01-01 00:00:01.000 UTC and 1970-01-01 00:00:02.000 UTC"));
  CHECK(has(text, "user www, pid 4711 (shop)"));
  CHECK(has(text, "user 1034, pid 5\n"));
  CHECK(has(text, "too many to record"));
  CHECK(has(text, "1..10 (10 IDs)"));
  CHECK(has(text, "ab, 1..100 (100 IDs)"));
  CHECK(has(text, "web1, instance cd"));
}

TEST_CASE("GapsAreATableWithWhatWasDroppedAndWhereTheNextPageBegins") {
  const json answer = {{"name", "orders"},
                       {"gaps",
                        {{{"number", 3},
                          {"first", 11},
                          {"count", 90},
                          {"cause", "no_witness"},
                          {"at_ms", 0},
                          {"lease", "ab"},
                          {"host", "web1"}},
                         {{"number", 4},
                          {"first", nullptr},
                          {"count", 70},
                          {"cause", "untraceable"},
                          {"at_ms", 0},
                          {"lease", nullptr},
                          {"host", "web1"}}}},
                       {"more", true},
                       {"dropped_ids", 5},
                       {"dropped_leases", 0}};
  const std::string text = gaps_text(answer);
  CHECK(has(text, "11..100 (90 IDs)"));
  CHECK(has(text, "at most 70 IDs, place unknown"));
  CHECK(has(text, "there are more: --after 4"));
  CHECK(has(text, "older than kept: 5 IDs"));
  CHECK(gaps_text({{"gaps", json::array()}, {"more", false}}) == "no gaps\n");
}

TEST_CASE("AnAuditShowsTheSumTheHistoryTheStoreAndTheVerdict") {
  json answer = {{"name", "orders"},
                 {"good", true},
                 {"problems", json::array()},
                 {"leased", 100},
                 {"issued", 60},
                 {"available", 40},
                 {"returned", 0},
                 {"gaps", 0},
                 {"unknown", 0},
                 {"unaccounted", 0},
                 {"history", nullptr},
                 {"store",
                  {{"error", nullptr},
                   {"exists", true},
                   {"next", 301},
                   {"parked", {{"ranges", 2}, {"ids", 30}}},
                   {"since", 1},
                   {"ours", {{"leases", 1}, {"ids", 100}}},
                   {"all", {{"leases", 2}, {"ids", 200}}}}}};
  CHECK(audit_is_good(answer));
  CHECK(has(audit_text(answer), "everything agrees"));
  CHECK(has(audit_text(answer), "200 IDs since 1, 100 to this instance; 70 were taken otherwise"));
  CHECK(has(audit_text(answer), "30 IDs in 2 ranges"));
  answer["good"] = false;
  answer["problems"] = {"the counter\nwas set back"};
  CHECK_FALSE(audit_is_good(answer));
  CHECK(has(audit_text(answer), "PROBLEM"));
  CHECK(has(audit_text(answer), "the counter?was set back"));
  answer["store"] = {{"error", "UNAVAILABLE: away"}};
  CHECK(has(audit_text(answer), "could not be queried: UNAVAILABLE: away"));
}

TEST_CASE("NothingIsAssumedAboutWhatCame") {
  for (const json& odd :
       {json(), json(5), json("x"), json::array({1, 2}), json::object(),
        json({{"gaps", 5},
              {"issued", 1},
              {"lease", "x"},
              {"problems", {{"a", 1}}},
              {"history", 3},
              {"store", json::array()},
              {"dropped_ids", "x"}}),
        json({{"gaps", {1, "x", json::array()}}, {"issued", {{"callers", 5}, {"count", "x"}}}})}) {
    CHECK_NOTHROW(gaps_text(odd));
    CHECK_NOTHROW(explanation_text(odd, user_name));
    CHECK_NOTHROW(audit_text(odd));
    CHECK_FALSE(audit_is_good(odd));
  }
  const json huge = {{"first", 9'223'372'036'854'775'807}, {"count", 9'223'372'036'854'775'807}};
  CHECK_NOTHROW(gaps_text({{"gaps", {huge}}}));
}

}  // namespace
}  // namespace seqd::seqctl
