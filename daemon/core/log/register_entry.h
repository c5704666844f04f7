// The entry of the log about a register: the highest numbers that this host knows of it. The
// numbers themselves are in the store alone; a store that has less is an older copy. See
// log_entry.h. Values; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "daemon/core/words/log_types.h"

namespace seqd {

struct PeriodReached {
  std::string period;  // empty: the register has none
  std::int64_t number = 0;
  bool operator==(const PeriodReached&) const = default;
};

// Replaces what is known of the register of that name in the store of the scope.
struct RegisterReached {
  static constexpr std::size_t kMostPeriods = 8;
  static constexpr std::size_t kMostPeriodBytes = 32;

  ScopeId scope = 0;
  std::string name;                    // in the store: CounterBinding::key
  std::vector<PeriodReached> periods;  // 1 to kMostPeriods, in the order of their names
  bool operator==(const RegisterReached&) const = default;
};

}  // namespace seqd
