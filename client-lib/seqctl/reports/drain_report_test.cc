#include "client-lib/seqctl/reports/drain_report.h"

#include <catch2/catch.hpp>

namespace seqd::seqctl {
namespace {

using nlohmann::json;

json drained(std::int64_t returning, std::int64_t available, const json& error) {
  return json::array({{{"name", "orders"},
                       {"reuse", "parked"},
                       {"returned", {{40, 60}, {101, 1}}},
                       {"gaps", json::array()},
                       {"why", nullptr},
                       {"returning", returning},
                       {"available", available},
                       {"error", error}}});
}

TEST_CASE("ADrainLosesIdsUnlessTheyAreParked", "[client]") {
  const auto listed = [](const char* name, const json& reuse) {
    return json{{"name", name}, {"available", 970}, {"reuse", reuse}};
  };
  const json list = json::array({listed("orders", "never"), listed("parked", "parked"),
                                 listed("daily@2026-11-22", "tail"), listed("people", nullptr),
                                 json{{"name", "old"}, {"available", 970}}});
  CHECK(drain_losses(list, "").size() == 3);
  CHECK(drain_losses(list, "people").empty());  // it inserts: there is nothing to drain
  CHECK(drain_losses(list, "parked").empty());
  CHECK(drain_losses(list, "missing").empty());
  CHECK(drain_losses(list, "order").empty());
  CHECK(drain_losses(list, "daily").size() == 1);
  CHECK(drain_losses(list, "daily@2026-11-22").size() == 1);
  CHECK(drain_losses(list, "old").size() == 1);
  CHECK(drain_losses(json("?"), "").empty());
  CHECK(drain_losses_text(drain_losses(list, "orders")) ==
        "SEQUENCE  REUSE  AVAILABLE  WOULD BECOME\n"
        "orders    never  970        a gap: never issued\n"
        "nothing was done: this is what --yes would do\n");
}

TEST_CASE("ADrainIsALineASequenceWithItsRanges", "[client]") {
  const std::string text = drain_text(drained(0, 0, nullptr));
  CHECK(text.find("40..99, 101") != std::string::npos);
  CHECK(text.find("parked") != std::string::npos);
  CHECK(drain_text(json::array()) == "nothing to drain\n");
}

TEST_CASE("ADrainThatLeftSomethingIsNotComplete", "[client]") {
  CHECK(drain_is_complete(drained(0, 0, nullptr)));
  CHECK_FALSE(drain_is_complete(drained(5, 0, nullptr)));
  CHECK_FALSE(drain_is_complete(drained(0, 5, nullptr)));
  CHECK_FALSE(drain_is_complete(drained(0, 0, "UNAVAILABLE: away")));
  CHECK(drain_has_errors(drained(0, 0, "UNAVAILABLE: away")));
  CHECK_FALSE(drain_has_errors(drained(5, 5, nullptr)));
}

TEST_CASE("AnAnswerThatIsNoDrainIsAnErrorAndNotBelieved", "[client]") {
  for (const json& answer : {json(nullptr), json("x"), json{{"a", 1}}}) {
    CHECK_FALSE(drain_is_complete(answer));
    CHECK(drain_has_errors(answer));
    CHECK_FALSE(drain_text(answer).empty());
  }
  CHECK_FALSE(drain_is_complete(json::array({1, "x"})));
}

}  // namespace
}  // namespace seqd::seqctl
