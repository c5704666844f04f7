// Orders: a world whose store is claimed, with the sequence "orders". For the tests of one
// sequence. One thread.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "daemon/core/sequence/sequence.h"
#include "tests/unit/world.h"

namespace seqd {

inline Caller caller(SessionId session, std::uint32_t request = 1) {
  return {session, request, 0};
}

struct Orders {
  explicit Orders(const std::function<void(SequenceSettings&)>& change = [](SequenceSettings&) {}) {
    change(world.settings.add("orders"));
    world.start();
    world.settle();
  }
  Sequence& sequence() { return world.sequence("orders"); }
  const std::vector<Answer>& sent() { return world.answers.sent; }
  // So many available IDs and issuable.
  void fill() {
    static_cast<void>(world.next("orders"));
    world.settle();
    world.answers.sent.clear();
  }
  CoreWorld world;
};

}  // namespace seqd
