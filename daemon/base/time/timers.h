// Timers: runs a function later on the loop thread. One-shot; the owner of the captured state
// cancels before it dies.
#pragma once

#include <cstdint>
#include <functional>

namespace seqd {

// Names one scheduled call; 0 is none. Never used again.
using TimerId = std::uint64_t;

class Timers {
 public:
  virtual ~Timers() = default;
  // Runs `call` once, not before `delay_ms` (>= 0) from now.
  virtual TimerId schedule(std::int64_t delay_ms, std::function<void()> call) = 0;
  // Forgets a scheduled call. No effect when it has run or `id` is 0.
  virtual void cancel(TimerId id) = 0;
};

}  // namespace seqd
