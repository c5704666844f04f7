// IntervalSet: a set of IDs as half-open intervals that neither touch nor overlap: millions of
// consecutive IDs are one. A value; one thread.
#pragma once

#include <cstdint>
#include <map>

namespace seqd::sim {

class IntervalSet {
 public:
  // Adds [begin, end). False, and nothing is added, when one of them is in the set already.
  bool add_new(std::int64_t begin, std::int64_t end);
  void add(std::int64_t begin, std::int64_t end);
  void add(const IntervalSet& other);
  void remove(std::int64_t begin, std::int64_t end);
  void remove(const IntervalSet& other);

  bool contains(std::int64_t begin, std::int64_t end) const;
  bool overlaps(std::int64_t begin, std::int64_t end) const;
  bool empty() const { return intervals_.empty(); }
  std::int64_t size() const;
  const std::map<std::int64_t, std::int64_t>& intervals() const { return intervals_; }

 private:
  std::map<std::int64_t, std::int64_t> intervals_;  // begin -> end
};

}  // namespace seqd::sim
