// ConnectHook: what a test does in the middle of the next connect(2) of its thread, before the
// kernel is called, as another thread could. One at a time; one thread.
#pragma once

#include <functional>

namespace seqd::testing {

class ConnectHook {
 public:
  // `then` gets the descriptor, and may fork.
  explicit ConnectHook(std::function<void(int)> then);
  ~ConnectHook();
  ConnectHook(const ConnectHook&) = delete;
  ConnectHook& operator=(const ConnectHook&) = delete;
};

}  // namespace seqd::testing
