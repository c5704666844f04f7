// RunwayWatch: warns once an outage, when the available IDs of a sequence whose store has an error
// end soon. While its store answers, a short runway is in order: the next lease comes when half of
// one is left. Owned by the daemon; loop thread.
#pragma once

#include <cstdint>

#include "daemon/base/events.h"

namespace seqd {

class SequenceTable;

class RunwayWatch {
 public:
  static constexpr std::int64_t kSoonMs = 3'600'000;

  // To be called after each step of the rates; checks one sequence. Raises runway_short.
  void check(SequenceTable& table, EventSink& events);

 private:
  bool warned_ = false;
};

}  // namespace seqd
