#include "daemon/core/upkeep/runway_watch.h"

#include <string>

#include "daemon/core/leasing/store_scope.h"
#include "daemon/core/sequence/sequence.h"
#include "daemon/core/table/sequence_table.h"

namespace seqd {

void RunwayWatch::check(SequenceTable& table, EventSink& events) {
  const auto& runway = table.accounts().rates().smallest_in_outage();
  if (!runway || runway->ms >= kSoonMs) {
    // Without one the outage is over; a runway that is long again is no news of its own.
    if (!runway) warned_ = false;
    return;
  }
  if (warned_) return;
  warned_ = true;
  const Sequence& sequence = table.at(runway->sequence);
  const std::string& store = sequence.scope().store_name();
  events.raise({EventKind::runway_short,
                "the available IDs of \"" + sequence.name() + "\" last for about " +
                    std::to_string(runway->ms / 1'000) + " s, and store " + store +
                    " has an error: " + sequence.scope().last_error().to_string(),
                {{"SEQUENCE", sequence.name()},
                 {"STORE", store},
                 {"RUNWAY_MS", std::to_string(runway->ms)}}});
}

}  // namespace seqd
