// FloorWatch: has the heartbeats of the stores compared and raised regularly (heartbeat.h), and
// reads the floors of the counters of which IDs are available. So it finds an advance for every
// host (AdvanceRequest::withdraw) that another daemon carried out. A store that is unreachable or
// not claimed yet is tried again soon. Owned by the daemon, as long as the table and its stores;
// loop thread.
#pragma once

#include <cstdint>
#include <deque>
#include <set>
#include <string>

#include "daemon/base/one_shot.h"
#include "daemon/core/table/sequence_table.h"

namespace seqd {

class FloorWatch {
 public:
  FloorWatch(Timers& timers, SequenceTable& table) : timer_(timers), table_(table) {}
  FloorWatch(const FloorWatch&) = delete;
  FloorWatch& operator=(const FloorWatch&) = delete;

  // How long after one round the next begins; 0: there is none. The first one is due soon.
  void set_interval(std::int64_t interval_ms);

 private:
  void begin_round();
  void read_next();
  void read(SequenceId id);
  void schedule(std::int64_t delay_ms);

  OneShot timer_;
  SequenceTable& table_;
  std::int64_t interval_ms_ = 0;
  std::int64_t retry_ms_ = 0;
  // Of the round that is under way:
  std::deque<SequenceId> left_;
  std::set<std::string> away_;  // stores that did not answer
  int reads_ = 0;               // in flight
  bool missed_ = false;         // a floor could not be read
};

}  // namespace seqd
