#include "daemon/core/log/gap_event.h"

namespace seqd {

EventKind gap_event_kind(GapCause cause) {
  switch (cause) {
    case GapCause::power_loss:
      return EventKind::gap_power_loss;
    case GapCause::no_witness:
      return EventKind::gap_no_witness;
    case GapCause::epoch_lost:
      return EventKind::gap_epoch_lost;
    case GapCause::corrupt:
      return EventKind::gap_corrupt;
    case GapCause::out_of_bounds:
      return EventKind::gap_out_of_bounds;
    case GapCause::drained:
      return EventKind::gap_drained;
    case GapCause::period_end:
      return EventKind::gap_period_end;
    case GapCause::superseded:
      return EventKind::gap_superseded;
    case GapCause::restored:
      return EventKind::gap_restored;
    case GapCause::block_lost:
      return EventKind::gap_block_lost;
    case GapCause::unrecorded:
      break;
  }
  return EventKind::gap_unrecorded;
}

Event gap_event(const GapMade& gap, const std::string& name, const Token& lease,
                const Token& instance, const std::string& why) {
  Event event{gap_event_kind(gap.cause),
              "[" + std::to_string(gap.begin) + ", " + std::to_string(gap.end) + ") of \"" + name +
                  "\" is a gap: " + why,
              {{"SEQUENCE", name},
               {"FIRST", std::to_string(gap.begin)},
               {"COUNT", std::to_string(gap.end - gap.begin)},
               {"CAUSE", std::string(gap_cause_name(gap.cause))},
               {"INSTANCE", to_hex(instance)}}};
  if (lease != Token{}) event.fields.emplace_back("LEASE", to_hex(lease));
  return event;
}

Event untraceable_event(const LeaseIntended& lease, const std::string& name, const Token& instance,
                        const std::string& why) {
  return {EventKind::gap_untraceable,
          "a lease of at most " + std::to_string(lease.count) + " IDs of \"" + name + "\" " + why,
          {{"SEQUENCE", name},
           {"COUNT", std::to_string(lease.count)},
           {"CAUSE", "untraceable"},
           {"INSTANCE", to_hex(instance)},
           {"LEASE", to_hex(lease.lease)}}};
}

}  // namespace seqd
