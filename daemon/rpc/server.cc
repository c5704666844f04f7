#include "daemon/rpc/server.h"

#include <string>
#include <utility>
#include <vector>

#include "daemon/base/assertion.h"
#include "daemon/rpc/issuing.h"
#include "daemon/rpc/rights.h"
#include "protocol/fast/fast_request.h"
#include "protocol/replies.h"

namespace seqd {

using protocol::FastRequest;
using protocol::Message;
using protocol::ScanResult;

namespace {

// What a reply that grows with the number of sequences is counted with before it is made.
constexpr std::int64_t kLongReply = 1 << 20;

}  // namespace

void forget_waiting(const MethodContext& context, const Session& session) {
  if (session.waiting == 0) return;
  context.table.cancel(session.id);
  if (context.inserts != nullptr) context.inserts->cancel(session.id);
  if (context.registers != nullptr) context.registers->cancel(session.id);
}

Server::Server(const Services& services, Sessions& sessions, const ServerLimits& limits)
    : services_(services), sessions_(sessions), limits_(limits) {}

MethodContext Server::context() {
  return {services_.table,   services_.control,  services_.clock,   sessions_,
          services_.history, services_.recorder, services_.inserts, services_.registers,
          services_.purge,   services_.events,   limits_.methods,   counts_,
          drains_of_all_,    settings_version_};
}

void Server::apply_settings(const ServerLimits& limits) {
  limits_ = limits;
  ++settings_version_;
  sessions_.set_most_output(limits.output_total);
  sessions_.for_each([this](const Session& session) {
    if (session.waiting > 0) refuse_waiting(session);
  });
  services_.table.blocks().end_where([this](const Block& block) {
    const Session* const has = sessions_.find(block.session);
    const std::string& name = services_.table.at(block.granted.sequence).name();
    return has != nullptr && !check_may_take(context(), has->peer, base_of(name)).ok();
  });
}

// Fails waiting requests for sequences whose IDs the user may no longer take.
void Server::refuse_waiting(const Session& session) {
  const Refusal why = [this, &session](std::string_view name) {
    return check_may_take(context(), session.peer, base_of(name));
  };
  services_.table.cancel(session.id, why);
  if (services_.inserts != nullptr) services_.inserts->cancel(session.id, why);
  if (services_.registers != nullptr && !may_administer(services_.control, session.peer).given)
    services_.registers->cancel(session.id, why);
}

Session& Server::open(const Peer& peer, Transport& transport) {
  Session& session = sessions_.add(peer, transport, limits_.methods.frame);
  session.opened_ms = services_.clock.monotonic_ms();
  ++counts_.connections;
  if (services_.recorder != nullptr) services_.recorder->opened(session.id, peer.uid, peer.pid);
  return session;
}

void Server::close(Session& session) {
  ASSERT(counts_.connections > 0);
  forget_waiting(context(), session);
  const SessionId id = session.id;
  const ClientId client = session.client;
  if (sessions_.remove(session)) {
    // A client without a connection may be forgotten, so everything issued to it must be recorded
    // first.
    services_.table.append_issues();
    services_.table.blocks().end_client(client);
    services_.table.replays().detach(client, services_.clock.monotonic_ms());
  }
  --counts_.connections;
  if (services_.recorder != nullptr) services_.recorder->closed(id);
}

bool Server::may_read(const Session& session) const {
  if (session.page_waits && (session.page_turn == turn_ || pages_left_ == 0)) return false;
  return session.waiting < limits_.methods.pipeline && session.unsent() < limits_.output &&
         (session.unsent() <= Sessions::kUncounted || sessions_.has_output_left(session, 0)) &&
         services_.log.accepting();
}

std::size_t Server::receive(Session& session, std::span<const std::uint8_t> bytes) {
  const MethodContext here = context();
  std::size_t consumed = 0;
  session.paused = session.page_waits = false;
  while (consumed < bytes.size() && !session.closing) {
    if (!may_read(session)) {
      session.paused = true;
      break;
    }
    if (session.unsent() > session.counted + Sessions::kUncounted) sessions_.count_unsent(session);
    const std::span<const std::uint8_t> rest = bytes.subspan(consumed);
    if (const std::size_t size = session.fast_parser.parse(rest)) {
      const FastRequest& fast = session.fast_parser.request();
      ++session.requests;
      if (fast.method == FastRequest::Method::next) {
        counts_.count(MethodId::next);
        call_next(here, session, fast);
      } else {
        counts_.count(MethodId::range);
        call_range(here, session, fast);
      }
      // The scanner may have consumed the beginning of this request.
      session.scanner.reset();
      ASSERT(size <= rest.size());
      consumed += size;
      continue;
    }
    session.fast_parser.forget();
    const std::size_t size = receive_frame(session, rest);
    if (size == 0) break;
    ASSERT(size <= rest.size());
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
    // A notification has no reply, so it never issues IDs.
    if (message.method == "ack") {
      notified_ack(context(), session, message);
    } else {
      ++counts_.notifications_ignored;
    }
  } else {
    const Route* const route = find_method(message.method);
    if (route != nullptr && route->reply == ReplySize::page && !take_page(session)) return false;
    call(session, message, route);
  }
  return true;
}

// The session continues in the next turn; what it has sent after this request waits.
bool Server::take_page(Session& session) {
  if (session.page_turn != turn_ && pages_left_ > 0) {
    session.page_turn = turn_;
    --pages_left_;
    return true;
  }
  session.page_waits = session.paused = true;
  return false;
}

void Server::turn_over() {
  ++turn_;
  pages_left_ = kPagesATurn;
}

void Server::call(Session& session, const Message& message, const Route* route) {
  ++session.requests;
  counts_.count(route == nullptr ? MethodId::unknown : route->id);
  if (route == nullptr) {
    return answer_error(
        session, message.msgid,
        {ErrorCode::NO_METHOD, "there is no such method; the methods are " + method_names()});
  }
  if (route->right == Right::administer) {
    const Status allowed = check_administers(services_.control, session.peer, route->name);
    if (!allowed.ok()) return answer_error(session, message.msgid, allowed);
  }
  if (route->reply != ReplySize::brief && !sessions_.has_output_left(session, kLongReply)) {
    return answer_error(session, message.msgid,
                        {ErrorCode::BUSY,
                         "the connections of this user do not read their replies "
                         "(limits.max_reply_backlog)"});
  }
  ASSERT(!session.closing && !session.paused);
  route->method(context(), session, message);
  // A long reply is counted before another connection requests one in the same turn.
  if (session.unsent() > session.counted + Sessions::kUncounted) sessions_.count_unsent(session);
}

void Server::breach(Session& session, std::uint32_t msgid, ErrorCode code, std::string_view text) {
  ++session.refusals.at(static_cast<std::size_t>(code));
  protocol::append_error_reply(session.out, msgid, code, text);
  session.closing = true;
}

}  // namespace seqd
