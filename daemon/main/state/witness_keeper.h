// WitnessKeeper: recreates the witness, and the index of pages beside it, if another program has
// removed them, and reports that. Loop thread; the referenced objects outlive it.
#pragma once

#include "daemon/base/events.h"
#include "daemon/base/files/files.h"
#include "daemon/os/shared_pages.h"
#include "daemon/state/state_log.h"

namespace seqd {

class WitnessKeeper {
 public:
  // `pages` may be null.
  WitnessKeeper(StateLog& log, SharedPages* pages, const Directory& directory, EventSink& events)
      : log_(log), pages_(pages), directory_(directory), events_(events) {}

  // Called about once a second.
  void check();

 private:
  void check_witness();
  void check_index();

  StateLog& log_;
  SharedPages* const pages_;
  const Directory& directory_;
  EventSink& events_;
  bool lost_ = false;        // already reported
  bool index_lost_ = false;  // the same
};

}  // namespace seqd
