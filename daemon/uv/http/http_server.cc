#include "daemon/uv/http/http_server.h"

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

// The sandbox of seqd.service.
constexpr const char* kNoNetwork =
    " (seqd.service has no network by itself: copy 40-metrics-port.conf of /usr/share/doc/seqd to "
    "/etc/systemd/system/seqd.service.d, then systemctl daemon-reload and restart seqd)";

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
    : loop_(loop),
      site_(std::move(site)),
      limits_(limits),
      sockets_(loop, events, "the metrics are not answered, no connection can be accepted",
               [this](int listening) { accept(listening); }) {}

HttpServer::~HttpServer() {
  close();
}

Status HttpServer::listen_at(const std::string& path, int mode) {
  Result<UnixSocket> made = bind_unix_socket(path, mode);
  if (!made.ok()) return made.status();
  const Status listening = listen(made->fd, "socket " + path);
  if (listening.ok()) {
    files_.push_back(*made);
  } else {
    unlink_unix_socket(*made);
  }
  return listening;
}

Status HttpServer::listen_on(const LoopbackAddress& address, const std::string& text) {
  const int fd = ::socket(address.address.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) {
    const bool forbidden = errno == EAFNOSUPPORT;
    const Status failed = cannot("a socket for " + text, "made");
    return forbidden ? Status(failed.code(), failed.text() + kNoNetwork) : failed;
  }
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
  const int failed = sockets_.add(fd, kBacklog);
  if (failed == 0) return {};
  errno = -failed;
  return cannot(what, "listened at");
}

// One a turn: libuv reports the others again.
void HttpServer::accept(int listening) {
  if (exchanges_.size() >= kMostClients) return sockets_.set_paused(true);
  const int fd = sockets_.accept(listening);
  if (fd < 0) return;
  HttpExchange::Owner& owner = *this;
  exchanges_.push_back(std::make_unique<HttpExchange>(loop_, owner, fd, limits_));
}

void HttpServer::ended(HttpExchange& exchange) {
  const auto found = std::find_if(exchanges_.begin(), exchanges_.end(),
                                  [&](const auto& one) { return one.get() == &exchange; });
  ASSERT(found != exchanges_.end());
  exchanges_.erase(found);
  sockets_.set_paused(false);
}

void HttpServer::close() {
  exchanges_.clear();
  sockets_.close();
  for (const UnixSocket& file : std::exchange(files_, {})) unlink_unix_socket(file);
}

}  // namespace seqd
