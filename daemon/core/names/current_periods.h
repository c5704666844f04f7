// CurrentPeriods: of each sequence with periods, which of its sequences is the present one. A cache
// that the clock is held against at every request: it is used up when the period is over, and when
// the clock was set to another one. Owned by Names; loop thread.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "daemon/core/text/period.h"
#include "daemon/core/words/log_types.h"

namespace seqd {

class CurrentPeriods {
 public:
  void set_rule(std::string_view base, std::shared_ptr<const PeriodRule> rule) {
    Current& current = by_base_[std::string(base)];
    current.rule = std::move(rule);
    current.sequence = 0;
  }
  void set(std::string_view base, Period now, SequenceId sequence) {
    const auto found = by_base_.find(base);
    found->second.now = std::move(now);
    found->second.sequence = sequence;
  }

  // 0: it has to be looked for.
  SequenceId sequence_at(std::string_view base, std::int64_t wall_s) const {
    const auto found = by_base_.find(base);
    if (found == by_base_.end()) return 0;
    const Period& now = found->second.now;
    return wall_s >= now.begin_s && wall_s < now.end_s ? found->second.sequence : 0;
  }
  // Null when no such sequence was used yet.
  const PeriodRule* rule_of(std::string_view base) const {
    const auto found = by_base_.find(base);
    return found == by_base_.end() ? nullptr : found->second.rule.get();
  }

 private:
  struct Current {
    std::shared_ptr<const PeriodRule> rule;
    Period now;
    SequenceId sequence = 0;
  };
  std::map<std::string, Current, std::less<>> by_base_;
};

}  // namespace seqd
