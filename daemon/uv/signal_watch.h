// SignalWatch: calls back on the loop when the process gets a signal. Owned by the Daemon; loop
// thread.
#pragma once

#include <uv.h>

#include <functional>

#include "daemon/uv/event_loop.h"

namespace seqd {

class SignalWatch {
 public:
  SignalWatch(EventLoop& loop, int number, std::function<void()> caught);
  // The loop has to run once more, which its destructor does.
  ~SignalWatch();
  SignalWatch(const SignalWatch&) = delete;
  SignalWatch& operator=(const SignalWatch&) = delete;

 private:
  const std::function<void()> caught_;
  uv_signal_t* const handle_;  // closes after us
};

}  // namespace seqd
