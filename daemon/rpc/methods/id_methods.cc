// next and range: the methods that issue.
#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "daemon/rpc/external.h"
#include "daemon/rpc/issuing.h"
#include "daemon/rpc/method_list.h"
#include "daemon/rpc/rights.h"
#include "daemon/rpc/sequence_names.h"
#include "protocol/replies.h"

namespace seqd {
namespace {

using protocol::FastRequest;
using protocol::Message;
using protocol::ValueReader;

// The one that the same request was for; 0: it has to be looked up.
SequenceId known_sequence(const MethodContext& context, const Session& session,
                          const FastRequest& request) {
  const bool holds = request.again && session.last_settings_version == context.settings_version &&
                     context.table.sequences().contains(session.last_sequence);
  return holds ? session.last_sequence : 0;
}

// 0: it was answered with the reason.
SequenceId sequence_of(const MethodContext& context, Session& session, const FastRequest& request) {
  const Result<SequenceId> found = look_up(context, session, request.msgid, request.name);
  if (found.ok()) return *found;
  answer_error(session, request.msgid, found.status());
  return 0;
}

// `at_most`: of `count` IDs as many as can be issued now, and it does not wait.
void issue_range(const MethodContext& context, Session& session, const FastRequest& request,
                 bool at_most) {
  const std::uint32_t msgid = request.msgid;
  const std::int64_t most = context.limits.count;
  const std::int64_t count = request.count;
  if (count < 1)
    return answer_error(session, msgid, bad_request("count must be an integer of at least 1"));
  // A repeat has its IDs, also where the limit was higher when they were issued.
  if (count > most && !at_most && served_from(context, session, msgid, request.name) == 0) {
    return answer_error(
        session, msgid,
        {ErrorCode::TOO_LARGE, "count is above " + std::to_string(most) + " (limits.max_count)"});
  }
  SequenceId sequence = known_sequence(context, session, request);
  if (sequence == 0) sequence = sequence_of(context, session, request);
  if (sequence == 0) return;
  if (!is_fresh(context, session, msgid, sequence, IssueKind::batch, count, at_most)) return;
  std::vector<Run> runs;
  Sequence& issuing = context.table.at(sequence);
  const std::int64_t now = at_most ? std::min({count, most, issuing.held().issuable()}) : count;
  bool issued = now > 0 && issuing.issue_many(session.caller(msgid), now, &runs);
  // There may be no room to keep the pieces of several ranges for a repeat; one has room.
  if (!issued && at_most && now > 0) {
    const std::int64_t first = std::min(now, issuing.held().first_issuable());
    issued = issuing.issue_many(session.caller(msgid), first, &runs);
  }
  if (issued) return answer_runs(issuing, session, msgid, runs);
  // One ID would have been enough, so the sequence is not short of more.
  if (at_most) return wait_for(context, session, msgid, sequence, IssueKind::batch, 1, 0);
  wait_for(context, session, msgid, sequence, IssueKind::batch, count, request.timeout_ms);
}

}  // namespace

void call_next(const MethodContext& context, Session& session, const FastRequest& request) {
  SequenceId sequence = known_sequence(context, session, request);
  if (sequence == 0) sequence = sequence_of(context, session, request);
  if (sequence == 0) return;
  if (!is_fresh(context, session, request.msgid, sequence, IssueKind::single, 1)) return;
  std::int64_t id = 0;
  Sequence& issuing = context.table.at(sequence);
  if (issuing.issue_one(session.caller(request.msgid), &id)) {
    ++session.ids;
    protocol::append_id_reply(session.out, request.msgid, to_external(issuing, id));
    return;
  }
  wait_for(context, session, request.msgid, sequence, IssueKind::single, 1, request.timeout_ms);
}

void call_range(const MethodContext& context, Session& session, const FastRequest& request) {
  issue_range(context, session, request, false);
}

void method_next(const MethodContext& context, Session& session, const Message& message) {
  const Result<NextParameters> parameters = read_next(message, "next");
  if (!parameters.ok()) return answer_error(session, message.msgid, parameters.status());
  FastRequest request;
  request.msgid = message.msgid;
  request.name = parameters->name;
  request.timeout_ms = parameters->timeout_ms;
  call_next(context, session, request);
}

void method_range(const MethodContext& context, Session& session, const Message& message) {
  ValueReader params = message.params;
  const std::optional<std::string_view> name =
      message.param_count >= 2 ? params.read_text() : std::nullopt;
  if (!name || message.param_count > 3) {
    return answer_error(
        session, message.msgid,
        bad_request("range takes a name, a count and, optionally, a map of options"));
  }
  const std::optional<std::int64_t> count = params.read_integer();
  if (!count)
    return answer_error(session, message.msgid,
                        bad_request("count must be an integer of at least 1"));
  FastRequest request;
  request.method = FastRequest::Method::range;
  request.msgid = message.msgid;
  request.name = *name;
  request.count = *count;
  IssueOptions options;
  if (message.param_count == 3) {
    const Result<IssueOptions> read = read_issue_options(params, true);
    if (!read.ok()) return answer_error(session, message.msgid, read.status());
    options = *read;
  }
  request.timeout_ms = options.timeout_ms;
  issue_range(context, session, request, options.at_most);
}

}  // namespace seqd
