// AcceptingSockets: listening sockets, and when they are watched. Their owner decides who may
// connect and what happens to a connection. An accept that the system refuses (no descriptor is
// left, or no memory) pauses all of them for a moment, with one line in the journal; clients wait
// in the sockets' queues meanwhile. Not uv_listen: while no descriptor is left, it retries in an
// endless loop and starves all other handles. Loop thread.
#pragma once

#include <uv.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "daemon/base/events.h"
#include "daemon/base/one_shot.h"
#include "daemon/uv/event_loop.h"

namespace seqd {

class AcceptingSockets {
 public:
  static constexpr std::int64_t kRestMs = 100;  // after an accept that the system refused

  // `complaint` begins the line in the journal. `incoming` is called with a socket that has a
  // waiting client, again in each turn as long as it has one. Loop and events outlive this.
  AcceptingSockets(EventLoop& loop, EventSink& events, std::string complaint,
                   std::function<void(int listening)> incoming);
  ~AcceptingSockets() { close(); }
  AcceptingSockets(const AcceptingSockets&) = delete;
  AcceptingSockets& operator=(const AcceptingSockets&) = delete;

  // Listens at a bound socket, which it closes in any case. 0, or an error of libuv.
  int add(int socket, int backlog);
  // A connection, which does not block and which the caller closes; below 0: there is none, and
  // what follows is for another turn.
  int accept(int listening);
  // While paused, no connection is accepted.
  void set_paused(bool paused);
  // Closes all of them.
  void close();

 private:
  struct Socket {
    uv_poll_t handle{};
    int fd = -1;
    AcceptingSockets* owner = nullptr;
  };

  void rest(int error);
  void watch();

  EventLoop& loop_;
  EventSink& events_;
  const std::string complaint_;
  const std::function<void(int)> incoming_;
  std::vector<std::unique_ptr<Socket>> sockets_;
  OneShot rest_timer_{loop_};
  bool paused_ = false;
  bool starved_ = false;  // the last accept was refused by the system
};

}  // namespace seqd
