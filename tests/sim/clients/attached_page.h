// AttachedPage: the page that a simulated client has attached, as in libseqd (PROTOCOL.md, 10.2).
// It stays attached when the connection ends, also where the daemon that starts next has lost it; a
// block lies in the page that the connection of its reply has told. Owned by a BlockHolder; one
// thread.
#pragma once

#include <cstdint>
#include <memory>

#include "tests/unit/memory_pages.h"

namespace seqd::sim {

class AttachedPage {
 public:
  using Page = std::shared_ptr<MemoryPages::Page>;

  // The reply to `page` left on that connection. Returns whether it is another page than before.
  bool told(std::uint64_t connection, Page page);
  // Where the blocks of that connection's replies lie from here on; null: it has told no page yet.
  Page of(std::uint64_t connection) const;
  void clear() { *this = {}; }

 private:
  Page page_;
  std::uint64_t connection_ = 0;  // that told it; 0: none
};

}  // namespace seqd::sim
