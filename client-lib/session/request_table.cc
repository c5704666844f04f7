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

const RequestTable::Slot* RequestTable::slot(std::uint32_t number) const {
  if (number < floor_ || number - floor_ >= slots_.size()) return nullptr;
  const Slot& found = slots_[number - floor_];
  return found.state == Slot::State::finished ? nullptr : &found;
}

const Request* RequestTable::find(std::uint32_t number) const {
  const Slot* found = slot(number);
  return found == nullptr ? nullptr : &found->request;
}

const Request* RequestTable::find_sent(std::uint32_t number) const {
  const Slot* found = slot(number);
  return found != nullptr && found->state == Slot::State::sent ? &found->request : nullptr;
}

void RequestTable::finish(std::uint32_t number) {
  Slot& finished = slots_[number - floor_];
  if (is_unrepeatable(finished)) --inserts_;
  if (finished.state == Slot::State::sent) --sent_;
  finished.state = Slot::State::finished;
  --waiting_;
  if (number != floor_) finished.clear();  // its texts are not needed any more
  while (!slots_.empty() && slots_.front().state == Slot::State::finished) {
    slots_.pop_front();
    ++floor_;
  }
}

std::uint32_t RequestTable::first_unsent() {
  unsent_from_ = std::max(unsent_from_, floor_);
  while (unsent_from_ < next_number()) {
    if (slots_[unsent_from_ - floor_].state == Slot::State::unsent) return unsent_from_;
    ++unsent_from_;
  }
  return 0;
}

std::uint32_t RequestTable::first_unrepeatable() const {
  if (inserts_ == 0) return 0;
  std::size_t at = 0;
  while (!is_unrepeatable(slots_[at])) ++at;
  return floor_ + static_cast<std::uint32_t>(at);
}

void RequestTable::mark_sent(std::uint32_t number) {
  Slot& slot = slots_[number - floor_];
  slot.state = Slot::State::sent;
  ++sent_;
  if (is_unrepeatable(slot)) ++inserts_;
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
