#include "tests/adapters/loopback_server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdint>
#include <utility>

#include <catch2/catch.hpp>

namespace seqd::testing {
namespace {

sockaddr_in loopback(int port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  return address;
}

}  // namespace

LoopbackServer::LoopbackServer(Serve serve) : serve_(std::move(serve)) {
  listener_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address = loopback(0);
  socklen_t size = sizeof address;
  REQUIRE(bind(listener_, reinterpret_cast<sockaddr*>(&address), size) == 0);
  REQUIRE(listen(listener_, 64) == 0);
  REQUIRE(getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size) == 0);
  port_ = ntohs(address.sin_port);
  acceptor_ = std::thread([this] { accept(); });
}

LoopbackServer::~LoopbackServer() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
    for (const int each : sockets_) shutdown(each, SHUT_RDWR);
  }
  shutdown(listener_, SHUT_RDWR);
  acceptor_.join();
  for (std::thread& server : servers_) server.join();
  close(listener_);
  for (const int each : sockets_) close(each);
}

void LoopbackServer::accept() {
  while (true) {
    const int client = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    const std::lock_guard lock(mutex_);
    if (client < 0 || ending_) {
      if (client >= 0) close(client);
      return;
    }
    sockets_.push_back(client);
    servers_.emplace_back([this, client] {
      serve_(client);
      shutdown(client, SHUT_RDWR);
    });
  }
}

int LoopbackServer::connect_to(int port) {
  const int upstream = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  {
    const std::lock_guard lock(mutex_);
    sockets_.push_back(upstream);
    if (ending_) return -1;
  }
  const sockaddr_in address = loopback(port);
  const bool connected =
      connect(upstream, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  return connected ? upstream : -1;
}

void LoopbackServer::disconnect(int socket) {
  const std::lock_guard lock(mutex_);
  if (std::erase(sockets_, socket) > 0) close(socket);
}

bool write_all(int socket, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

}  // namespace seqd::testing
