#include "daemon/uv/http_server.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "daemon/base/assertion.h"

namespace seqd {
namespace {

constexpr int kBacklog = 64;
constexpr std::int64_t kRestMs = 100;  // after an accept that the system refused

Status cannot(const std::string& what, const char* verb) {
  return {ErrorCode::CONFIG, what + " cannot be " + verb + ": " + std::strerror(errno)};
}

int port_of(int fd) {
  sockaddr_storage bound{};
  socklen_t size = sizeof bound;
  if (getsockname(fd, reinterpret_cast<sockaddr*>(&bound), &size) != 0) return 0;
  return ntohs(bound.ss_family == AF_INET6
                   ? reinterpret_cast<const sockaddr_in6*>(&bound)->sin6_port
                   : reinterpret_cast<const sockaddr_in*>(&bound)->sin_port);
}

}  // namespace

HttpServer::HttpServer(EventLoop& loop, EventSink& events, Site site, const Limits& limits)
    : loop_(loop), events_(events), site_(std::move(site)), limits_(limits) {}

HttpServer::~HttpServer() {
  close();
}

Status HttpServer::listen_at(const std::string& path, int mode) {
  Result<UnixSocket> made = bind_unix_socket(path, mode);
  if (!made.ok()) return made.status();
  files_.push_back(*made);
  return listen(made->fd, "socket " + path);
}

Status HttpServer::listen_on(const LoopbackAddress& address, const std::string& text) {
  const int fd = ::socket(address.address.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return cannot("a socket for " + text, "made");
  // One that was closed a moment ago is no obstacle.
  const int on = 1;
  const bool bound =
      setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) == 0 &&
      bind(fd, reinterpret_cast<const sockaddr*>(&address.address), address.size) == 0;
  if (!bound) {
    const Status failed = cannot("address " + text, "used");
    ::close(fd);
    return failed;
  }
  port_ = port_of(fd);
  return listen(fd, "address " + text);
}

Status HttpServer::listen(int fd, const std::string& what) {
  auto listening = std::make_unique<Socket>();
  listening->server = this;
  listening->fd = fd;
  listening->handle.data = listening.get();
  const bool listens = ::listen(fd, kBacklog) == 0;
  const int failed = listens ? uv_poll_init(loop_.raw(), &listening->handle, fd) : 0;
  if (!listens || failed != 0) {
    if (failed != 0) errno = -failed;
    const Status status = cannot(what, "listened at");
    ::close(fd);
    return status;
  }
  sockets_.push_back(std::move(listening));
  watch(true);
  return {};
}

void HttpServer::watch(bool watch) {
  const auto incoming = [](uv_poll_t* handle, int, int) {
    auto* from = static_cast<Socket*>(handle->data);
    from->server->accept(*from);
  };
  for (const auto& socket : sockets_) {
    if (watch) {
      ASSERT(uv_poll_start(&socket->handle, UV_READABLE, incoming) == 0);
    } else {
      uv_poll_stop(&socket->handle);
    }
  }
}

// One a turn: the others are told again.
void HttpServer::accept(const Socket& from) {
  if (exchanges_.size() >= kMostClients) return watch(false);
  const int fd = ::accept4(from.fd, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
  if (fd < 0) {
    if (errno != EAGAIN && errno != EINTR && errno != ECONNABORTED) rest(errno);
    return;
  }
  starved_ = false;
  HttpExchange::Owner& owner = *this;
  exchanges_.push_back(std::make_unique<HttpExchange>(loop_, owner, fd, limits_));
}

void HttpServer::rest(int error) {
  if (!starved_) {
    events_.raise({EventKind::limit_reached,
                   std::string("the metrics are not answered, no connection can be accepted: ") +
                       std::strerror(error),
                   {{"LIMIT", error == EMFILE ? "RLIMIT_NOFILE" : "system"}}});
  }
  starved_ = true;
  watch(false);
  rest_timer_.start(kRestMs, [this] { watch(true); });
}

void HttpServer::ended(HttpExchange& exchange) {
  const auto found = std::find_if(exchanges_.begin(), exchanges_.end(),
                                  [&](const auto& one) { return one.get() == &exchange; });
  ASSERT(found != exchanges_.end());
  exchanges_.erase(found);
  if (!rest_timer_.running()) watch(true);
}

void HttpServer::close() {
  rest_timer_.cancel();
  exchanges_.clear();
  for (std::unique_ptr<Socket>& listening : std::exchange(sockets_, {})) {
    Socket* closing = listening.release();
    const int fd = closing->fd;
    uv_close(reinterpret_cast<uv_handle_t*>(&closing->handle),
             [](uv_handle_t* handle) { delete static_cast<Socket*>(handle->data); });
    ::close(fd);
  }
  for (const UnixSocket& file : std::exchange(files_, {})) unlink_unix_socket(file);
}

}  // namespace seqd
