// WitnessKeeper: recreates the witness if another program has removed it, and reports that. Loop
// thread; the referenced objects outlive it.
#pragma once

#include "daemon/base/events.h"
#include "daemon/base/files.h"
#include "daemon/state/state_log.h"

namespace seqd {

class WitnessKeeper {
 public:
  WitnessKeeper(StateLog& log, const Directory& directory, EventSink& events)
      : log_(log), directory_(directory), events_(events) {}

  // Called about once a second.
  void check();

 private:
  StateLog& log_;
  const Directory& directory_;
  EventSink& events_;
  bool lost_ = false;  // already reported
};

}  // namespace seqd
