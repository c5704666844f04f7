#include "daemon/main/config/sequences/config_patterns.h"

#include <cstddef>
#include <vector>

namespace seqd {

bool is_pattern(std::string_view text) {
  return text.find_first_of("*?") != std::string_view::npos;
}

bool matches_pattern(std::string_view pattern, std::string_view name) {
  std::size_t p = 0;
  std::size_t n = 0;
  // Where to go on when the text after the last star does not fit: that star takes one more.
  std::size_t after_star = std::string_view::npos;
  std::size_t star_end = 0;
  while (n < name.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      after_star = ++p;
      star_end = n;
    } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == name[n])) {
      ++p;
      ++n;
    } else if (after_star != std::string_view::npos) {
      p = after_star;
      n = ++star_end;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

bool patterns_overlap(std::string_view a, std::string_view b) {
  // row[j]: whether a[i..] and b[j..] can match the same text; from the ends to the fronts.
  std::vector<bool> below(b.size() + 1);
  for (std::size_t i = a.size() + 1; i-- > 0;) {
    std::vector<bool> row(b.size() + 1);
    for (std::size_t j = b.size() + 1; j-- > 0;) {
      const bool a_ends = i == a.size();
      const bool b_ends = j == b.size();
      if (a_ends && b_ends) {
        row[j] = true;
      } else if (!a_ends && a[i] == '*') {
        row[j] = below[j] || (!b_ends && row[j + 1]);
      } else if (!b_ends && b[j] == '*') {
        row[j] = row[j + 1] || (!a_ends && below[j]);
      } else {
        const bool same = !a_ends && !b_ends && (a[i] == b[j] || a[i] == '?' || b[j] == '?');
        row[j] = same && below[j + 1];
      }
    }
    below = row;
  }
  return below[0];
}

}  // namespace seqd
