// SocketDaemon: a WireDaemon on a real Unix socket, in a directory of its own, on a thread of its
// own. It serves one connection after the other, which is all that one handle makes. Owned by the
// test; configure wire() before start(), read it after stop().
#pragma once

#include <functional>
#include <string>
#include <thread>

#include "tests/adapters/client/wire_daemon.h"

namespace seqd::testing {

class SocketDaemon {
 public:
  SocketDaemon();  // makes the directory; nothing listens yet
  ~SocketDaemon();
  SocketDaemon(const SocketDaemon&) = delete;
  SocketDaemon& operator=(const SocketDaemon&) = delete;

  WireDaemon& wire() { return wire_; }
  const std::string& path() const { return path_; }

  void start();
  // Closes the listener and what is connected, and waits for the thread.
  void stop();

  // When set before start(): called instead of the wire, with each accepted connection.
  std::function<void(int descriptor)> instead;
  // When set before start(): called when a connection has ended.
  std::function<void()> ended;

 private:
  void run();
  void serve(int descriptor);

  WireDaemon wire_;
  std::string directory_;
  std::string path_;
  int listener_ = -1;
  int wake_[2] = {-1, -1};
  std::thread thread_;
};

}  // namespace seqd::testing
