// BlockHolder: the blocks of a simulated client, which takes their IDs whenever it likes: while its
// daemon runs, stands still, is dead or has another connection, until the slot says that the block
// is over. Owned by a Client; one thread.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "tests/sim/clients/attached_page.h"
#include "tests/sim/site.h"

namespace seqd::sim {

class BlockHolder {
 public:
  static constexpr std::uint32_t kSlots = 3;

  BlockHolder(Stage& stage, Site& site) : stage_(stage), site_(site) {}

  // The client is about to ask for another block for that slot: it takes no more of the present
  // one.
  void leave(std::uint32_t slot) { held_.erase(slot); }
  // The connection has told the page of `client`.
  void told(std::uint64_t connection, ClientId client);
  // Where a block lies whose reply leaves now.
  AttachedPage::Page page_of(std::uint64_t connection) { return attached_.of(connection); }
  // That reply has arrived: `count` IDs from `first` on, granted to `request`.
  void granted(std::uint32_t slot, std::uint32_t request, const std::string& sequence,
               std::int64_t first, std::int64_t count, const AttachedPage::Page& page);
  // Takes some IDs of some block.
  void take();
  // The client has another identity, or was not there: it has no blocks.
  void clear();

 private:
  // Programs do not outlive their machine.
  void look_at_the_machine();

  struct Held {
    AttachedPage::Page page;
    std::uint32_t request = 0;
    std::string sequence;
    std::int64_t first = 0;
    std::int64_t process = 0;  // the daemon that granted it
  };

  Stage& stage_;
  Site& site_;
  AttachedPage attached_;
  std::map<std::uint32_t, Held> held_;  // by the slot
  std::uint32_t boots_ = 0;             // of the machine, as they were when it looked last
};

}  // namespace seqd::sim
