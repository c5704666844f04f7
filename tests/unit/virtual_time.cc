#include "tests/unit/virtual_time.h"

#include <algorithm>

#include "daemon/base/assertion.h"

namespace seqd {

TimerId VirtualTime::schedule(std::int64_t delay_ms, std::function<void()> call) {
  ASSERT(delay_ms >= 0);
  const TimerId id = next_++;
  calls_.emplace(Due{now_ms_ + delay_ms, id}, std::move(call));
  due_ms_.emplace(id, now_ms_ + delay_ms);
  return id;
}

void VirtualTime::cancel(TimerId id) {
  const auto found = due_ms_.find(id);
  if (found == due_ms_.end()) return;
  calls_.erase({found->second, id});
  due_ms_.erase(found);
}

std::optional<std::int64_t> VirtualTime::next_delay_ms() const {
  if (calls_.empty()) return std::nullopt;
  return calls_.begin()->first.first - now_ms_;
}

bool VirtualTime::run_next() {
  if (calls_.empty()) return false;
  const auto next = calls_.begin();
  now_ms_ = std::max(now_ms_, next->first.first);
  const std::function<void()> run = std::move(next->second);
  due_ms_.erase(next->first.second);
  calls_.erase(next);
  run();
  return true;
}

void VirtualTime::advance(std::int64_t ms) {
  const std::int64_t end_ms = now_ms_ + ms;
  while (!calls_.empty() && calls_.begin()->first.first <= end_ms) run_next();
  now_ms_ = end_ms;
}

}  // namespace seqd
