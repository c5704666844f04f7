#include "daemon/core/names/known_registers.h"

#include <algorithm>

#include "daemon/base/assertion.h"

namespace seqd {

void KnownRegisters::snapshot(const std::function<void(const LogEntry&)>& entry) const {
  for (const auto& [key, known] : known_) entry(known);
}

std::int64_t KnownRegisters::reached(const Key& key, const std::string& period) const {
  const auto known = known_.find(key);
  if (known == known_.end()) return 0;
  for (const PeriodReached& one : known->second.periods) {
    if (one.period == period) return one.number;
  }
  return 0;
}

void KnownRegisters::note(const Key& key, const std::string& period, std::int64_t number) {
  if (reached(key, period) < number) put(key, period, number);
}

void KnownRegisters::set(const Key& key, const std::string& period, std::int64_t number) {
  if (reached(key, period) != number) put(key, period, number);
}

// Names of periods are in the order of time: the earliest leaves.
void KnownRegisters::put(const Key& key, const std::string& period, std::int64_t number) {
  ASSERT(number >= 0 && period.size() <= RegisterReached::kMostPeriodBytes);
  RegisterReached& known = known_[key];
  known.scope = key.first;
  known.name = key.second;
  std::vector<PeriodReached>& periods = known.periods;
  const auto at = std::ranges::lower_bound(periods, period, {}, &PeriodReached::period);
  const bool is_full = periods.size() == RegisterReached::kMostPeriods;
  if (at != periods.end() && at->period == period) {
    at->number = number;
  } else if (is_full && at == periods.begin()) {
    return;
  } else {
    periods.insert(at, {period, number});
    if (is_full) periods.erase(periods.begin());
  }
  log_.append(known);
}

std::vector<const RegisterReached*> KnownRegisters::of(ScopeId scope) const {
  std::vector<const RegisterReached*> out;
  for (auto one = known_.lower_bound({scope, ""}); one != known_.end() && one->first.first == scope;
       ++one)
    out.push_back(&one->second);
  return out;
}

}  // namespace seqd
