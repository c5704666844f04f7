// LeaseSizer: how many IDs the next lease asks for. It aims at leases that last `target_ms` at the
// rate seen, grows fast when a range ran out while somebody waited, and shrinks slowly. Within
// [min, max]; the sequence may ask for less, where it has no room for more. A value; one thread.
#pragma once

#include <cstdint>

namespace seqd {

class LeaseSizer {
 public:
  LeaseSizer(std::int64_t min, std::int64_t max, std::int64_t target_ms);

  // New bounds after a reload; the present size is moved into them.
  void set_bounds(std::int64_t min, std::int64_t max, std::int64_t target_ms);

  // A lease is about to be requested: `issued` is the total ever issued, `starved` whether somebody
  // waits. Returns the size to ask for.
  std::int64_t next_size(std::int64_t now_ms, std::int64_t issued, bool starved);

  std::int64_t size() const { return size_; }

 private:
  std::int64_t min_;
  std::int64_t max_;
  std::int64_t target_ms_;
  std::int64_t size_;
  std::int64_t last_ms_ = -1;  // when the last lease was requested; -1: none yet
  std::int64_t last_issued_ = 0;
};

}  // namespace seqd
