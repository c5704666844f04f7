#include "client-lib/session/request_table.h"

#include <algorithm>
#include <utility>

namespace seqd::engine {

std::uint32_t RequestTable::add(Request&& request) {
  slots_.push_back(Slot{Slot::State::unsent, std::move(request)});
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

bool RequestTable::is_sent(std::uint32_t number) const {
  const Slot* found = slot(number);
  return found != nullptr && found->state == Slot::State::sent;
}

void RequestTable::finish(std::uint32_t number) {
  Slot& finished = slots_[number - floor_];
  if (is_unrepeatable(finished)) --inserts_;
  if (finished.state == Slot::State::sent) --sent_;
  finished.state = Slot::State::finished;
  --waiting_;
  if (number != floor_) finished.request = Request();  // its texts are not needed any more
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
  const auto found = std::find_if(slots_.begin(), slots_.end(), is_unrepeatable);
  return floor_ + static_cast<std::uint32_t>(found - slots_.begin());
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
  for (Slot& each : slots_) {
    if (each.state != Slot::State::sent) continue;
    each.state = Slot::State::unsent;
    each.request.perhaps = true;
  }
  unsent_from_ = floor_;
  sent_ = 0;
  inserts_ = 0;
}

}  // namespace seqd::engine
