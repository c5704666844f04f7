// Listener: the daemon's listening sockets and the connections that came of them. It accepts within
// the limits, spreads the end of a turn, and ends connections that are too slow. Owned by the
// Daemon; loop thread.
#pragma once

#include <uv.h>

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "daemon/base/events.h"
#include "daemon/base/fair_share.h"
#include "daemon/base/one_shot.h"
#include "daemon/base/status.h"
#include "daemon/uv/accepting_sockets.h"
#include "daemon/uv/busy_poll.h"
#include "daemon/uv/connection.h"
#include "daemon/uv/event_loop.h"
#include "daemon/uv/peer_watch.h"
#include "daemon/uv/unix_socket.h"

namespace seqd {

// Of `connections` a part is kept for root and the daemon's own user. One other user alone may have
// seven eighths of the rest, so that something is left for the next one.
struct ListenerLimits {
  std::size_t connections = 10'240;
  Connection::TimeLimits times;
  std::int64_t busy_poll_ms = 0;
};

class Listener final : private Connection::Owner {
 public:
  Listener(EventLoop& loop, Server& server, EventSink& events, const ListenerLimits& limits);
  // After close_all() and a run of the loop.
  ~Listener() override;
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  // Makes the socket at `path` with permissions `mode`. A socket without a listener is replaced;
  // one that is in use, or a file of another kind, is an error (CONFIG).
  Status listen_at(const std::string& path, int mode);
  // Accepts from a socket that systemd handed over.
  Status listen_on(int socket);

  void set_limits(const ListenerLimits& limits);
  std::size_t connections() const { return connections_.size(); }

  // The end of a turn in two parts: requests that were held back are taken in, then (after the log)
  // replies are sent.
  void resume_deferred();
  void send_replies();

  // No new connections; a socket made by listen_at() is removed.
  void stop_accepting();
  // No new requests; each connection closes when its replies are sent.
  void drain();
  // Closes everything now.
  void close_all();

 private:
  std::span<char> read_memory() override { return read_memory_; }
  void attended(Connection& connection) override;
  void watch_peer(Connection& connection, int socket, bool watch) override;
  void due_sooner(const Connection& connection) override;
  void had_request(Connection& connection) override { busy_poll_.had_request(connection); }
  void ended(Connection& connection) override;

  Status listen(int socket);
  void accept(int listening);
  void take(int fd);
  const char* limit_reached(const Peer& peer, int fd) const;
  bool admit(const Peer& peer, int fd);
  void sweep();
  void sweep_at(std::int64_t due_ms);
  void set_busy_poll();
  bool look_before_sleep();

  EventLoop& loop_;
  Server& server_;
  EventSink& events_;
  ListenerLimits limits_;
  PeerWatch peer_watch_;
  BusyPoll busy_poll_{uv_hrtime};
  AcceptingSockets sockets_;
  UnixSocket made_;  // by listen_at(); its descriptor is that of one of sockets_
  std::unordered_map<Connection*, std::unique_ptr<Connection>> connections_;
  FairShare by_user_;  // connections
  std::vector<Connection*> attended_;
  std::vector<Connection*> replying_;  // connections of the turn that ends; kept for its memory
  std::vector<Connection*> deferred_;
  OneShot sweep_timer_{loop_};
  std::int64_t sweep_ms_ = Connection::kNeverMs;  // when it is due
  std::array<char, 65'536> read_memory_{};
};

}  // namespace seqd
