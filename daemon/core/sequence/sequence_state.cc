// The part of sequence.h that says what a sequence is doing.
#include <algorithm>

#include "daemon/core/leasing/store_scope.h"
#include "daemon/core/sequence/sequence.h"

namespace seqd {

SequenceTotals Sequence::totals() const {
  return {id(), leased_, issuer_.issued(), returned_, gaps_, unknown_};
}

// The configuration has its counter; else that may not be called.
bool Sequence::is_configured() const {
  return stop() == Stop::none || stop() == Stop::restored || stop() == Stop::regressed;
}

bool Sequence::in_flight() const {
  return (open_ != nullptr && open_->in_flight()) || advances_ > 0;
}

bool Sequence::holds_nothing() const {
  return available() + out_ == 0 && open_ == nullptr;
}

bool Sequence::stopping() const {
  return !context_.refusals.end().ok();
}

bool Sequence::fetches() const {
  if (replenisher_.pausing()) return true;
  if (!leasing() || open_->state() == StoreOperation::State::left) return false;
  return open_->in_flight() || !stopping();
}

// For every host.
bool Sequence::awaits_advance() const {
  return (stop() == Stop::restored || stop() == Stop::regressed) && raised_to_ == 0 &&
         std::max(definition_.high_water(), issuer_.used_below()) > 0;
}

// A request failed, because too few IDs are available. One that did not wait shows nothing where a
// lease would have served it.
bool Sequence::starves() const {
  const bool leases = context_.scope.last_error().ok();
  return waiters_.starved() || (!leases && waiters_.short_of() > 0);
}

// Its state is "stopped".
bool Sequence::refuses() const {
  const bool has_none = !replenisher_.failing().ok() && available() == 0;
  return stop() != Stop::none || has_none || starves();
}

std::string_view Sequence::state_name() const {
  if (refuses()) return "stopped";
  if (!waiters_.empty()) return "waiting";
  return fetches() ? "fetching" : "ready";
}

Status Sequence::error() const {
  if (stop() != Stop::none) return stopped();
  if (!replenisher_.failing().ok()) return replenisher_.failing();
  if (!replenisher_.last_error().ok()) return replenisher_.last_error();
  if (!context_.scope.last_error().ok() || !starves()) return context_.scope.last_error();
  return {ErrorCode::UNAVAILABLE, "a request for " + std::to_string(waiters_.short_of()) +
                                      " IDs has failed, and so many are not available yet"};
}

}  // namespace seqd
