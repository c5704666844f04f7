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

Status bad(std::string text) {
  return {ErrorCode::BAD_REQUEST, std::move(text)};
}

// 0: the request is no repeat of one for that name.
SequenceId served_from(const MethodContext& context, const Session& session, std::uint32_t msgid,
                       std::string_view name) {
  if (session.client == 0) return 0;
  for (const Issued& issue : context.table.replays().find(session.client, msgid)) {
    if (base_of(context.table.at(issue.sequence).name()) == name) return issue.sequence;
  }
  return 0;
}

}  // namespace

Result<SequenceId> look_up(const MethodContext& context, Session& session, std::uint32_t msgid,
                           std::string_view name) {
  // What is kept was checked here, and is what it was then; rights are those of each connection.
  if (const Sequence* const kept = context.table.sequences().find_kept(name);
      kept != nullptr && name.size() <= context.limits.name) {
    if (session.last_sequence == kept->id() && session.last_settings == context.settings)
      return kept->id();
    const AccessSettings& access = kept->settings().access;
    if (access.lets_everyone() || check_may_take(context, session.peer, name, &access).ok()) {
      session.last_settings = context.settings;
      session.last_sequence = kept->id();
      return kept->id();
    }
  }
  session.last_sequence = 0;
  if (Status status = check_name(context.limits, name); !status.ok()) return status;
  const SequenceId there = context.table.find(name);
  const Sequence* const known = there == 0 ? nullptr : &context.table.at(there);
  // A repeat takes nothing: its IDs are this client's already.
  const Status allowed =
      check_may_take(context, session.peer, name,
                     known != nullptr ? &known->settings().access : context.table.access_of(name));
  // If the name has periods, another period may be due.
  const bool is_it = known != nullptr && known->name() == name;
  const Result<SequenceId> found = !allowed.ok() ? Result<SequenceId>(allowed)
                                   : is_it       ? Result<SequenceId>(there)
                                                 : context.table.open(name, session.peer.uid);
  if (!found.ok()) {
    const SequenceId served = served_from(context, session, msgid, name);
    return served != 0 ? Result<SequenceId>(served) : found;
  }
  if (is_it) {
    session.last_settings = context.settings;
    session.last_sequence = *found;
    context.table.sequences().keep(context.table.at(there));
  }
  return found;
}

namespace {

struct IssueOptions {
  std::int64_t timeout_ms = -1;  // the sequence's own
  bool at_most = false;          // of range alone
};

Result<IssueOptions> read_options(ValueReader& params, bool is_range) {
  const std::optional<std::uint32_t> pairs = params.read_map();
  if (!pairs) return bad("options must be a map");
  IssueOptions out;
  for (std::uint32_t at = 0; at < *pairs; ++at) {
    const std::optional<std::string_view> key = params.read_text();
    if (key && *key == "timeout_ms") {
      const std::optional<std::int64_t> value = params.read_integer();
      if (!value || *value < 0 || *value > protocol::kMaxTimeoutMs) {
        return bad("timeout_ms must be an integer within 0.." +
                   std::to_string(protocol::kMaxTimeoutMs));
      }
      out.timeout_ms = *value;
    } else if (is_range && key && *key == "at_most") {
      const std::optional<bool> value = params.read_bool();
      if (!value) return bad("at_most must be true or false");
      out.at_most = *value;
    } else {
      return bad(is_range ? "the options are \"timeout_ms\" and \"at_most\""
                          : "the only option is \"timeout_ms\"");
    }
  }
  return out;
}

}  // namespace

Result<NextParameters> read_next(const Message& message, std::string_view method) {
  ValueReader params = message.params;
  const std::optional<std::string_view> name =
      message.param_count >= 1 ? params.read_text() : std::nullopt;
  if (!name || message.param_count > 2)
    return bad(std::string(method) + " takes a name and, optionally, a map of options");
  NextParameters out{*name, -1};
  if (message.param_count == 2) {
    const Result<IssueOptions> options = read_options(params, false);
    if (!options.ok()) return options.status();
    out.timeout_ms = options->timeout_ms;
  }
  return out;
}

namespace {

// Of a sequence with periods a repeat may come when the period is over.
bool same_sequence(const SequenceTable& table, SequenceId one, SequenceId other) {
  return one == other || base_of(table.at(one).name()) == base_of(table.at(other).name());
}

// The IDs that a repeated request was issued when it came first, as they were then: of a period
// that is over, of a sequence that is configured in another way, or not at all any more.
void answer_repeat(const MethodContext& context, Session& session, std::uint32_t msgid,
                   SequenceId sequence, IssueKind kind, std::int64_t count, bool at_most) {
  std::vector<Run> runs;
  Issued first;
  for (const Issued& issue : context.table.replays().find(session.client, msgid)) {
    if (!same_sequence(context.table, issue.sequence, sequence) || issue.kind != kind) {
      answer_error(session, msgid,
                   bad("request " + std::to_string(msgid) +
                       " was already used for another call; a retry must repeat the same call"));
      return;
    }
    if (runs.empty()) first = issue;
    count -= issue.end - issue.begin;
    add_run(runs, {issue.begin, issue.end - issue.begin, 1});
  }
  if (at_most ? count < 0 : count != 0) {
    answer_error(session, msgid,
                 bad("request " + std::to_string(msgid) +
                     " was already used with another count; a retry must repeat the same count"));
  } else if (kind == IssueKind::single) {
    ++session.ids;
    protocol::append_id_reply(session.out, msgid,
                              to_external(context.table.at(first.sequence), first.begin));
  } else if (kind == IssueKind::text) {
    repeat_text(context.table, session, msgid, first);
  } else {
    answer_runs(context.table.at(first.sequence), session, msgid, runs);
  }
}

}  // namespace

