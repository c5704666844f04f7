// Of Process: its connections, and when what was answered leaves on them.
#include <utility>

#include "protocol/frame_scanner.h"
#include "tests/sim/process.h"

namespace seqd::sim {

bool Process::accept(const std::shared_ptr<Connection>& connection, UserId user) {
  if (!turn_->serving()) return false;
  Session& session = server_->open({user, 1, {}}, *connection);
  connection->session = &session;
  connections_[connection->number] = connection;
  return true;
}

void Process::receive(Connection& connection) {
  take_in(connection);
  request_turn();
}

void Process::take_in(Connection& connection) {
  if (connection.session == nullptr || connection.session->closing) return;
  const bool was_paused = connection.session->paused;
  const std::span<const std::uint8_t> bytes(
      reinterpret_cast<const std::uint8_t*>(connection.arrived.data()), connection.arrived.size());
  const std::size_t taken = server_->receive(*connection.session, bytes);
  if (taken > bytes.size()) stage_.history.violation("more bytes were taken than there are");
  connection.arrived.erase(0, taken);
  if (connection.session->paused) {
    if (!was_paused) stage_.count(Kind::deferred);
    connection.blocked_ms = stage_.time.monotonic_ms();
  }
}

void Process::hang_up(Connection& connection) {
  if (connection.session == nullptr) return;
  server_->close(*std::exchange(connection.session, nullptr));
  connections_.erase(connection.number);
  request_turn();
}

void Process::reply() {
  check();
  if (ends_before_replies_) end_here(Kind::kill_before_replies);
  for (auto at = connections_.begin(); at != connections_.end();) {
    const std::shared_ptr<Connection> connection = (at++)->second;
    if (connection->attended && connection->reads) send(*connection);
  }
  const std::uint64_t rotations = log_->statistics().rotations;
  stage_.counts.add(Kind::rotation, static_cast<std::int64_t>(rotations - rotations_));
  if (rotations_ != rotations && ends_at_rotation_) end_at_rotation();
  rotations_ = rotations;
}

void Process::send(Connection& connection) {
  connection.attended = false;
  protocol::Buffer& out = connection.session->out;
  protocol::FrameScanner scanner(protocol::kReplyLimits);
  std::span<const std::uint8_t> rest = out.bytes();
  stage_.transcript.replied(number(), connection.number, rest);
  while (!rest.empty()) {
    const protocol::ScanResult scan = scanner.scan(rest);
    protocol::Message message;
    if (scan.kind != protocol::ScanResult::Kind::complete ||
        !protocol::parse_message(rest.first(scan.size), message).ok() ||
        message.kind != protocol::Message::Kind::reply) {
      stage_.history.violation("the daemon sends something that is no reply");
    }
    connection.user.reply_left(connection, message);
    rest = rest.subspan(scan.size);
  }
  out.clear();
  server_->sent(*connection.session);
  if (connection.session->closing) end(connection);
}

void Process::end(Connection& connection) {
  server_->close(*std::exchange(connection.session, nullptr));
  const std::shared_ptr<Connection> kept = connections_.at(connection.number);
  connections_.erase(connection.number);
  connection.user.connection_ended(connection);
}

}  // namespace seqd::sim
