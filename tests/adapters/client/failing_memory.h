// FailingMemory: while it lives, operator new fails on this thread, from an allocation on. The
// other threads have all the memory there is. One at a time a thread.
#pragma once

#include <cstdint>

namespace seqd::testing {

class FailingMemory {
 public:
  // Succeeds `before` times; every later allocation fails.
  explicit FailingMemory(std::int64_t before);
  ~FailingMemory();
  FailingMemory(const FailingMemory&) = delete;
  FailingMemory& operator=(const FailingMemory&) = delete;

  // Whether an allocation has failed.
  static bool has_failed();
};

// How often this thread has given memory back.
std::int64_t frees_of_thread();

}  // namespace seqd::testing
