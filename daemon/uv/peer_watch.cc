#include "daemon/uv/peer_watch.h"

#include <sys/epoll.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <memory>
#include <string>
#include <system_error>
#include <utility>

#include "daemon/base/assertion.h"

namespace seqd {

PeerWatch::PeerWatch(uv_loop_t* loop) : epoll_(epoll_create1(EPOLL_CLOEXEC)) {
  if (epoll_ < 0) return;
  auto poll = std::make_unique<uv_poll_t>();
  if (uv_poll_init(loop, poll.get(), epoll_) != 0) return;
  poll_ = poll.release();
  poll_->data = this;
  const auto call = [](uv_poll_t* handle, int, int) {
    static_cast<PeerWatch*>(handle->data)->look();
  };
  if (uv_poll_start(poll_, UV_READABLE, call) == 0) return;
  uv_close(reinterpret_cast<uv_handle_t*>(std::exchange(poll_, nullptr)),
           [](uv_handle_t* handle) { delete reinterpret_cast<uv_poll_t*>(handle); });
}

PeerWatch::~PeerWatch() {
  if (poll_ != nullptr) {
    uv_close(reinterpret_cast<uv_handle_t*>(poll_),
             [](uv_handle_t* handle) { delete reinterpret_cast<uv_poll_t*>(handle); });
  }
  if (epoll_ >= 0) ::close(epoll_);
}

Status PeerWatch::watch(int socket, std::function<void()> gone) {
  ASSERT(works() && gone);
  epoll_event event{};
  event.data.fd = socket;
  // No events: errors and hang-ups are always reported.
  if (epoll_ctl(epoll_, EPOLL_CTL_ADD, socket, &event) != 0) {
    const std::string why = std::system_category().message(errno);
    return {ErrorCode::INTERNAL, "epoll_ctl: " + why};
  }
  watched_[socket] = std::move(gone);
  return {};
}

void PeerWatch::forget(int socket) {
  if (watched_.erase(socket) > 0) epoll_ctl(epoll_, EPOLL_CTL_DEL, socket, nullptr);
}

void PeerWatch::call_gone() {
  std::array<epoll_event, 256> events;  // filled in by epoll_wait; this runs twice a turn
  while (!watched_.empty()) {
    const int count = epoll_wait(epoll_, events.data(), static_cast<int>(events.size()), 0);
    for (int at = 0; at < count; ++at) {
      const int socket = events[static_cast<std::size_t>(at)].data.fd;
      const auto found = watched_.find(socket);
      if (found == watched_.end()) continue;
      const std::function<void()> gone = std::move(found->second);
      forget(socket);
      gone();
    }
    if (count < static_cast<int>(events.size())) return;
  }
}

}  // namespace seqd
