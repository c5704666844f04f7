#include "daemon/core/sequence/sequence_state.h"

#include <algorithm>
#include <string>

#include "daemon/core/leasing/store_scope.h"
#include "daemon/core/sequence/sequence.h"

namespace seqd {

bool is_configured(const Sequence& sequence) {
  const StopCause cause = sequence.stop_cause();
  return cause == StopCause::none || cause == StopCause::restored || cause == StopCause::regressed;
}

bool in_flight(const Sequence& sequence) {
  return sequence.slot().in_flight() || sequence.floor().is_advancing();
}

bool holds_nothing(const Sequence& sequence) {
  return sequence.available() + sequence.out() == 0 && sequence.slot().empty();
}

bool awaits_advance(const Sequence& sequence) {
  const StopCause cause = sequence.stop_cause();
  return (cause == StopCause::restored || cause == StopCause::regressed) &&
         !sequence.floor().is_raised() &&
         std::max(sequence.definition().high_water(), sequence.issuer().used_below()) > 0;
}

// None is below the floor.
bool may_meet_parked(const Sequence& sequence) {
  const FormerCounter* const former = sequence.definition().former();
  return former != nullptr && sequence.settings().reuse == Reuse::parked &&
         sequence.floor().ordinal() < former->leased_below;
}

bool starves(const Sequence& sequence) {
  const bool leases = sequence.scope().last_error().ok();
  return sequence.waiters().starved() || (!leases && sequence.waiters().short_of() > 0);
}

bool is_failing(const Sequence& sequence) {
  const bool has_none = !sequence.replenisher().failing().ok() && sequence.available() == 0;
  return sequence.stop_cause() != StopCause::none || has_none || starves(sequence);
}

std::string_view state_name(const Sequence& sequence) {
  if (is_failing(sequence)) return "stopped";
  if (!sequence.waiters().empty()) return "waiting";
  return sequence.slot().fetches() ? "fetching" : "ready";
}

Status request_error(const Sequence& sequence) {
  if (sequence.stop_cause() != StopCause::none) return sequence.stop_error();
  const Replenisher& replenisher = sequence.replenisher();
  if (!replenisher.failing().ok()) return replenisher.failing();
  if (!replenisher.last_error().ok()) return replenisher.last_error();
  const Status& of_scope = sequence.scope().last_error();
  if (!of_scope.ok() || !starves(sequence)) return of_scope;
  return {ErrorCode::UNAVAILABLE, "a request for " + std::to_string(sequence.waiters().short_of()) +
                                      " IDs has failed, and so many are not available yet"};
}

}  // namespace seqd
