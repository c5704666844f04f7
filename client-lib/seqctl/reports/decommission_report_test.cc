#include "client-lib/seqctl/reports/decommission_report.h"

#include "client-lib/seqctl/exit_codes.h"

#include <catch2/catch.hpp>

namespace seqd::seqctl {
namespace {

using nlohmann::json;

json report(const char* end, const json& why) {
  return {{"end", end},
          {"why", why},
          {"sequences", json::array({{{"name", "orders"},
                                      {"reuse", "parked"},
                                      {"leased", 100},
                                      {"issued", 41},
                                      {"available", 0},
                                      {"out", 17},
                                      {"returning", 0},
                                      {"leasing", false},
                                      {"returned", 59},
                                      {"gaps", 0},
                                      {"unknown", 0},
                                      {"why", nullptr},
                                      {"error", nullptr}}})},
          {"stores", json::array({{{"name", "central"},
                                   {"instance", "5c1f"},
                                   {"entry", true},
                                   {"records", 2},
                                   {"forgotten", end == std::string("done")},
                                   {"error", nullptr}}})},
          {"removed", {"/var/lib/seqd/log.0"}},
          {"left", {"/var/lib/seqd/no\te"}}};
}

bool says(const std::string& text, const char* words) {
  return text.find(words) != std::string::npos;
}

TEST_CASE("ADecommissionShowsSequencesStoresAndFiles", "[client]") {
  const std::string text = decommission_text(report("done", nullptr));
  CHECK(says(text, "orders"));
  CHECK(says(text, "41"));
  CHECK(says(text, "17"));
  CHECK(says(text, "forgotten"));
  CHECK(says(text, "  /var/lib/seqd/log.0\n"));
  CHECK(says(text, "  /var/lib/seqd/no?e\n"));
  CHECK(says(text, "decommissioned"));
  CHECK(says(decommission_text(report("preview", nullptr)), "knows this instance"));
}

TEST_CASE("EveryEndHasItsExitCode", "[client]") {
  CHECK(decommission_exit_code(report("done", nullptr)) == kExitOk);
  CHECK(decommission_exit_code(report("preview", nullptr)) == kExitPreview);
  CHECK(decommission_exit_code(report("refused", "UNAVAILABLE: away")) == kExitTryAgain);
  CHECK(decommission_exit_code(report("unfinished", "UNAVAILABLE: away")) == kExitTryAgain);
  CHECK(decommission_exit_code(report("refused", "CONFIG: not running")) == kExitError);
  CHECK(says(decommission_text(report("refused", "CONFIG: gone")), "continues: CONFIG: gone"));
  CHECK(says(decommission_text(report("unfinished", "STATE_IO: full")), "cannot be cancelled"));
}

TEST_CASE("AnAnswerThatIsNoDecommissionIsAnError", "[client]") {
  for (const json& answer : {json(nullptr), json("x"), json::array({1}), json{{"end", 7}},
                             json{{"end", "refused"}, {"sequences", 1}, {"stores", {1}}}}) {
    CHECK(decommission_exit_code(answer) == kExitError);
    CHECK_FALSE(decommission_text(answer).empty());
  }
}

}  // namespace
}  // namespace seqd::seqctl
