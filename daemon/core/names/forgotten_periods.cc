#include "daemon/core/names/forgotten_periods.h"

#include <algorithm>
#include <cstddef>

#include "daemon/base/assertion.h"

namespace seqd {
namespace {

void merge_with_next(std::vector<PeriodSpan>& spans, std::size_t at) {
  ASSERT(at + 1 < spans.size());
  spans[at].end_s = std::max(spans[at].end_s, spans[at + 1].end_s);
  spans[at].high_water = std::max(spans[at].high_water, spans[at + 1].high_water);
  spans.erase(spans.begin() + static_cast<std::ptrdiff_t>(at) + 1);
}

// They overlap, or nothing is lost when they become one.
bool belong_together(const PeriodSpan& one, const PeriodSpan& next) {
  if (one.end_s == next.begin_s) return one.high_water == next.high_water;
  return one.end_s > next.begin_s;
}

}  // namespace

void add_forgotten(std::vector<PeriodSpan>& forgotten, PeriodSpan span) {
  const auto behind = std::upper_bound(
      forgotten.begin(), forgotten.end(), span,
      [](const PeriodSpan& a, const PeriodSpan& b) { return a.begin_s < b.begin_s; });
  forgotten.insert(behind, span);
  for (std::size_t at = 0; at + 1 < forgotten.size();) {
    if (belong_together(forgotten[at], forgotten[at + 1])) {
      merge_with_next(forgotten, at);
    } else {
      ++at;
    }
  }
  while (forgotten.size() > DefineName::kMostForgotten) {
    std::size_t nearest = 0;
    for (std::size_t at = 1; at + 1 < forgotten.size(); ++at) {
      if (forgotten[at + 1].begin_s - forgotten[at].end_s <
          forgotten[nearest + 1].begin_s - forgotten[nearest].end_s)
        nearest = at;
    }
    merge_with_next(forgotten, nearest);
  }
  ASSERT(!forgotten.empty() && forgotten.size() <= DefineName::kMostForgotten);
}

std::int64_t high_water_of_forgotten(const std::vector<PeriodSpan>& forgotten,
                                     const Period& period) {
  std::int64_t high_water = 0;
  for (const PeriodSpan& span : forgotten) {
    // At least 1: the counter was used here.
    if (period.begin_s < span.end_s && span.begin_s < period.end_s)
      high_water = std::max<std::int64_t>({high_water, span.high_water, 1});
  }
  return high_water;
}

}  // namespace seqd
