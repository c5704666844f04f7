#include "client-lib/session/request_table.h"

#include <algorithm>
#include <utility>

namespace seqd::engine {

std::uint32_t RequestTable::add(Request&& request) {
  Slot& slot = slots_.push_back();
  slot.state = Slot::State::unsent;
  slot.kept = false;
  slot.request = std::move(request);
  ++waiting_;
  return next_number() - 1;
}

std::uint32_t RequestTable::add_next(std::string_view name, const NextRequest& next) {
  if (kept_ == 0 || kept_name_ == name) {
    if (kept_ == 0) kept_name_.assign(name);
    return add_kept(next);
  }
  Slot& slot = slots_.prepare_back();
  slot.request.name.assign(name);  // may throw, so it comes first
  slot.state = Slot::State::unsent;
  slot.kept = false;
  fill(slot.request, next);
  slots_.commit_back();
  ++waiting_;
  return next_number() - 1;
}

std::uint32_t RequestTable::first_unrepeatable() const {
  if (unrepeatable_ == 0) return 0;
  std::size_t at = 0;
  while (!is_unrepeatable(slots_[at])) ++at;
  return first_ + static_cast<std::uint32_t>(at);
}

void RequestTable::mark_sent(std::uint32_t number) {
  Slot& slot = slots_[number - first_];
  slot.state = Slot::State::sent;
  ++sent_;
  if (is_unrepeatable(slot)) ++unrepeatable_;
}

std::size_t RequestTable::mark_run_sent(std::uint32_t number, std::size_t most) {
  const std::size_t from = number - first_;
  const std::size_t end = from + std::min(most, slots_.size() - from);
  const std::int64_t deadline_ms = slots_[from].request.deadline_ms;
  std::size_t at = from;
  for (; at < end; ++at) {
    Slot& slot = slots_[at];
    if (slot.state != Slot::State::unsent || !slot.kept || slot.request.deadline_ms != deadline_ms)
      break;
    slot.state = Slot::State::sent;
  }
  sent_ += at - from;
  return at - from;
}

void RequestTable::mark_unsent(std::uint32_t number) {
  if (is_unrepeatable(slots_[number - first_])) --unrepeatable_;
  slots_[number - first_].state = Slot::State::unsent;
  --sent_;
  unsent_from_ = std::min(unsent_from_, number);
}

void RequestTable::mark_all_unsent() {
  for (std::size_t at = 0; at < slots_.size(); ++at) {
    Slot& each = slots_[at];
    if (each.state != Slot::State::sent) continue;
    each.state = Slot::State::unsent;
    each.request.sent_before = true;
  }
  unsent_from_ = first_;
  sent_ = 0;
  unrepeatable_ = 0;
}

}  // namespace seqd::engine
