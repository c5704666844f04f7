#include "daemon/core/sequence/sequence_gate.h"

#include "daemon/core/leasing/store_scope.h"

namespace seqd {

SequenceGate::SequenceGate(const StoreScope& scope) : scope_(scope), state_(find_state(true)) {}

bool SequenceGate::store_answers() const {
  return scope_.last_error().ok();
}

SequenceGate::State SequenceGate::find_state(bool store_answers) const {
  if (!ending_.ok()) return State::ending;
  if (!refusing_.ok()) return State::refusing;
  if (!stopped_.ok()) return State::stopped;
  if (!scope_.owned()) return State::unowned;
  if (looks_ && store_answers) return State::looking;
  if (draining_) return State::draining;
  return withdrawing_ ? State::withdrawing : State::open;
}

Status SequenceGate::refusal() const {
  switch (state()) {
    case State::ending:
      return ending_;
    case State::refusing:
      return refusing_;
    case State::stopped:
      return stopped_;
    default:
      return {};
  }
}

}  // namespace seqd
