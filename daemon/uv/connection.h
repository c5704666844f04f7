// Connection: one client's socket: bytes in, bytes out, and nothing of what they mean. Replies are
// sent when the turn is over: tried at once, the rest when the socket takes it. Owned by the
// Listener; ends itself by Owner::ended(). Loop thread.
#pragma once

#include <uv.h>

#include <cstdint>
#include <limits>
#include <span>

#include "daemon/rpc/server.h"
#include "daemon/uv/busy_poll.h"

namespace seqd {

class Connection final : public Transport, public BusyPoll::Source {
 public:
  class Owner {
   public:
    virtual ~Owner() = default;
    // A piece of memory to read into; used until the read is taken in, never longer.
    virtual std::span<char> read_memory() = 0;
    // send_replies() is to be called when the turn is over.
    virtual void attended(Connection& connection) = 0;
    // peer_gone() is to be called when the other end of the socket is gone, or not any more.
    virtual void watch_peer(Connection& connection, int socket, bool watch) = 0;
    // due() may be earlier than it was.
    virtual void due_sooner(const Connection& connection) = 0;
    // A request came from it.
    virtual void had_request(Connection& connection) = 0;
    // The socket is closed: the connection may be destroyed.
    virtual void ended(Connection& connection) = 0;
  };

  Connection(Owner& owner, Server& server) : owner_(owner), server_(server) {}
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // Takes an accepted socket over and begins. `peer` is the process at its other end. Once only,
  // and before anything else.
  void start(uv_loop_t* loop, int socket, const Peer& peer);
  const Peer& peer() const { return peer_; }

  // Takes in requests that were held back, if that is allowed again. When the end of a turn begins.
  void resume();
  // Sends the replies that are written. At the end of a turn, after the log.
  void send_replies();
  // Closes now; what was not sent is dropped.
  void abort();
  // The peer is gone and can take no replies: nothing is issued for requests that wait.
  void peer_gone() { close(); }
  // No more requests; closes once everything is answered and sent.
  void drain();

  struct TimeLimits {
    std::int64_t frame_ms = 0;  // 0: none, as for the other
    std::int64_t idle_ms = 0;
  };
  // The first time limit that this connection will pass, or has passed, and its words. It is no
  // earlier later on, unless due_sooner() is called.
  static constexpr std::int64_t kNeverMs = std::numeric_limits<std::int64_t>::max();
  struct Due {
    std::int64_t at_ms = kNeverMs;
    const char* why = nullptr;
  };
  Due due(std::int64_t now_ms, const TimeLimits& limits) const;
  bool attended() const { return attended_; }
  bool deferred() const { return session_ != nullptr && session_->paused; }
  bool listed_deferred = false;  // by the owner
  bool may_resume() const { return deferred() && server_.may_read(*session_); }

  // Transport
  void attend() override;
  // BusyPoll::Source. Ends and errors of the connection are for libuv to see.
  bool take_arrived() override;

 private:
  uv_stream_t* stream() { return reinterpret_cast<uv_stream_t*>(&pipe_); }
  void on_read(std::ptrdiff_t count, const char* bytes);
  void take_in(std::span<const std::uint8_t> bytes);
  void on_end_of_input();
  void on_written(int status);
  void set_reading(bool reading);
  void watch_peer(bool watch);
  void send();
  void close();

  Owner& owner_;
  Server& server_;
  uv_pipe_t pipe_{};
  Peer peer_;
  Session* session_ = nullptr;
  protocol::Buffer in_;       // a part of a request, or requests held back
  protocol::Buffer sending_;  // handed to libuv; empty: nothing is in flight
  uv_write_t write_{};
  bool reading_ = false;
  bool input_ended_ = false;
  bool attended_ = false;
  bool watched_ = false;  // by watch_peer(), because nothing is read
  bool closing_ = false;
  bool draining_ = false;         // drain() came
  std::int64_t active_ms_ = 0;    // last byte received or sent
  std::int64_t partial_ms_ = -1;  // since when a part of a request lies in in_; -1: none
};

}  // namespace seqd
