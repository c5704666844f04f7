// WitnessKeeper: makes the witness again where something has removed it, and tells of it, once.
// Loop thread; what it refers to outlives it.
#pragma once

#include "daemon/base/events.h"
#include "daemon/base/files.h"
#include "daemon/state/state_log.h"

namespace seqd {

class WitnessKeeper {
 public:
  WitnessKeeper(StateLog& log, const Directory& directory, EventSink& events)
      : log_(log), directory_(directory), events_(events) {}

  // Every second or so.
  void look();

 private:
  StateLog& log_;
  const Directory& directory_;
  EventSink& events_;
  bool lost_ = false;  // said already
};

}  // namespace seqd
