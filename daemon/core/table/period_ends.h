// PeriodEnds: searches regularly for sequences whose period is over. What is left of them becomes a
// gap, and much later they are forgotten, but for the newest of each name. Owned by the
// SequenceTable; loop thread.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>

#include "daemon/base/one_shot.h"
#include "daemon/core/names/names.h"
#include "daemon/core/stores/sequences.h"
#include "daemon/core/table/table_limits.h"

namespace seqd {

class PeriodEnds {
 public:
  // All of these outlive it.
  struct Around {
    const CoreContext& core;
    const TableRefusals& refusals;
    const TableLimits& limits;
    const Names& names;
    const Sequences& sequences;
  };
  // Forgets a sequence of that period. Does nothing where something of it is in use.
  using Forget = std::function<void(Sequence&, const PeriodSpan&)>;

  PeriodEnds(const Around& around, Forget forget) : around_(around), forget_(std::move(forget)) {}

  // There are sequences with periods: the search begins, if it has not.
  void begin() {
    if (!timer_.running()) schedule();
  }

 private:
  void schedule();
  void look_on();
  void look_at(Sequence& sequence, std::int64_t forgotten_before_s);

  const Around around_;
  const Forget forget_;
  std::string looked_at_;  // the last one
  OneShot timer_{around_.core.timers};
};

}  // namespace seqd
