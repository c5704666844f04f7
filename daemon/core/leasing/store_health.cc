#include "daemon/core/leasing/store_health.h"

#include <utility>

#include "daemon/base/assertion.h"

namespace seqd {

Status as_seen_of_store(const Status& outcome) {
  if (outcome.ok() || error_info(outcome.code()).retry != Retry::again) return {};
  return outcome;
}

constexpr StateTable<StoreHealth::State> StoreHealth::kMoves = {
    {State::up, "up", {State::failing}},
    {State::failing, "failing", {State::up, State::down}},
    {State::down, "down", {State::up}},
};

bool StoreHealth::is_due_down(std::int64_t now_ms) const {
  return !error_.ok() && now_ms - failing_since_ms_ >= kDownAfterMs;
}

bool StoreHealth::answered() {
  const bool was_down = state_ == State::down;
  if (state_ != State::up) state_.move_to(State::up);
  error_ = Status();
  backoff_.reset();
  return was_down;
}

bool StoreHealth::failed(const Status& error, std::int64_t now_ms, std::int64_t for_ms) {
  ASSERT(!error.ok());
  if (error_.ok()) failing_since_ms_ = now_ms - for_ms;
  error_ = error;
  if (state_ == State::up) state_.move_to(State::failing);
  if (state_ == State::down || !is_due_down(now_ms)) return false;
  state_.move_to(State::down);
  return true;
}

bool StoreHealth::note_silence(std::int64_t ms) {
  return std::exchange(silence_ms_, ms) > 0 && ms == 0;
}

void StoreHealth::forget_error() {
  if (state_ == State::failing) state_.move_to(State::up);
  error_ = Status();
}

}  // namespace seqd
