// PatternList: the patterns of sequence names that are configured, apart from the tables of single
// names: a name that has no table is compared with these alone, however many tables there are. A
// value; one thread at a time, since looking up counts.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace seqd {

class PatternList {
 public:
  void add(std::string pattern);
  // The longest one that matches; null: none does. No two of one length match the same name
  // (config_sequences.cc). Valid until the next add().
  const std::string* find(std::string_view name) const;
  // How many comparisons of a pattern with a name were made.
  std::uint64_t compared() const { return compared_; }

 private:
  std::vector<std::string> longest_first_;
  mutable std::uint64_t compared_ = 0;
};

}  // namespace seqd
