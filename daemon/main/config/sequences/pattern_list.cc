#include "daemon/main/config/sequences/pattern_list.h"

#include <algorithm>
#include <utility>

#include "daemon/main/config/sequences/config_patterns.h"

namespace seqd {

void PatternList::add(std::string pattern) {
  const auto shorter =
      std::find_if(longest_first_.begin(), longest_first_.end(),
                   [&](const std::string& one) { return one.size() < pattern.size(); });
  longest_first_.insert(shorter, std::move(pattern));
}

const std::string* PatternList::find(std::string_view name) const {
  for (const std::string& pattern : longest_first_) {
    ++compared_;
    if (matches_pattern(pattern, name)) return &pattern;
  }
  return nullptr;
}

}  // namespace seqd
