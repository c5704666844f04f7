#include "daemon/core/sequence/sequence_gate.h"

#include "daemon/core/leasing/store_scope.h"
#include "daemon/core/sequence/sequence_owner.h"

namespace seqd {

SequenceGate::SequenceGate(const SequenceContext& context)
    : context_(context), stop_(find_stop()), state_(find_state(true)) {}

bool SequenceGate::store_answers() const {
  return context_.scope.last_error().ok();
}

// What is not configured does not care for its database.
Stop SequenceGate::find_stop() const {
  if (stopped_.by == Stop::unconfigured || stopped_.by == Stop::elsewhere) return stopped_.by;
  if (context_.scope.changed()) return Stop::changed;
  return context_.scope.restored() ? Stop::restored : stopped_.by;
}

const Status& SequenceGate::stopped() const {
  return stop_ == stopped_.by ? stopped_.why : context_.scope.last_error();
}

SequenceGate::State SequenceGate::find_state(bool store_answers) const {
  if (!context_.refusals.ending.ok()) return State::ending;
  if (!context_.refusals.refusing.ok()) return State::refusing;
  if (stop_ != Stop::none) return State::stopped;
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
      return stopped();
    default:
      return {};
  }
}

}  // namespace seqd
