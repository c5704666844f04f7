// Server: all sessions, and the way of a request: bytes, frame, message, method. It answers those
// who waited, too. What is written into a session's `out` may be sent once the turn's record is in
// the log. Loop thread.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <unordered_map>

#include "daemon/rpc/methods.h"

namespace seqd {

struct ServerLimits {
  MethodLimits methods;
  std::size_t output =
      1 << 20;  // bytes of one session that wait to be sent before its requests are put off
};

class Server final : public ReplySink, private Sessions {
 public:
  Server(Control& control, Clock& clock, const RemainderLog& log, const ServerLimits& limits);
  ~Server() override;

  // The table answers through this object, so it is made later. Before the first open().
  void attach(SequenceTable& table) { table_ = &table; }
  // Who keeps the history, and who answers for it. Both outlive this; without them the methods of
  // the history say UNAVAILABLE. Before the first open().
  void attach_history(HistoryRecorder* recorder, HistoryAsker* asker);
  // Who inserts documents; outlives this. Without it no sequence does. Before the first open().
  void attach_inserts(InsertQueues& inserts) { inserts_ = &inserts; }
  // Who removes old counters; outlives this. Without it nobody does. Before the first open().
  void attach_purge(Purge& purge) { purge_ = &purge; }
  // For sessions opened from now on; the frame limits of those that are open stay.
  void set_limits(const ServerLimits& limits) { limits_ = limits; }

  // The session lives until close(). `transport` outlives it.
  Session& open(const Peer& peer, Transport& transport);
  void close(Session& session);

  // Takes the whole requests at the front of `bytes` and returns how many bytes they were. What is
  // left is a part of a request, or has to wait: see may_read(). After a breach of the protocol
  // `session.closing` is set.
  std::size_t receive(Session& session, std::span<const std::uint8_t> bytes);
  // Whether the session is within its limits: false while it has too many requests waiting or too
  // many replies unsent, or while the log is full.
  bool may_read(const Session& session) const;

  const ServerCounts& counts() const { return counts_; }

  // ReplySink
  void issued(const Caller& caller, SequenceId sequence, IssueKind kind,
              std::span<const Run> runs) override;
  void issued_text(const Caller& caller, SequenceId sequence, std::int64_t id,
                   std::int64_t wall_s) override;
  void failed(const Caller& caller, const Status& status) override;

 private:
  void forget_waiting(const Session& session);
  void bind(Session& session, ClientId client) override;
  Session* find(SessionId id) override;
  MethodContext context();
  std::size_t receive_frame(Session& session, std::span<const std::uint8_t> bytes);
  void dispatch(Session& session, std::span<const std::uint8_t> frame);
  void breach(Session& session, std::uint32_t msgid, ErrorCode code, std::string_view text);

  Control& control_;
  Clock& clock_;
  const RemainderLog& log_;
  ServerLimits limits_;
  SequenceTable* table_ = nullptr;
  HistoryRecorder* recorder_ = nullptr;
  HistoryAsker* asker_ = nullptr;
  InsertQueues* inserts_ = nullptr;
  Purge* purge_ = nullptr;
  ServerCounts counts_;
  SessionId next_ = 1;
  std::unordered_map<SessionId, std::unique_ptr<Session>> sessions_;
  std::unordered_map<ClientId, SessionId> by_client_;
};

}  // namespace seqd
