#include "tests/adapters/canned_server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <utility>

#include <catch2/catch.hpp>

namespace seqd::testing {
namespace {

bool is_whole(const std::string& request) {
  static const std::string kLength = "\r\nContent-Length: ";
  const std::size_t end = request.find("\r\n\r\n");
  if (end == std::string::npos) return false;
  const std::size_t length = request.find(kLength);
  const std::size_t body = length < end ? std::stoul(request.substr(length + kLength.size())) : 0;
  return request.size() >= end + 4 + body;
}

}  // namespace

CannedServer::CannedServer(std::vector<std::string> replies, Then then)
    : replies_(std::move(replies)), then_(then) {
  listener_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  REQUIRE(bind(listener_, reinterpret_cast<sockaddr*>(&address), size) == 0);
  REQUIRE(listen(listener_, 64) == 0);
  REQUIRE(getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size) == 0);
  port_ = ntohs(address.sin_port);
  REQUIRE(pipe(wake_) == 0);
  thread_ = std::thread([this] { run(); });
}

CannedServer::~CannedServer() {
  close(wake_[1]);
  thread_.join();
  close(wake_[0]);
  close(listener_);
}

std::string CannedServer::url() const {
  return "http://127.0.0.1:" + std::to_string(port_) + "/";
}

std::vector<std::string> CannedServer::requests() {
  const std::lock_guard lock(mutex_);
  return requests_;
}

int CannedServer::connections() {
  const std::lock_guard lock(mutex_);
  return connections_;
}

// One thread serves all connections, one readable descriptor after the other.
void CannedServer::run() {
  std::vector<pollfd> watched = {{wake_[0], POLLIN, 0}, {listener_, POLLIN, 0}};
  while (poll(watched.data(), watched.size(), -1) > 0 && watched[0].revents == 0) {
    if (watched[1].revents != 0) {
      watched.push_back({accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC), POLLIN, 0});
      const std::lock_guard lock(mutex_);
      ++connections_;
    }
    for (std::size_t at = 2; at < watched.size();) {
      if (watched[at].revents == 0 || serve(watched[at].fd)) {
        ++at;
        continue;
      }
      close(watched[at].fd);
      watched.erase(watched.begin() + static_cast<std::ptrdiff_t>(at));
    }
  }
  for (std::size_t at = 2; at < watched.size(); ++at) close(watched[at].fd);
}

// Head and body may come in pieces.
bool CannedServer::serve(int client) {
  std::string request;
  while (!is_whole(request)) {
    char part[4096];
    const ssize_t got = recv(client, part, sizeof part, 0);
    if (got <= 0) return false;
    request.append(part, static_cast<std::size_t>(got));
  }
  std::string reply;
  {
    const std::lock_guard lock(mutex_);
    if (requests_.size() < replies_.size()) reply = replies_[requests_.size()];
    requests_.push_back(std::move(request));
  }
  std::size_t at = 0;
  while (at < reply.size()) {
    const ssize_t sent = send(client, reply.data() + at, reply.size() - at, MSG_NOSIGNAL);
    if (sent <= 0) return false;
    at += static_cast<std::size_t>(sent);
  }
  return then_ == Then::wait || (then_ == Then::serve && !reply.empty());
}

}  // namespace seqd::testing
