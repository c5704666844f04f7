#include "client-lib/seqctl/reports/rights_report.h"

#include <catch2/catch.hpp>

namespace seqd::seqctl {
namespace {

using nlohmann::json;

std::string text(const json& rights) {
  return rights_text(rights, [](std::uint32_t uid) { return uid == 33 ? "www\x1b" : "root"; });
}

}  // namespace

TEST_CASE("RightsAreTheCallersAndATableOfSequences", "[client]") {
  const json rights = {{"uid", 33},
                       {"administer", false},
                       {"why", "it is none"},
                       {"sequences",
                        {{{"name", "orders"}, {"take", true}, {"why", "everyone"}},
                         {{"name", "bills"}, {"take", false}, {"why", "denied"}}}}};
  CHECK(text(rights) ==
        "user        www?\n"
        "administer  no: it is none\n"
        "NAME    TAKE  WHY\n"
        "orders  yes   everyone\n"
        "bills   no    denied\n");
}

TEST_CASE("RightsThatAreNoneAreShownAllTheSame", "[client]") {
  CHECK(text(nullptr) == "user        -\nadminister  -: -\n");
  CHECK(text({{"uid", -1}, {"administer", 1}, {"sequences", {1}}}) ==
        "user        -\nadminister  -: -\nNAME  TAKE  WHY\n-     -     -\n");
}

}  // namespace seqd::seqctl
