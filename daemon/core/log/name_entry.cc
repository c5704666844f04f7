#include "daemon/core/log/name_entry.h"

namespace seqd {

bool are_spans(const std::vector<PeriodSpan>& forgotten) {
  for (std::size_t at = 0; at < forgotten.size(); ++at) {
    if (forgotten[at].begin_s >= forgotten[at].end_s || forgotten[at].high_water < 0) return false;
    if (at > 0 && forgotten[at - 1].end_s > forgotten[at].begin_s) return false;
  }
  return forgotten.size() <= DefineName::kMostForgotten;
}

}  // namespace seqd
