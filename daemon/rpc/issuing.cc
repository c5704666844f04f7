#include "daemon/rpc/issuing.h"

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "daemon/base/assertion.h"
#include "daemon/core/text/id_format.h"
#include "daemon/rpc/external.h"
#include "daemon/rpc/rights.h"
#include "daemon/rpc/sequence_names.h"
#include "protocol/limits.h"
#include "protocol/replies.h"

namespace seqd {
namespace {

using protocol::Message;
using protocol::ValueReader;

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
      answer_error(
          session, msgid,
          bad_request("request " + std::to_string(msgid) +
                      " was already used for another call; a retry must repeat the same call"));
      return;
    }
    if (runs.empty()) first = issue;
    count -= issue.end - issue.begin;
    add_run(runs, {issue.begin, issue.end - issue.begin, 1});
  }
  if (at_most ? count < 0 : count != 0) {
    answer_error(
        session, msgid,
        bad_request("request " + std::to_string(msgid) +
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

// --- parameters

Result<IssueOptions> read_issue_options(ValueReader& params, bool is_range) {
  const std::optional<std::uint32_t> pairs = params.read_map();
  if (!pairs) return bad_request("options must be a map");
  IssueOptions out;
  for (std::uint32_t at = 0; at < *pairs; ++at) {
    const std::optional<std::string_view> key = params.read_text();
    if (key && *key == "timeout_ms") {
      const std::optional<std::int64_t> value = params.read_integer();
      if (!value || *value < 0 || *value > protocol::kMaxTimeoutMs) {
        return bad_request("timeout_ms must be an integer within 0.." +
                           std::to_string(protocol::kMaxTimeoutMs));
      }
      out.timeout_ms = *value;
    } else if (is_range && key && *key == "at_most") {
      const std::optional<bool> value = params.read_bool();
      if (!value) return bad_request("at_most must be true or false");
      out.at_most = *value;
    } else {
      return bad_request(is_range ? "the options are \"timeout_ms\" and \"at_most\""
                                  : "the only option is \"timeout_ms\"");
    }
  }
  return out;
}

Result<NextParameters> read_next(const Message& message, std::string_view method) {
  ValueReader params = message.params;
  const std::optional<std::string_view> name =
      message.param_count >= 1 ? params.read_text() : std::nullopt;
  if (!name || message.param_count > 2)
    return bad_request(std::string(method) + " takes a name and, optionally, a map of options");
  NextParameters out{*name, -1};
  if (message.param_count == 2) {
    const Result<IssueOptions> options = read_issue_options(params, false);
    if (!options.ok()) return options.status();
    out.timeout_ms = options->timeout_ms;
  }
  return out;
}

// --- the sequence

SequenceId served_from(const MethodContext& context, const Session& session, std::uint32_t msgid,
                       std::string_view name) {
  if (session.client == 0) return 0;
  for (const Issued& issue : context.table.replays().find(session.client, msgid)) {
    if (base_of(context.table.at(issue.sequence).name()) == name) return issue.sequence;
  }
  return 0;
}

namespace {

void note_right(const MethodContext& context, Session& session, SequenceId sequence) {
  session.last_settings_version = context.settings_version;
  session.last_sequence = sequence;
}

// What the table keeps by its name was checked by look_up(), and is what it was then; rights are
// those of each connection. 0: it keeps none, or this user may not take from it.
SequenceId look_up_kept(const MethodContext& context, Session& session, std::string_view name) {
  const Sequence* const kept = context.table.sequences().find_kept(name);
  if (kept == nullptr || name.size() > context.limits.name) return 0;
  if (session.last_sequence == kept->id() &&
      session.last_settings_version == context.settings_version)
    return kept->id();
  const AccessSettings& access = kept->settings().access;
  if (!access.lets_everyone() && !check_may_take(context, session.peer, name, &access).ok())
    return 0;
  note_right(context, session, kept->id());
  return kept->id();
}

}  // namespace

Result<SequenceId> look_up(const MethodContext& context, Session& session, std::uint32_t msgid,
                           std::string_view name) {
  if (const SequenceId kept = look_up_kept(context, session, name); kept != 0) return kept;
  session.last_sequence = 0;
  if (Status status = check_name(context.limits, name); !status.ok()) return status;
  const SequenceId there = context.table.find(name);
  const Sequence* const known = there == 0 ? nullptr : &context.table.at(there);
  // A repeat takes nothing: its IDs are this client's already.
  const Status allowed =
      check_may_take(context, session.peer, name,
                     known != nullptr ? &known->settings().access : context.table.access_of(name));
  // If the name has periods, another period may be due.
  const bool has_this_name = known != nullptr && known->name() == name;
  const Result<SequenceId> found = !allowed.ok()   ? Result<SequenceId>(allowed)
                                   : has_this_name ? Result<SequenceId>(there)
                                                   : context.table.open(name, session.peer.uid);
  if (!found.ok()) {
    const SequenceId served = served_from(context, session, msgid, name);
    return served != 0 ? Result<SequenceId>(served) : found;
  }
  if (has_this_name) {
    note_right(context, session, *found);
    context.table.sequences().keep(context.table.at(there));
  }
  return found;
}

// --- repeats

bool is_fresh_of_client(const MethodContext& context, Session& session, std::uint32_t msgid,
                        SequenceId sequence, IssueKind kind, std::int64_t count, bool at_most) {
  ASSERT(session.client != 0);
  if (msgid == 0) {
    answer_error(session, msgid,
                 bad_request("the request numbers of a client with an identity begin at 1"));
    return false;
  }
  switch (context.table.replays().check(session.client, msgid)) {
    case ReplayTable::Seen::fresh:
      return true;
    case ReplayTable::Seen::repeat:
      answer_repeat(context, session, msgid, sequence, kind, count, at_most);
      return false;
    case ReplayTable::Seen::acknowledged:
      answer_error(
          session, msgid,
          bad_request("request " + std::to_string(msgid) + " was acknowledged by this client"));
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

// --- texts

void answer_text(const Sequence& sequence, Session& session, std::uint32_t msgid,
                 std::int64_t ordinal, std::int64_t wall_s) {
  const SequenceSettings& settings = sequence.settings();
  ASSERT(settings.text.compiled != nullptr);
  // A number belongs to the period in which it was counted, also if that period is over.
  if (const std::optional<Period>& period = settings.periods.current)
    wall_s = std::clamp(wall_s, period->begin_s, period->end_s - 1);
  ++session.ids;
  protocol::append_text_reply(
      session.out, msgid,
      settings.text.compiled->write(sequence.name(), to_external(sequence, ordinal), wall_s));
}

void repeat_text(const SequenceTable& table, Session& session, std::uint32_t msgid,
                 const Issued& issue) {
  const Sequence& sequence = table.at(issue.sequence);
  const Status same = table.names().check_repeat(sequence.name(), sequence.settings(), issue.form);
  if (same.ok()) return answer_text(sequence, session, msgid, issue.begin, issue.wall_s);
  answer_error(session, msgid,
               {same.code(), same.text() + "; the number of the ID is " +
                                 std::to_string(to_external(sequence, issue.begin))});
}

}  // namespace seqd
