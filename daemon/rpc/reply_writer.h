// How replies are written into sessions: by a method that answers at once, and by ReplyWriter for
// requests that waited, as the core serves or refuses them. Loop thread.
#pragma once

#include <cstdint>
#include <span>

#include "daemon/core/context/reply_sink.h"
#include "daemon/core/table/sequence_table.h"
#include "daemon/rpc/sessions.h"

namespace seqd {

void answer_error(Session& session, std::uint32_t msgid, const Status& status);

// Of a request that is not as PROTOCOL.md has it.
inline Status bad_request(std::string text) {
  return {ErrorCode::BAD_REQUEST, std::move(text)};
}
// `runs` are ordinals of `sequence`.
void answer_runs(const Sequence& sequence, Session& session, std::uint32_t msgid,
                 std::span<const Run> runs);

class ReplyWriter final : public ReplySink {
 public:
  // `sessions` outlives this.
  explicit ReplyWriter(Sessions& sessions) : sessions_(sessions) {}
  // The table replies through this object, so it is made later. Before the first reply.
  void attach(SequenceTable& table) { table_ = &table; }

  void issued(const Caller& caller, SequenceId sequence, IssueKind kind,
              std::span<const Run> runs) override;
  void issued_text(const Caller& caller, SequenceId sequence, std::int64_t id,
                   std::int64_t wall_s) override;
  void failed(const Caller& caller, const Status& status) override;
  void taken(SessionId session, std::int64_t ids) override;

 private:
  // The session that waited, and waits for one less; null: it is gone.
  Session* served(const Caller& caller);

  Sessions& sessions_;
  SequenceTable* table_ = nullptr;
};

}  // namespace seqd
