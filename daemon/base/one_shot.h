// OneShot: the timer of an object: one call at most is due, and none after the object's end. Loop
// thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <utility>

#include "daemon/base/time/timers.h"

namespace seqd {

class OneShot {
 public:
  // `timers` outlives this.
  explicit OneShot(Timers& timers) : timers_(timers) {}
  ~OneShot() { cancel(); }
  OneShot(const OneShot&) = delete;
  OneShot& operator=(const OneShot&) = delete;

  // Whether a call is due.
  bool running() const { return id_ != 0; }
  // Runs `call` once, not before `delay_ms` from now (0 where it is less), in place of one that was
  // due.
  void start(std::int64_t delay_ms, std::function<void()> call) {
    cancel();
    id_ = timers_.schedule(std::max<std::int64_t>(delay_ms, 0), [this, call = std::move(call)] {
      id_ = 0;
      call();
    });
  }
  void cancel() { timers_.cancel(std::exchange(id_, 0)); }

 private:
  Timers& timers_;
  TimerId id_ = 0;
};

}  // namespace seqd
