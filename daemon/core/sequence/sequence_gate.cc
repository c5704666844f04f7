#include "daemon/core/sequence/sequence_gate.h"

#include "daemon/core/leasing/store_scope.h"
#include "daemon/core/sequence/sequence_owner.h"

namespace seqd {

SequenceGate::SequenceGate(const SequenceContext& context)
    : context_(context), stop_cause_(find_stop_cause()), state_(find_state(true)) {}

bool SequenceGate::store_answers() const {
  return context_.scope.last_error().ok();
}

// What is not configured does not care for its database.
StopCause SequenceGate::find_stop_cause() const {
  if (stopped_.by == StopCause::unconfigured || stopped_.by == StopCause::elsewhere)
    return stopped_.by;
  if (context_.scope.changed()) return StopCause::changed;
  return context_.scope.restored() ? StopCause::restored : stopped_.by;
}

const Status& SequenceGate::stop_error() const {
  return stop_cause_ == stopped_.by ? stopped_.why : context_.scope.last_error();
}

SequenceGate::State SequenceGate::find_state(bool store_answers) const {
  if (!context_.refusals.ending.ok()) return State::ending;
  if (!context_.refusals.refusing.ok()) return State::refusing;
  if (stop_cause_ != StopCause::none) return State::stopped;
  if (!context_.scope.owned()) return State::unowned;
  if (looks_ && store_answers) return State::looking;
  if (draining_) return State::draining;
  return withdrawing_ ? State::withdrawing : State::open;
}

Status SequenceGate::refusal() const {
  switch (state()) {
    case State::ending:
      return context_.refusals.ending;
    case State::refusing:
      return context_.refusals.refusing;
    case State::stopped:
      return stop_error();
    default:
      return {};
  }
}

}  // namespace seqd
