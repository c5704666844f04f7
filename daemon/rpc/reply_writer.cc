#include "daemon/rpc/reply_writer.h"

#include <vector>

#include "daemon/base/assertion.h"
#include "daemon/rpc/external.h"
#include "daemon/rpc/issuing.h"
#include "protocol/replies.h"

namespace seqd {

void answer_error(Session& session, std::uint32_t msgid, const Status& status) {
  ++session.refusals.at(static_cast<std::size_t>(status.code()));
  protocol::append_error_reply(session.out, msgid, status.code(), status.text());
}

void answer_runs(const Sequence& sequence, Session& session, std::uint32_t msgid,
                 std::span<const Run> runs) {
  for (const Run& run : runs) session.ids += static_cast<std::uint64_t>(run.count);
  std::vector<Run> values;
  if (const IdProgression* const progression = sequence.settings().progression.compiled.get()) {
    values = to_external(*progression, runs);
    runs = values;
  }
  std::vector<protocol::Run> wire;
  wire.reserve(runs.size());
  for (const Run& run : runs) wire.push_back({run.first, run.count, run.step});
  protocol::append_runs_reply(session.out, msgid, wire);
}

Session* ReplyWriter::served(const Caller& caller) {
  Session* const session = sessions_.find(caller.session);
  if (session == nullptr) return nullptr;
  if (session->waiting > 0) --session->waiting;
  session->transport.attend();
  return session;
}

void ReplyWriter::issued(const Caller& caller, SequenceId sequence, IssueKind kind,
                         std::span<const Run> runs) {
  Session* const session = served(caller);
  if (session == nullptr) return;
  ASSERT(table_ != nullptr && !runs.empty());
  if (kind == IssueKind::single) {
    ASSERT(runs.size() == 1 && runs.front().count == 1);
    ++session->ids;
    protocol::append_id_reply(session->out, caller.request,
                              to_external(table_->at(sequence), runs.front().first));
  } else {
    answer_runs(table_->at(sequence), *session, caller.request, runs);
  }
}

void ReplyWriter::issued_text(const Caller& caller, SequenceId sequence, std::int64_t id,
                              std::int64_t wall_s) {
  if (Session* const session = served(caller))
    answer_text(table_->at(sequence), *session, caller.request, id, wall_s);
}

void ReplyWriter::failed(const Caller& caller, const Status& status) {
  if (Session* const session = served(caller)) answer_error(*session, caller.request, status);
}

void ReplyWriter::taken(SessionId session, std::int64_t ids) {
  if (Session* const found = sessions_.find(session)) found->ids += static_cast<std::uint64_t>(ids);
}

}  // namespace seqd
