#include "client-lib/session/request_table.h"

#include <algorithm>
#include <utility>

namespace seqd::engine {

std::uint32_t RequestTable::add(Request&& request) {
  Slot& slot = slots_.push_back();
  slot.state = Slot::State::unsent;
  slot.request = std::move(request);
  ++waiting_;
  return next_number() - 1;
}

// As the other one, without a Request that is made and moved.
std::uint32_t RequestTable::add_next(std::string_view name, void* tag, const Deadlines& deadlines) {
  Slot& slot = slots_.prepare_back();
  Request& request = slot.request;
  request.name.assign(name);  // may throw, so it comes first
  request.method = Request::Method::next;
  request.synchronous = false;
  request.count = 1;
  request.tag = tag;
  request.deadline_ms = deadlines.ms;
  request.connect_deadline_ms = deadlines.connect_ms;
  slot.state = Slot::State::unsent;
  slots_.commit_back();
  ++waiting_;
  return next_number() - 1;
}

std::uint32_t RequestTable::first_unrepeatable() const {
  if (inserts_ == 0) return 0;
  std::size_t at = 0;
  while (!is_unrepeatable(slots_[at])) ++at;
  return floor_ + static_cast<std::uint32_t>(at);
}

void RequestTable::mark_unsent(std::uint32_t number) {
  if (is_unrepeatable(slots_[number - floor_])) --inserts_;
  slots_[number - floor_].state = Slot::State::unsent;
  --sent_;
  unsent_from_ = std::min(unsent_from_, number);
}

void RequestTable::mark_all_unsent() {
  for (std::size_t at = 0; at < slots_.size(); ++at) {
    Slot& each = slots_[at];
    if (each.state != Slot::State::sent) continue;
    each.state = Slot::State::unsent;
    each.request.perhaps = true;
  }
  unsent_from_ = floor_;
  sent_ = 0;
  inserts_ = 0;
}

}  // namespace seqd::engine