bool is_fresh(const MethodContext& context, Session& session, std::uint32_t msgid,
              SequenceId sequence, IssueKind kind, std::int64_t count, bool at_most) {
  if (msgid == 0) {
    answer_error(session, msgid,
                 bad("the request numbers of a client with an identity begin at 1"));
    return false;
  }
  switch (context.table.replays().check(session.client, msgid)) {
    case ReplayTable::Seen::fresh:
      return true;
    case ReplayTable::Seen::repeat:
      answer_repeat(context, session, msgid, sequence, kind, count, at_most);
      return false;
    case ReplayTable::Seen::acknowledged:
      answer_error(session, msgid,
                   bad("request " + std::to_string(msgid) + " was acknowledged by this client"));
      return false;
    case ReplayTable::Seen::too_far:
      answer_error(session, msgid,
                   {ErrorCode::BUSY,
                    "too many requests of this client are not acknowledged (ack); at most " +
                        std::to_string(context.table.replays().window()) + " may be"});
      return false;
    case ReplayTable::Seen::full:
      break;
  }
  answer_error(session, msgid,
               {ErrorCode::BUSY,
                "the limit of replies kept for retries of this user's clients is reached; clients "
                "that do not acknowledge (ack) use the room of the others"});
  return false;
}

void wait_for(const MethodContext& context, Session& session, std::uint32_t msgid,
              SequenceId sequence, IssueKind kind, std::int64_t count, std::int64_t timeout_ms) {
  const Status queued =
      context.table.at(sequence).wait(session.caller(msgid), kind, count, timeout_ms);
  if (queued.ok()) {
    ++session.waiting;
  } else {
    answer_error(session, msgid, queued);
  }
}

namespace {

// The one that the same request was for; 0: it has to be looked up.
SequenceId known_sequence(const MethodContext& context, const Session& session,
                          const FastRequest& request) {
  const bool holds = request.again && session.last_settings == context.settings &&
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

}  // namespace

void call_next(const MethodContext& context, Session& session, const FastRequest& request) {
  SequenceId sequence = known_sequence(context, session, request);
  if (sequence == 0) sequence = sequence_of(context, session, request);
  if (sequence == 0) return;
  if (session.client != 0 &&
      !is_fresh(context, session, request.msgid, sequence, IssueKind::single, 1))
    return;
  std::int64_t id = 0;
  Sequence& issuing = context.table.at(sequence);
  if (issuing.issue_one(session.caller(request.msgid), &id)) {
    ++session.ids;
    protocol::append_id_reply(session.out, request.msgid, to_external(issuing, id));
    return;
  }
  wait_for(context, session, request.msgid, sequence, IssueKind::single, 1, request.timeout_ms);
}

namespace {

// `at_most`: of `count` IDs as many as can be issued now, and it does not wait.
void issue_range(const MethodContext& context, Session& session, const FastRequest& request,
                 bool at_most) {
  const std::uint32_t msgid = request.msgid;
  const std::int64_t most = context.limits.count;
  const std::int64_t count = request.count;
  if (count < 1) return answer_error(session, msgid, bad("count must be an integer of at least 1"));
  // A repeat has its IDs, also where the limit was higher when they were issued.
  if (count > most && !at_most && served_from(context, session, msgid, request.name) == 0) {
    return answer_error(
        session, msgid,
        {ErrorCode::TOO_LARGE, "count is above " + std::to_string(most) + " (limits.max_count)"});
  }
  SequenceId sequence = known_sequence(context, session, request);
  if (sequence == 0) sequence = sequence_of(context, session, request);
  if (sequence == 0) return;
  if (session.client != 0 &&
      !is_fresh(context, session, msgid, sequence, IssueKind::batch, count, at_most))
    return;
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
    return answer_error(session, message.msgid,
                        bad("range takes a name, a count and, optionally, a map of options"));
  }
  const std::optional<std::int64_t> count = params.read_integer();
  if (!count)
    return answer_error(session, message.msgid, bad("count must be an integer of at least 1"));
  FastRequest request;
  request.method = FastRequest::Method::range;
  request.msgid = message.msgid;
  request.name = *name;
  request.count = *count;
  IssueOptions options;
  if (message.param_count == 3) {
    const Result<IssueOptions> read = read_options(params, true);
    if (!read.ok()) return answer_error(session, message.msgid, read.status());
    options = *read;
  }
  request.timeout_ms = options.timeout_ms;
  issue_range(context, session, request, options.at_most);
}

}  // namespace seqd
