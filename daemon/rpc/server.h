// Server: the way of a request: bytes, frame, message, method. What is written into a session's
// `out` may be sent once the turn's record is in the log. Loop thread.
#pragma once

#include <cstdint>
#include <span>

#include "daemon/rpc/methods.h"

namespace seqd {

struct ServerLimits {
  MethodLimits methods;
  // Bytes that wait to be sent before no more requests are read: of one session, and of all. Of
  // all, one user gets a share.
  std::size_t output = 1 << 20;
  std::size_t output_total = 256 << 20;
};

// What requests are served by. All of it outlives the Server.
struct Services {
  Control& control;
  Clock& clock;
  const RemainderLog& log;
  SequenceTable& table;
  HistoryRecorder* recorder = nullptr;  // null: no history is kept; its methods say UNAVAILABLE
  HistoryAsker* history = nullptr;      // the same
  InsertQueues* inserts = nullptr;      // null: no sequence inserts
  Registers* registers = nullptr;       // null: there are none
  Purge* purge = nullptr;               // null: no store has old counters
  EventSink* events = nullptr;          // null: no events are raised
};

class Server final {
 public:
  Server(const Services& services, Sessions& sessions, const ServerLimits& limits);
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  // Applies a new configuration. The limits of frames apply to sessions opened from now on;
  // everything else, rights too, applies to all sessions.
  void apply_settings(const ServerLimits& limits);

  // The session lives until close(). `transport` outlives it.
  Session& open(const Peer& peer, Transport& transport);
  void close(Session& session);

  // Takes the whole requests at the front of `bytes` and returns how many bytes they were. What is
  // left is a part of a request, or has to wait: see may_read(). After a breach of the protocol
  // `session.closing` is set.
  std::size_t receive(Session& session, std::span<const std::uint8_t> bytes);
  // The transport has sent, or taken bytes to send.
  void sent(Session& session) {
    if (session.unsent() != session.counted) sessions_.count_unsent(session);
  }
  // Whether the session is within its limits: false while it has too many requests waiting or too
  // many replies unsent, while the log is full, or for the rest of a turn in which it requested a
  // page too many.
  bool may_read(const Session& session) const;
  // Pages (ReplySize::page) made in a turn, at most; one for a session.
  static constexpr int kPagesATurn = 8;
  // The next turn begins.
  void turn_over();

  const ServerCounts& counts() const { return counts_; }
  const RefusalCounts& refusals() const { return sessions_.refusals(); }

 private:
  void refuse_waiting(const Session& session);
  MethodContext context();
  std::size_t receive_frame(Session& session, std::span<const std::uint8_t> bytes);
  // False: it is for another turn.
  bool dispatch(Session& session, std::span<const std::uint8_t> frame);
  // `route`: of its method; null: there is no such method.
  void call(Session& session, const protocol::Message& message, const Route* route);
  // Counts a page of this turn. False: it is for another turn.
  bool take_page(Session& session);
  void breach(Session& session, std::uint32_t msgid, ErrorCode code, std::string_view text);

  const Services services_;
  Sessions& sessions_;
  ServerLimits limits_;
  ServerCounts counts_;
  DrainsOfAll drains_of_all_;
  std::uint64_t turn_ = 1;
  int pages_left_ = kPagesATurn;
  std::uint64_t settings_version_ = 1;
};

}  // namespace seqd
