#include "client-lib/seqctl/reports/advance_report.h"

#include <catch2/catch.hpp>

namespace seqd::seqctl {
namespace {

using nlohmann::json;

TEST_CASE("AdvanceAllPreviewCountsTheSequencesThatHaveACounterInUse", "[client]") {
  const auto listed = [](const char* store, const json& reuse, const char* state,
                         const json& error) {
    return json{{"name", "x"},      {"store", store}, {"reuse", reuse},
                {"available", 100}, {"state", state}, {"error", error}};
  };
  const json list = json::array(
      {listed("home", "parked", "ready", nullptr), listed("other", "never", "ready", nullptr),
       listed("home", "never", "stopped", "SEQ_REGRESSED: the store was put back"),
       listed("home", "never", "stopped", "SEQ_CHANGED: another counter"),
       listed("home", "tail", "waiting", "UNAVAILABLE: away"),
       listed("home", nullptr, "ready", nullptr)});  // it inserts
  const json preview = advance_all_preview(list, "home", true);
  CHECK(preview == json{{"store", "home"}, {"sequences", 3}, {"available", 400}, {"resume", true}});
  CHECK(advance_all_preview(json("?"), "home", false).at("sequences") == 0);
  CHECK(advance_all_preview_text(preview).find("the counters of up to 3 sequences") == 0);
  // What is available is superseded also where nothing is resumed.
  for (const bool resume : {false, true}) {
    CHECK_THAT(advance_all_preview_text(advance_all_preview(list, "home", resume)),
               Catch::Contains("the 400 IDs that are available here would become a gap"));
  }
}

}  // namespace
}  // namespace seqd::seqctl
