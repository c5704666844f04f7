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
  ASSERT(number > 0 && period.size() <= RegisterReached::kMostPeriodBytes);
  if (reached(key, period) >= number) return;
  RegisterReached& known = known_[key];
  known.scope = key.first;
  known.name = key.second;
  std::erase_if(known.periods,
                [&period](const PeriodReached& one) { return one.period == period; });
  if (known.periods.size() == RegisterReached::kMostPeriods)
    known.periods.erase(known.periods.begin());
  known.periods.push_back({period, number});
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
