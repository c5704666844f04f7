#include "daemon/core/words/log_types.h"

namespace seqd {

std::string_view gap_cause_name(GapCause cause) {
  switch (cause) {
    case GapCause::power_loss:
      return "power_loss";
    case GapCause::no_witness:
      return "no_witness";
    case GapCause::epoch_lost:
      return "epoch_lost";
    case GapCause::corrupt:
      return "corrupt";
    case GapCause::out_of_bounds:
      return "out_of_bounds";
    case GapCause::unrecorded:
      return "unrecorded";
    case GapCause::period_end:
      return "period_end";
    case GapCause::superseded:
      return "superseded";
    case GapCause::drained:
      return "drained";
    case GapCause::restored:
      return "restored";
    case GapCause::block_lost:
      return "block_lost";
  }
  return "unknown";
}

}  // namespace seqd
