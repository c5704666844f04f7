#include "daemon/rpc/server.h"

#include <string>
#include <utility>
#include <vector>

#include "daemon/rpc/issuing.h"
#include "daemon/rpc/shown.h"
#include "protocol/fast_request.h"
#include "protocol/replies.h"

namespace seqd {

using protocol::FastRequest;
using protocol::Message;
using protocol::ScanResult;

void answer_error(Session& session, std::uint32_t msgid, const Status& status) {
  protocol::append_error_reply(session.out, msgid, status.code(), status.text());
}

void answer_runs(const Sequence& sequence, Session& session, std::uint32_t msgid,
                 std::span<const Run> runs) {
  std::vector<Run> values;
  if (const IdShape* const shape = sequence.settings().shape.made.get()) {
    values = shown(*shape, runs);
    runs = values;
  }
  std::vector<protocol::Run> wire;
  wire.reserve(runs.size());
  for (const Run& run : runs) wire.push_back({run.first, run.count, run.step});
  protocol::append_runs_reply(session.out, msgid, wire);
}

Server::Server(Control& control, Clock& clock, const RemainderLog& log, const ServerLimits& limits)
    : control_(control), clock_(clock), log_(log), limits_(limits) {}

Server::~Server() = default;

void Server::attach_history(HistoryRecorder* recorder, HistoryAsker* asker) {
  recorder_ = recorder;
  asker_ = asker;
}

MethodContext Server::context() {
  return {*table_,   control_, clock_, *this,           asker_,
          recorder_, inserts_, purge_, limits_.methods, counts_};
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
  return session.waiting < limits_.methods.pipeline && session.out.size() < limits_.output &&
         log_.accepting();
}

std::size_t Server::receive(Session& session, std::span<const std::uint8_t> bytes) {
  const MethodContext here = context();
  std::size_t consumed = 0;
  session.paused = false;
  while (consumed < bytes.size() && !session.closing) {
    if (!may_read(session)) {
      session.paused = true;
      break;
    }
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
  dispatch(session, bytes.first(scan.size));
  return scan.size;
}

void Server::dispatch(Session& session, std::span<const std::uint8_t> frame) {
  Message message;
  const protocol::ParseOutcome parsed = protocol::parse_message(frame, message);
  if (!parsed.ok()) return breach(session, parsed.msgid, parsed.error, parsed.text);
  if (message.kind == Message::Kind::reply) {
    return breach(session, message.msgid, ErrorCode::BAD_REQUEST,
                  "a reply to nothing: the daemon makes no requests");
  }
  if (message.kind == Message::Kind::notification) {
    // Nobody could be told the IDs: a notification never issues any.
    if (message.method == "ack") {
      notified_ack(context(), session, message);
    } else {
      ++counts_.notifications_ignored;
    }
    return;
  }
  ++counts_.requests;
  const Method method = find_method(message.method);
  if (method == nullptr) {
    return answer_error(
        session, message.msgid,
        {ErrorCode::NO_METHOD, "there is no such method; there are " + method_names()});
  }
  method(context(), session, message);
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
                              shown(table_->at(sequence), runs.front().first));
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
  answer_text(table_->at(sequence), *session, caller.request, id, wall_s);
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
