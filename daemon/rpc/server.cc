#include "daemon/rpc/server.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "daemon/rpc/external.h"
#include "daemon/rpc/issuing.h"
#include "daemon/rpc/rights.h"
#include "protocol/fast_request.h"
#include "protocol/replies.h"

namespace seqd {

using protocol::FastRequest;
using protocol::Message;
using protocol::ScanResult;

namespace {

// Bytes of a session that are not counted at once: most replies leave at the end of their turn.
constexpr std::size_t kUncounted = 16'384;
// What a reply that grows with the number of sequences is counted with before it is made.
constexpr std::int64_t kLongReply = 1 << 20;

bool answers_at_length(std::string_view method) {
  constexpr std::string_view kMethods[] = {"list",  "status",  "drain",        "gaps",
                                           "audit", "explain", "decommission", "purge"};
  return std::find(std::begin(kMethods), std::end(kMethods), method) != std::end(kMethods);
}

}  // namespace

void answer_error(Session& session, std::uint32_t msgid, const Status& status) {
  protocol::append_error_reply(session.out, msgid, status.code(), status.text());
}

void answer_runs(const Sequence& sequence, Session& session, std::uint32_t msgid,
                 std::span<const Run> runs) {
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

Server::Server(Control& control, Clock& clock, const RemainderLog& log, const ServerLimits& limits)
    : control_(control),
      clock_(clock),
      log_(log),
      limits_(limits),
      unsent_(static_cast<std::int64_t>(limits.output_total), 1) {}

void Server::apply_settings(const ServerLimits& limits) {
  limits_ = limits;
  ++settings_;
  unsent_.set_total(static_cast<std::int64_t>(limits.output_total));
  for (const auto& [id, session] : sessions_) {
    if (session->waiting > 0) refuse_waiting(*session);
  }
}

// What it waits for and may not take any more.
void Server::refuse_waiting(const Session& session) {
  const Refusal why = [this, &session](std::string_view name) {
    return check_may_take(context(), session.peer, name);
  };
  table_->cancel(session.id, why);
  if (inserts_ != nullptr) inserts_->cancel(session.id, why);
}

Server::~Server() = default;

void Server::attach_history(HistoryRecorder* recorder, HistoryAsker* asker) {
  recorder_ = recorder;
  asker_ = asker;
}

MethodContext Server::context() {
  return {*table_,  control_, clock_,          *this,   asker_,         recorder_,
          inserts_, purge_,   limits_.methods, counts_, drains_of_all_, settings_};
}

Session& Server::open(const Peer& peer, Transport& transport) {
  const SessionId id = next_++;
  ++counts_.connections;
  if (recorder_ != nullptr) recorder_->opened(id, peer.uid, peer.pid);
  return *sessions_
              .emplace(id, std::make_unique<Session>(id, peer, transport, limits_.methods.frame))
              .first->second;
}

// What the session waits for is of no use to anybody any more.
void Server::forget_waiting(const Session& session) {
  if (session.waiting == 0) return;
  table_->cancel(session.id);
  if (inserts_ != nullptr) inserts_->cancel(session.id);
}

void Server::close(Session& session) {
  forget_waiting(session);
  if (session.client != 0) {
    const auto bound = by_client_.find(session.client);
    if (bound != by_client_.end() && bound->second == session.id) {
      by_client_.erase(bound);
      // A client that is gone may be forgotten: nothing issued to it may be left to record.
      table_->flush_issues();
      table_->replays().detach(session.client, clock_.monotonic_ms());
    }
  }
  session.out.clear();
  session.sending = 0;
  count_unsent(session);
  --counts_.connections;
  if (recorder_ != nullptr) recorder_->closed(session.id);
  sessions_.erase(session.id);
}

void Server::bind(Session& session, ClientId client) {
  session.client = client;
  const auto [bound, first] = by_client_.try_emplace(client, session.id);
  if (first || bound->second == session.id) return;
  // The newer connection is the client's; what the older one waits for will be asked for again.
  if (Session* older = find(bound->second)) {
    forget_waiting(*older);
    older->waiting = 0;
    older->closing = true;
    older->transport.attend();
  }
  bound->second = session.id;
}

Session* Server::find(SessionId id) {
  const auto found = sessions_.find(id);
  return found == sessions_.end() ? nullptr : found->second.get();
}

bool Server::may_read(const Session& session) const {
  if (session.list_waits && (session.page_turn == turn_ || pages_left_ == 0)) return false;
  return session.waiting < limits_.methods.pipeline && session.unsent() < limits_.output &&
         (session.unsent() <= kUncounted || has_output_left(session, 0)) && log_.accepting();
}

bool Server::has_output_left(const Session& session, std::int64_t more) const {
  return unsent_.allows(session.peer.uid, more);
}

void Server::count_unsent(Session& session) {
  const std::size_t now = session.unsent();
  unsent_.release(session.peer.uid, static_cast<std::int64_t>(session.counted));
  unsent_.take(session.peer.uid, static_cast<std::int64_t>(now));
  session.counted = now;
}

std::size_t Server::receive(Session& session, std::span<const std::uint8_t> bytes) {
  const MethodContext here = context();
  std::size_t consumed = 0;
  session.paused = session.list_waits = false;
  while (consumed < bytes.size() && !session.closing) {
    if (!may_read(session)) {
      session.paused = true;
      break;
    }
    if (session.unsent() > session.counted + kUncounted) count_unsent(session);
    const std::span<const std::uint8_t> rest = bytes.subspan(consumed);
    FastRequest fast;
    if (const std::size_t size = protocol::parse_fast(rest, fast)) {
      ++counts_.requests;
      if (fast.method == FastRequest::Method::next) {
        call_next(here, session, fast.msgid, fast.name, -1);
      } else {
        call_range(here, session, fast.msgid, fast.name, fast.count, -1);
      }
      // It may have seen the beginning of this request, when no more of it had arrived.
      session.scanner.reset();
      consumed += size;
      continue;
    }
    const std::size_t size = receive_frame(session, rest);
    if (size == 0) break;
    consumed += size;
  }
  if (!session.out.empty() || session.closing) session.transport.attend();
  return consumed;
}

std::size_t Server::receive_frame(Session& session, std::span<const std::uint8_t> bytes) {
  const ScanResult scan = session.scanner.scan(bytes);
  switch (scan.kind) {
    case ScanResult::Kind::need_more:
      return 0;
    case ScanResult::Kind::bad:
      breach(session, protocol::readable_msgid(bytes), scan.error, scan.text);
      return 0;
    case ScanResult::Kind::complete:
      break;
  }
  return dispatch(session, bytes.first(scan.size)) ? scan.size : 0;
}

bool Server::dispatch(Session& session, std::span<const std::uint8_t> frame) {
  Message message;
  const protocol::ParseOutcome parsed = protocol::parse_message(frame, message);
  if (!parsed.ok()) {
    breach(session, parsed.msgid, parsed.error, parsed.text);
  } else if (message.kind == Message::Kind::reply) {
    breach(session, message.msgid, ErrorCode::BAD_REQUEST,
           "unexpected reply: the daemon sends no requests");
  } else if (message.kind == Message::Kind::notification) {
    // Nobody could be told the IDs: a notification never issues any.
    if (message.method == "ack") {
      notified_ack(context(), session, message);
    } else {
      ++counts_.notifications_ignored;
    }
  } else if (message.method == "list" && !may_list(session)) {
    return false;
  } else {
    call(session, message);
  }
  return true;
}

// A page is a walk past a thousand sequences. The session goes on in the next turn; what it has
// sent behind this request waits.
bool Server::may_list(Session& session) {
  if (session.page_turn != turn_ && pages_left_ > 0) {
    session.page_turn = turn_;
    --pages_left_;
    return true;
  }
  session.page_turn = turn_;
  session.list_waits = session.paused = true;
  return false;
}

void Server::turn_over() {
  ++turn_;
  pages_left_ = kPagesATurn;
}

void Server::call(Session& session, const Message& message) {
  ++counts_.requests;
  const Route* const route = find_method(message.method);
  if (route == nullptr) {
    return answer_error(
        session, message.msgid,
        {ErrorCode::NO_METHOD, "there is no such method; there are " + method_names()});
  }
  if (route->right == Right::administer) {
    const Status allowed = check_administers(control_, session.peer, route->name);
    if (!allowed.ok()) return answer_error(session, message.msgid, allowed);
  }
  if (answers_at_length(message.method) && !has_output_left(session, kLongReply)) {
    return answer_error(session, message.msgid,
                        {ErrorCode::BUSY,
                         "replies wait that the connections of this user do not take "
                         "(limits.max_reply_backlog_total)"});
  }
  route->method(context(), session, message);
  // A long reply is counted before another connection asks for one in the same turn.
  if (session.unsent() > session.counted + kUncounted) count_unsent(session);
}

void Server::breach(Session& session, std::uint32_t msgid, ErrorCode code, std::string_view text) {
  protocol::append_error_reply(session.out, msgid, code, text);
  session.closing = true;
}

void Server::issued(const Caller& caller, SequenceId sequence, IssueKind kind,
                    std::span<const Run> runs) {
  Session* session = find(caller.session);
  if (session == nullptr) return;
  if (session->waiting > 0) --session->waiting;
  if (kind == IssueKind::single) {
    protocol::append_id_reply(session->out, caller.request,
                              to_external(table_->at(sequence), runs.front().first));
  } else {
    answer_runs(table_->at(sequence), *session, caller.request, runs);
  }
  session->transport.attend();
}

void Server::issued_text(const Caller& caller, SequenceId sequence, std::int64_t id,
                         std::int64_t wall_s) {
  Session* session = find(caller.session);
  if (session == nullptr) return;
  if (session->waiting > 0) --session->waiting;
  answer_text(*table_, sequence, *session, caller.request, id, wall_s);
  session->transport.attend();
}

void Server::failed(const Caller& caller, const Status& status) {
  Session* session = find(caller.session);
  if (session == nullptr) return;
  if (session->waiting > 0) --session->waiting;
  answer_error(*session, caller.request, status);
  session->transport.attend();
}

}  // namespace seqd
