// Server: all sessions, and the way of a request: bytes, frame, message, method. It answers those
// who waited, too. What is written into a session's `out` may be sent once the turn's record is in
// the log. Loop thread.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <unordered_map>

#include "daemon/base/fair_share.h"
#include "daemon/rpc/methods.h"

namespace seqd {

struct ServerLimits {
  MethodLimits methods;
  // Bytes that wait to be sent before requests are put off: of one session, and of all. Of all, one
  // user gets a share.
  std::size_t output = 1 << 20;
  std::size_t output_total = 256 << 20;
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
  // Another configuration is in force. The limits of frames are for sessions opened from now on;
  // everything else, rights too, is for all of them.
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
    if (session.unsent() != session.counted) count_unsent(session);
  }
  // Whether the session is within its limits: false while it has too many requests waiting or too
  // many replies unsent, while the log is full, or for the rest of a turn in which it asked for a
  // page of a list too many.
  bool may_read(const Session& session) const;
  // The next turn begins: so many pages of lists are made in each, one for a session.
  static constexpr int kPagesATurn = 8;
  void turn_over();

  const ServerCounts& counts() const { return counts_; }

  // ReplySink
  void issued(const Caller& caller, SequenceId sequence, IssueKind kind,
              std::span<const Run> runs) override;
  void issued_text(const Caller& caller, SequenceId sequence, std::int64_t id,
                   std::int64_t wall_s) override;
  void failed(const Caller& caller, const Status& status) override;

 private:
  void forget_waiting(const Session& session);
  void refuse_waiting(const Session& session);
  void count_unsent(Session& session);
  bool has_output_left(const Session& session, std::int64_t more) const;
  void bind(Session& session, ClientId client) override;
  Session* find(SessionId id) override;
  MethodContext context();
  std::size_t receive_frame(Session& session, std::span<const std::uint8_t> bytes);
  // False: it is for another turn.
  bool dispatch(Session& session, std::span<const std::uint8_t> frame);
  void call(Session& session, const protocol::Message& message);
  bool may_list(Session& session);
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
  FairShare unsent_;  // bytes that wait to be sent, by user
  DrainsOfAll drains_of_all_;
  std::uint64_t turn_ = 1;
  int pages_left_ = kPagesATurn;
  std::uint64_t settings_ = 1;
  SessionId next_ = 1;
  std::unordered_map<SessionId, std::unique_ptr<Session>> sessions_;
  std::unordered_map<ClientId, SessionId> by_client_;
};

}  // namespace seqd
