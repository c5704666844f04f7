#include "daemon/uv/accepting_sockets.h"

#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "daemon/base/assertion.h"

namespace seqd {

AcceptingSockets::AcceptingSockets(EventLoop& loop, EventSink& events, std::string complaint,
                                   std::function<void(int)> incoming)
    : loop_(loop),
      events_(events),
      complaint_(std::move(complaint)),
      incoming_(std::move(incoming)) {}

int AcceptingSockets::add(int socket, int backlog) {
  ASSERT(socket >= 0);
  auto listening = std::make_unique<Socket>();
  listening->owner = this;
  listening->fd = socket;
  listening->handle.data = listening.get();
  int failed = ::listen(socket, backlog) == 0 ? 0 : uv_translate_sys_error(errno);
  if (failed == 0) failed = uv_poll_init(loop_.raw(), &listening->handle, socket);
  if (failed != 0) {
    ::close(socket);
    return failed;
  }
  sockets_.push_back(std::move(listening));
  watch();
  return 0;
}

int AcceptingSockets::accept(int listening) {
  const int fd = ::accept4(listening, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
  if (fd >= 0) {
    starved_ = false;
  } else if (errno != EAGAIN && errno != EINTR && errno != ECONNABORTED) {
    rest(errno);
  }
  return fd;
}

void AcceptingSockets::set_paused(bool paused) {
  if (paused == paused_) return;
  paused_ = paused;
  watch();
}

void AcceptingSockets::rest(int error) {
  if (!std::exchange(starved_, true)) {
    events_.raise({EventKind::limit_reached,
                   complaint_ + ": " + std::strerror(error),
                   {{"LIMIT", error == EMFILE ? "RLIMIT_NOFILE" : "system"}}});
  }
  rest_timer_.start(kRestMs, [this] { watch(); });
  watch();
}

void AcceptingSockets::watch() {
  const auto incoming = [](uv_poll_t* handle, int, int) {
    const auto* from = static_cast<Socket*>(handle->data);
    from->owner->incoming_(from->fd);
  };
  const bool looks = !paused_ && !rest_timer_.running();
  for (const auto& socket : sockets_) {
    if (looks) {
      ASSERT(uv_poll_start(&socket->handle, UV_READABLE, incoming) == 0);
    } else {
      uv_poll_stop(&socket->handle);
    }
  }
}

void AcceptingSockets::close() {
  rest_timer_.cancel();
  for (std::unique_ptr<Socket>& listening : std::exchange(sockets_, {})) {
    Socket* closing = listening.release();
    const int fd = closing->fd;
    uv_close(reinterpret_cast<uv_handle_t*>(&closing->handle),
             [](uv_handle_t* handle) { delete static_cast<Socket*>(handle->data); });
    ::close(fd);
  }
}

}  // namespace seqd
