// LeaseSizer: how many IDs the next lease requests. It aims at leases that last `target_ms` at the
// rate seen, grows fast when a range ran out while requests waited, and shrinks slowly. The
// sequence may request less, if it has no room for more. A value; one thread.
#pragma once

#include <cstdint>

namespace seqd {

class LeaseSizer {
 public:
  // Of the settings: 1 <= min <= max, target_ms >= 1.
  struct Bounds {
    std::int64_t min = 1;
    std::int64_t max = 1;
    std::int64_t target_ms = 1;
  };
  explicit LeaseSizer(const Bounds& bounds);

  // After a reload: the present size is moved into the new bounds.
  void keep_within(const Bounds& bounds);

  // A lease is about to be requested: `issued` is the total ever issued, `starved` whether requests
  // wait. Returns the size to ask for, within the bounds.
  std::int64_t next_size(const Bounds& bounds, std::int64_t now_ms, std::int64_t issued,
                         bool starved);

  std::int64_t size() const { return size_; }

 private:
  std::int64_t size_;
  std::int64_t last_ms_ = -1;  // when the last lease was requested; -1: none yet
  std::int64_t last_issued_ = 0;
};

}  // namespace seqd
