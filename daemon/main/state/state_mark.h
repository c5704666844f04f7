// StateMark: a file outside of the state directory that says that this host has a state. Without it
// a daemon whose disk is not mounted, or whose `state_dir` was changed, would begin in an empty
// directory, where the counters of an SQLite store begin at their first ID again. Blocking; of one
// daemon at a time.
#pragma once

#include <string>

#include "daemon/base/status.h"

namespace seqd {

// Where systemd made a directory for it: the one of $STATE_DIRECTORY that is named seqd-mark.
// Empty: there is none, as outside of the unit.
std::string mark_directory();

class StateMark {
 public:
  // An empty `directory` is no place: nothing is checked and nothing is made.
  explicit StateMark(const std::string& directory);

  // CONFIG: the mark is there, and `state_dir` has neither a log nor a decommission that goes on.
  Status check(const std::string& state_dir) const;
  // Once a log is there. STATE_IO: the mark is not made, and a later start is not protected.
  Status make() const;
  Status remove() const;

 private:
  std::string path_;
};

}  // namespace seqd
