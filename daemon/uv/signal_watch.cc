#include "daemon/uv/signal_watch.h"

#include <utility>

#include "daemon/base/assertion.h"

namespace seqd {

SignalWatch::SignalWatch(EventLoop& loop, int number, std::function<void()> caught)
    : caught_(std::move(caught)), handle_(new uv_signal_t) {
  ASSERT(caught_);
  ASSERT(uv_signal_init(loop.raw(), handle_) == 0);
  handle_->data = this;
  const auto call = [](uv_signal_t* handle, int) {
    static_cast<const SignalWatch*>(handle->data)->caught_();
  };
  ASSERT(uv_signal_start(handle_, call, number) == 0);
}

SignalWatch::~SignalWatch() {
  uv_close(reinterpret_cast<uv_handle_t*>(handle_),
           [](uv_handle_t* handle) { delete reinterpret_cast<uv_signal_t*>(handle); });
}

}  // namespace seqd
