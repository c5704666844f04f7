// Recovery: reads the two log files and finds the newest state that is whole. Decides nothing about
// whether it may be used: that is start_rules.h. Blocking; called by start().
//
// Invariant: the image is what some committed turn left, all of that turn and nothing after it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "daemon/base/files/files.h"
#include "daemon/core/log/log_reader.h"
#include "daemon/core/log/state_image.h"
#include "daemon/state/segment.h"

namespace seqd {

struct Recovered {
  int file = -1;  // which file the state is from; -1 when neither holds a whole snapshot
  SegmentHeader header;
  StateImage image;
  LogPosition position = 0;         // of the last turn in the image
  std::vector<std::uint8_t> bytes;  // of that file, from its start up to and with that turn

  // A newer segment was once on the medium, so this state is out of date.
  bool sealed = false;
  // Why the segment ends where it does: a record that was on the medium is damaged. Only determined
  // on request; otherwise a record that was cut off is assumed.
  bool rotten = false;

  std::uint64_t highest_number = 0;  // of both files' headers
  bool empty[2] = {true, true};      // never written
  std::vector<std::string> damages;  // what was found damaged, for people
};

// STATE_CORRUPT when the log is of another version, or whole and yet makes no sense. STATE_IO when
// it cannot be read. `reader`, if any, is shown every entry that made the image.
Result<Recovered> recover(File& first, File& second, bool look_for_rot,
                          LogReader* reader = nullptr);

}  // namespace seqd
