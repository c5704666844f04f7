// CounterFloor: what this host knows of advances of a sequence's counter: the floor that they left
// in the store, as it was last read, and the advances that this host has started. Owned by its
// Sequence; loop thread.
#pragma once

#include <algorithm>
#include <cstdint>

#include "daemon/core/leasing/lease_store.h"

namespace seqd {

class CounterFloor {
 public:
  // Nothing below it may be issued any more; see AdvanceRequest::withdraw.
  std::int64_t ordinal() const { return floor_; }
  // The store has answered what it is; until then it is not known, and 0 here.
  bool is_read() const { return read_; }
  // An advance is under way: until its end nothing is returned.
  bool is_advancing() const { return advances_ > 0; }
  // The older copy, which its database is, was advanced above all that was leased before.
  bool is_raised() const { return raised_to_ > 0; }

  void advance_began() { ++advances_; }
  void advance_over() { --advances_; }
  // The counter was read; `restored`: in an older copy. An advance for every host leaves a floor.
  // Another copy has another one; its counter may be higher, too, where other hosts leased from it.
  void read(const CounterReading& reading, bool restored, std::int64_t high_water) {
    const std::int64_t raised = std::max(raised_to_, high_water);
    raised_to_ = restored && reading.floor >= raised ? reading.floor : 0;
    floor_ = std::max(floor_, reading.floor);
    read_ = true;
  }
  void forget_raised() { raised_to_ = 0; }

 private:
  std::int64_t floor_ = 0;
  std::int64_t raised_to_ = 0;  // 0: it is not
  std::int32_t advances_ = 0;
  bool read_ = false;
};

}  // namespace seqd
