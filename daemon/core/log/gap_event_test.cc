#include "daemon/core/log/gap_event.h"

#include <set>

#include <catch2/catch.hpp>

namespace seqd {
namespace {

TEST_CASE("EveryCauseHasAnEventOfItsOwn") {
  std::set<std::string_view> identities;
  constexpr int kCauses = static_cast<int>(GapCause::unrecorded) + 1;
  for (int cause = 0; cause < kCauses; ++cause) {
    const EventInfo& info = event_info(gap_event_kind(static_cast<GapCause>(cause)));
    CHECK(info.name == "gap_" + std::string(gap_cause_name(static_cast<GapCause>(cause))));
    identities.insert(info.message_id);
  }
  CHECK(identities.size() == kCauses);
}

TEST_CASE("AGapIsReportedWithRangeCauseLeaseAndInstance") {
  const Event event =
      gap_event({1, 10, 15, GapCause::no_witness, 5}, "orders", Token{1}, Token{2}, "it is a copy");
  CHECK(event.kind == EventKind::gap_no_witness);
  CHECK(event.text == "[10, 15) of \"orders\" is a gap: it is a copy");
  const std::vector<std::pair<std::string, std::string>> wanted = {{"SEQUENCE", "orders"},
                                                                   {"FIRST", "10"},
                                                                   {"COUNT", "5"},
                                                                   {"CAUSE", "no_witness"},
                                                                   {"INSTANCE", to_hex(Token{2})},
                                                                   {"LEASE", to_hex(Token{1})}};
  CHECK(event.fields == wanted);
  // A lease that is not known is not said.
  CHECK(gap_event({1, 10, 15, GapCause::corrupt, 5}, "orders", {}, {}, "").fields.size() == 5);
}

}  // namespace
}  // namespace seqd
