// PeerWatch: notices that the other end of a socket is gone, though nothing is read from it: a
// client that ended its side, or one under back-pressure. An epoll of its own, in which such
// sockets are for errors and hang-ups only, because libuv drops a stream that is neither read nor
// written from its own. Owned by the Listener; loop thread.
#pragma once

#include <uv.h>

#include <functional>
#include <unordered_map>

#include "daemon/base/status.h"

namespace seqd {

class PeerWatch {
 public:
  explicit PeerWatch(uv_loop_t* loop);
  ~PeerWatch();
  PeerWatch(const PeerWatch&) = delete;
  PeerWatch& operator=(const PeerWatch&) = delete;

  // Whether the system gave what it needs.
  bool works() const { return poll_ != nullptr; }
  // `gone` is called once, from look() or from the loop. It may forget any socket, this one too.
  // An error: the system does not watch the socket, and `gone` is never called.
  Status watch(int socket, std::function<void()> gone);
  void forget(int socket);
  // Calls `gone` for each socket whose peer is gone.
  void look() {
    if (!watched_.empty()) call_gone();
  }

 private:
  void call_gone();

  int epoll_ = -1;
  uv_poll_t* poll_ = nullptr;
  std::unordered_map<int, std::function<void()>> watched_;
};

}  // namespace seqd
