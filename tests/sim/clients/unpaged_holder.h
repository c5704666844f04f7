// UnpagedHolder: the blocks without a page of a simulated client, which takes their IDs whenever it
// likes, and says once how many it took; also after its time to come back is over, and again where
// no reply came. What it says is true, the first time. Owned by a Client; one thread.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "tests/sim/site.h"

namespace seqd::sim {

class UnpagedHolder {
 public:
  struct End {
    std::string sequence;
    std::int64_t taken = 0;
    std::uint64_t sent_on = 0;  // the connection; 0: none yet
    bool repeated = false;      // it was sent on an earlier one
  };

  UnpagedHolder(Stage& stage, Site& site) : stage_(stage), site_(site) {}

  // The reply has arrived: `count` IDs from `first` on, granted to `request`.
  void granted(std::uint32_t request, const std::string& sequence, std::int64_t first,
               std::int64_t count);
  // Takes some IDs of some block.
  void take();
  // Stops taking from some block, and returns the request that it was granted to; 0: there is none.
  std::uint32_t begin_end();
  // Those without a reply, by the requests that their blocks were granted to.
  std::map<std::uint32_t, End>& ends() { return ends_; }
  // The client has another identity, or was not there.
  void clear() { held_.clear(), ends_.clear(); }

 private:
  struct Held {
    std::string sequence;
    std::int64_t first = 0;
    std::int64_t count = 0;
    std::int64_t taken = 0;
    std::int64_t process = 0;  // the daemon that granted it
  };

  void follow_machine();

  Stage& stage_;
  Site& site_;
  std::map<std::uint32_t, Held> held_;
  std::map<std::uint32_t, End> ends_;
  std::uint32_t boots_ = 0;  // of the machine, as they were when it looked last
};

}  // namespace seqd::sim
