#include "client-lib/seqctl/reports/purge_report.h"

#include "client-lib/seqctl/exit_codes.h"

#include <catch2/catch.hpp>

namespace seqd::seqctl {
namespace {

using nlohmann::json;

json counter(const char* period, bool removed, const json& why = nullptr) {
  return {
      {"period", period}, {"key", "251001"}, {"last", 4711}, {"removed", removed}, {"why", why}};
}

json page(const json& counters, const json& after = nullptr) {
  return {{"name", "orders"}, {"counters", counters}, {"more", !after.is_null()}, {"after", after}};
}

bool says(const std::string& text, const char* words) {
  return text.find(words) != std::string::npos;
}

TEST_CASE("APurgeThatOnlyLooksTellsWhatItWouldDo", "[client]") {
  PurgeReport report("orders", false);
  report.add(page(
      json::array({counter("2025-10-01", false), counter("2025-10-02", false, "in use\there")})));
  CHECK_FALSE(report.more());
  const std::string text = report.text(true);
  CHECK(says(text, "2025-10-01  251001  4711  would be removed\n"));
  CHECK(says(text, "2025-10-02  251001  4711  stays: in use?here\n"));
  CHECK(says(text, "1 counter would be removed, 1 counter stays; nothing was done"));
  CHECK(report.exit_code() == kExitPreview);
  CHECK(report.whole()["counters"].size() == 2);
}

TEST_CASE("PagesOfAPurgeAreAskedForUntilThereIsNoMore", "[client]") {
  PurgeReport report("orders", true);
  CHECK(report.more());
  CHECK_FALSE(report.after().has_value());
  report.add(page(json::array({counter("2025-10-01", true)}), "251001"));
  CHECK(report.more());
  CHECK(report.after() == "251001");
  report.add(page(json::array({counter("2025-10-02", true)}), "251002"));
  CHECK(report.after() == "251002");
  report.add(page(json::array()));
  CHECK_FALSE(report.more());
  CHECK(says(report.text(true), "2 counters removed\n"));
  CHECK(says(report.text(false), "2 counters removed; there may be more"));
  CHECK(report.exit_code() == kExitOk);
}

TEST_CASE("APurgeThatFindsNothingIsDone", "[client]") {
  for (const bool removes : {false, true}) {
    PurgeReport report("orders", removes);
    report.add(page(json::array()));
    CHECK(says(report.text(true),
               removes ? "no counter was removed\n" : "no counter would be removed\n"));
    CHECK(report.exit_code() == kExitOk);
    CHECK_FALSE(report.any());
  }
}

TEST_CASE("AnswerToAPurgeThatLeadsNowhereIsAnErrorAndNoLoop", "[client]") {
  for (const json& wrong :
       {json(7), json::object(), page(7), page(json::array({counter("2025-10-01", true)}), 7),
        json({{"counters", json::array()}, {"more", true}, {"after", ""}})}) {
    CAPTURE(wrong.dump());
    PurgeReport report("orders", true);
    report.add(wrong);
    CHECK_FALSE(report.more());
    CHECK(says(report.text(true), "is invalid"));
    CHECK(report.exit_code() == kExitError);
  }
  PurgeReport report("orders", true);
  for (int times = 0; times < 2; ++times) report.add(page(json::array(), "251001"));
  CHECK_FALSE(report.more());
  CHECK(report.exit_code() == kExitError);
}

}  // namespace
}  // namespace seqd::seqctl
