#include "tests/sim/clients/unpaged_holder.h"

#include <algorithm>
#include <iterator>

namespace seqd::sim {

// Programs do not outlive their machine.
void UnpagedHolder::follow_machine() {
  if (site_.machine().boots() != boots_) clear();
  boots_ = site_.machine().boots();
}

void UnpagedHolder::granted(std::uint32_t request, const std::string& sequence, std::int64_t first,
                            std::int64_t count) {
  follow_machine();
  stage_.happened(Kind::unpaged_granted, site_.number(), first, first + count);
  held_[request] = {sequence, first, count, 0, site_.process()};
}

void UnpagedHolder::take() {
  follow_machine();
  if (held_.empty()) return;
  auto at = std::next(held_.begin(), stage_.random.below(static_cast<std::int64_t>(held_.size())));
  Held& held = at->second;
  const std::int64_t now = std::min(stage_.random.between(1, 20), held.count - held.taken);
  if (now == 0) return;
  const std::int64_t begin = held.first + held.taken;
  held.taken += now;
  stage_.history.note("taken", site_.number(), begin, begin + now);
  stage_.accounts.taken(held.sequence, begin, begin + now);
  stage_.counts.add(Kind::unpaged_taken, now);
  if (site_.process() != held.process) stage_.count(Kind::unpaged_outlived);
}

std::uint32_t UnpagedHolder::begin_end() {
  follow_machine();
  if (held_.empty()) return 0;
  auto at = std::next(held_.begin(), stage_.random.below(static_cast<std::int64_t>(held_.size())));
  const std::uint32_t request = at->first;
  ends_[request] = {at->second.sequence, at->second.taken, 0, false};
  held_.erase(at);
  return request;
}

}  // namespace seqd::sim
