// HttpServer: answers GET of one path over HTTP/1, for a few clients at a time, each with one
// request a connection. No client can make it hold much or for long: a request's head has 8 KiB and
// five seconds, a reply ten; a reply is made in pieces, each when the one before was taken, so a
// client that does not read holds one piece. While all places are taken, other clients wait in the
// queues of the sockets. Owned by the object that answers; loop thread.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "daemon/base/events.h"
#include "daemon/base/status.h"
#include "daemon/uv/accepting_sockets.h"
#include "daemon/uv/event_loop.h"
#include "daemon/uv/http/http_exchange.h"
#include "daemon/uv/loopback_address.h"
#include "daemon/uv/unix_socket.h"

namespace seqd {

class HttpServer final : private HttpExchange::Owner {
 public:
  using Limits = HttpExchange::Limits;
  // Answers GET of `path`.
  struct Site {
    std::string path;
    std::function<HttpBody(const HttpRequestHead&)> respond;
  };
  static constexpr std::size_t kMostClients = 16;

  HttpServer(EventLoop& loop, EventSink& events, Site site, const Limits& limits = {});
  ~HttpServer() override;
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  // CONFIG, as Listener::listen_at().
  Status listen_at(const std::string& path, int mode);
  // CONFIG: the port is in use, or may not be used.
  Status listen_on(const LoopbackAddress& address, const std::string& text);
  // Of the last socket of listen_on(): for port 0.
  int port() const { return port_; }
  std::size_t clients() const { return exchanges_.size(); }
  // Closes everything now.
  void close();

 private:
  HttpBody respond(const HttpRequestHead& head) override { return site_.respond(head); }
  bool has_path(std::string_view path) const override { return path == site_.path; }
  void ended(HttpExchange& exchange) override;

  Status listen(int fd, const std::string& what);
  void accept(int listening);

  EventLoop& loop_;
  const Site site_;
  const Limits limits_;
  AcceptingSockets sockets_;
  std::vector<UnixSocket> files_;
  int port_ = 0;
  std::vector<std::unique_ptr<HttpExchange>> exchanges_;
};

}  // namespace seqd
