// The part of state_image.h that is about names and registers.
#include <algorithm>

#include "daemon/core/log/state_image.h"
#include "daemon/core/log/state_image_checks.h"

namespace seqd {

Status StateImage::apply_one(const DefineName& entry) {
  if (entry.name.empty()) return corrupt("an entry about no name", names.size());
  if (!are_spans(entry.forgotten))
    return corrupt("spans of forgotten periods that make no sense", entry.forgotten.size());
  names.insert_or_assign(names.end(), entry.name, entry);
  return {};
}

Status StateImage::apply_one(const RegisterReached& entry) {
  if (!scopes.contains(entry.scope))
    return corrupt("a register of a scope that was not defined", entry.scope);
  const bool counts = std::ranges::all_of(entry.periods, [](const PeriodReached& one) {
    return one.number >= 0 && one.period.size() <= RegisterReached::kMostPeriodBytes;
  });
  if (entry.name.empty() || entry.periods.empty() ||
      entry.periods.size() > RegisterReached::kMostPeriods || !counts)
    return corrupt("a register without a name or a number", entry.scope);
  registers[{entry.scope, entry.name}] = entry;
  return {};
}

}  // namespace seqd
