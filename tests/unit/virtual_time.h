// VirtualTime: a clock and its timers. Time passes only when somebody asks for it, and calls that
// are due at one moment run in the order in which they were scheduled. One thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <unordered_map>
#include <utility>

#include "daemon/base/time/clock.h"
#include "daemon/base/time/timers.h"

namespace seqd {

class VirtualTime final : public Clock, public Timers {
 public:
  std::int64_t monotonic_ms() const override { return now_ms_; }
  std::int64_t wall_ms() const override { return 1'700'000'000'000 + now_ms_ + wall_set_ms; }
  TimerId schedule(std::int64_t delay_ms, std::function<void()> call) override;
  void cancel(TimerId id) override;

  std::size_t pending() const { return calls_.size(); }
  // By how much somebody has set the clock.
  std::int64_t wall_set_ms = 0;

  // Milliseconds to the next call; nothing when there is none.
  std::optional<std::int64_t> next_delay_ms() const;
  // Lets `ms` pass and runs what is due, in order.
  void advance(std::int64_t ms);
  // Lets `ms` pass and runs nothing: what is due in it is late.
  void stand_still(std::int64_t ms) { now_ms_ += ms; }
  // Goes to the next call and runs it. False when there is none.
  bool run_next();

 private:
  // By when it is due; the number keeps those of one moment in order.
  using Due = std::pair<std::int64_t, TimerId>;

  std::int64_t now_ms_ = 1'000;
  TimerId next_ = 1;
  std::map<Due, std::function<void()>> calls_;
  std::unordered_map<TimerId, std::int64_t> due_ms_;
};

}  // namespace seqd
