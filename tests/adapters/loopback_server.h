// LoopbackServer: what a proxy of the tests is made of: it listens on a port of loopback and calls
// `serve` for every connection, each in a thread of its own. The last member of its owner, whose
// other members `serve` may use: the end shuts every socket down, waits for the threads, and closes
// the sockets of clients: until then their numbers are nobody else's.
#pragma once

#include <functional>
#include <mutex>
#include <string_view>
#include <thread>
#include <vector>

namespace seqd::testing {

class LoopbackServer {
 public:
  using Serve = std::function<void(int client)>;

  explicit LoopbackServer(Serve serve);
  ~LoopbackServer();
  LoopbackServer(const LoopbackServer&) = delete;
  LoopbackServer& operator=(const LoopbackServer&) = delete;

  int port() const { return port_; }
  // A connection to another port of loopback, or -1. Any thread; the descriptor is this object's.
  int connect_to(int port);
  void disconnect(int socket);  // of connect_to(), -1 too

 private:
  void accept();

  const Serve serve_;
  int listener_ = -1;
  int port_ = 0;
  std::mutex mutex_;  // guards the next three
  std::vector<int> sockets_;
  std::vector<std::thread> servers_;
  bool ending_ = false;
  std::thread acceptor_;
};

// False: the connection has ended.
bool write_all(int socket, std::string_view bytes);

}  // namespace seqd::testing
